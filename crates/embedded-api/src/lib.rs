//! The part of the Kubernetes API that Skein and its users' tools need, in one process, kept on disk.
//!
//! Owns: the objects, their revisions and their history ([`store`]), what a well-formed object is ([`schema`], [`checker`]), how it is
//! changed ([`patch`], [`apply`], [`verbs`]), how it is represented ([`documents`]), what is served ([`kinds`], [`discovery`]), and which clients are served ([`serve`]).
//! Must not: know Skein. The custom resources are given as CustomResourceDefinition documents. Must not be used where a
//! cluster exists.

pub mod apply;
pub mod checker;
pub mod discovery;
pub mod documents;
pub mod kinds;
pub mod patch;
pub mod refusal;
pub mod request;
pub mod resource;
pub mod schema;
pub mod serve;
pub mod store;
pub mod verbs;

//! The part of the Kubernetes API that Skein and its users' tools need, in one process, kept on disk.
//!
//! Owns: the objects, their revisions and their history ([`store`]), well-formed objects ([`schema`], [`checker`]),
//! changes ([`patch`], [`apply`], [`verbs`]), representations ([`documents`]), kinds ([`kinds`], [`discovery`]), and
//! clients ([`serve`]). Must not: know Skein, whose kinds are given as CustomResourceDefinition documents; be used
//! where a cluster exists.

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

//! What this coordinator has to do with the Kubernetes API.
//!
//! Owns: what was seen of the cluster ([`world`]) and the watches that fill it ([`watching`]), how its ground orders and labels are
//! read ([`ground_order`], [`selection`]), what has to be reconciled
//! ([`wake_set`]), claims to nodes ([`claims`]), Events ([`events`]), what the API server itself confirms ([`confirm`]), and
//! calls with deadlines ([`api`], [`retry`]). Must not: decide anything about a Drone, or know of agents.

pub mod api;
pub mod claims;
pub mod client;
pub mod confirm;
pub mod events;
pub mod ground_order;
pub mod key;
pub mod retry;
pub mod selection;
pub mod wake_set;
pub mod watching;
pub mod world;

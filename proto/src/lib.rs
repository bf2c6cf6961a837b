//! The gRPC contract between agents, coordinator and people's tools, and its conversion to `model` types.
//!
//! Owns: the generated code of `proto/fleet.proto` ([`v1`]), the descriptor set for reflection, the conversions, and what a
//! caller's connection needs ([`channel`], [`bearer`]).
//! Must not: know Kubernetes or MAVLink, or decide anything. A message that makes no sense is an error here, once,
//! at the border.

pub mod bearer;
pub mod channel;
pub mod convert;
pub mod news;

/// Generated from `proto/fleet.proto` by `cargo xtask generate`; the meaning of each field is documented there.
#[allow(missing_docs, clippy::all, reason = "generated code; documented in the proto file")]
pub mod v1 {
    include!("../generated/skein.v1.rs");
}

/// The encoded descriptor set, for gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!("../generated/descriptors.bin");

#[cfg(test)]
mod numbers;

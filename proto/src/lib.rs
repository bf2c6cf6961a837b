//! The gRPC contract between agents, coordinator and people's tools, and its conversion to `model` types.
//!
//! Owns: the generated code ([`v1`]), the descriptor set, the conversions, and a connection's needs ([`channel`],
//! [`bearer`]). Must not: know Kubernetes or MAVLink, or decide anything. A bad message is an error at this border.

pub mod bearer;
pub mod channel;
pub mod convert;
pub mod news;

#[allow(missing_docs, clippy::all, reason = "generated code; documented in the proto file")]
pub mod v1 {
    tonic::include_proto!("skein.v1");
}

/// For gRPC reflection.
pub const DESCRIPTORS: &[u8] = tonic::include_file_descriptor_set!("descriptors");

#[cfg(test)]
mod numbers;

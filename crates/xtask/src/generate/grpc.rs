//! The code of the gRPC messages and services, from `proto/proto/fleet.proto`, by protox: no protoc is needed.

use anyhow::Context;
use prost::Message as _;
use testkit::control_plane::workspace_root;

/// Paths and contents of the generated files.
pub fn generated() -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let folder = workspace_root().join("proto/proto");
    let descriptors = protox::compile([folder.join("fleet.proto")], [&folder]).context("fleet.proto")?;
    let descriptor_set = descriptors.encode_to_vec();
    let out = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .out_dir(out.path())
        .compile_fds(descriptors)?;
    let code = std::fs::read(out.path().join("skein.v1.rs"))?;
    Ok(vec![
        ("proto/generated/skein.v1.rs", code),
        ("proto/generated/descriptors.bin", descriptor_set),
    ])
}

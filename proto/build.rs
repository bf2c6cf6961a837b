//! Generates the gRPC code from `proto/fleet.proto` with protox, so that no protoc is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/fleet.proto");
    let descriptors = protox::compile(["proto/fleet.proto"], ["proto"])?;
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?).join("fleet_descriptor.bin");
    std::fs::write(out, prost::Message::encode_to_vec(&descriptors))?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}

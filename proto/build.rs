//! Generates the code of the gRPC messages and services, and the descriptor set, by protox: no protoc is needed.

use std::error::Error;
use std::path::PathBuf;

use prost::Message as _;

const FOLDER: &str = "proto";
const FILE: &str = "fleet.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={FOLDER}/{FILE}");
    let descriptors = protox::compile([FILE], [FOLDER])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}

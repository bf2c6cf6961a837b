//! The Python environment of the peer tests: pymavlink and MAVSDK, pinned in tests/peers/requirements.txt.
//!
//! Owns: where it is. Must not: run the peers.

use crate::venv::Venv;

/// The environment.
pub const VENV: Venv = Venv {
    folder: "peers-venv",
    requirements: "tests/peers/requirements.txt",
};

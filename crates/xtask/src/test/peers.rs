//! The Python environment of the peer tests: pymavlink and MAVSDK.

use crate::venv::Venv;

pub const VENV: Venv = Venv {
    folder: "peers-venv",
    requirements: "tests/peers/requirements.txt",
};

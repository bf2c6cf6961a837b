//! The programs that have images or come in a wheel, and their machines.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    Coordinator,
    Agent,
    Cli,
    /// Comes in the wheel only.
    Sitl,
}

impl Program {
    pub const ALL: [Self; 3] = [Self::Coordinator, Self::Agent, Self::Cli];

    pub fn package(self) -> &'static str {
        match self {
            Self::Coordinator => "skein-coordinator",
            Self::Agent => "skein-agent",
            Self::Cli => "skein-cli",
            Self::Sitl => "skein-sitl",
        }
    }

    /// Name of the program and of the repository of its image.
    pub fn name(self) -> &'static str {
        match self {
            Self::Coordinator => "skein-coordinator",
            Self::Agent => "skein-agent",
            Self::Cli => "skein",
            Self::Sitl => "skein-sitl",
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            Self::Coordinator => "Gives each Drone a vehicle and sends the agents their orders.",
            Self::Agent => "Flies the vehicle of one drone node over MAVLink as the coordinator orders.",
            Self::Cli => "Shows and grounds the drones of Skein.",
            Self::Sitl => "Simulates autopilots for tests.",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Programs {
    /// The controller that runs once in a cluster.
    Coordinator,
    /// The program on each drone node.
    Agent,
    /// The command line.
    Cli,
    /// The three of them.
    All,
}

impl Programs {
    pub fn list(self) -> &'static [Program] {
        match self {
            Self::Coordinator => &[Program::Coordinator],
            Self::Agent => &[Program::Agent],
            Self::Cli => &[Program::Cli],
            Self::All => &Program::ALL,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arch {
    Amd64,
    Arm64,
}

impl Arch {
    pub fn of_this_machine() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::Amd64),
            "aarch64" => Some(Self::Arm64),
            _ => None,
        }
    }

    /// OCI's name, which is also Go's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    pub fn variant(self) -> Option<&'static str> {
        match self {
            Self::Amd64 => None,
            Self::Arm64 => Some("v8"),
        }
    }

    pub fn target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-musl",
            Self::Arm64 => "aarch64-unknown-linux-musl",
        }
    }

    pub fn zig_target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-linux-musl",
            Self::Arm64 => "aarch64-linux-musl",
        }
    }

    /// `e_machine` in the header of an ELF file.
    pub fn elf_machine(self) -> u16 {
        match self {
            Self::Amd64 => 62,
            Self::Arm64 => 183,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arches {
    /// x86-64.
    Amd64,
    /// ARMv8.
    Arm64,
    /// Both, and one archive that contains both.
    All,
}

impl Arches {
    pub fn list(self) -> &'static [Arch] {
        match self {
            Self::Amd64 => &[Arch::Amd64],
            Self::Arm64 => &[Arch::Arm64],
            Self::All => &[Arch::Amd64, Arch::Arm64],
        }
    }
}

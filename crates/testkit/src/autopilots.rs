//! Real autopilots as processes: ArduCopter and PX4, unmodified, each with its own physics.
//!
//! `SKEIN_ARDUCOPTER` names the program `arducopter`, `SKEIN_PX4` the folder with `bin/px4` and `etc/`; the default is
//! the newest version in `~/.cache/skein/autopilots`, each in a folder of its own, all of which `cargo xtask fly`
//! flies.

mod firmware;
mod instance;

pub use firmware::{Firmware, Found, Stack};
pub use instance::Instance;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::{Launch, Process, Scratch};

/// Time for a boot on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Degrees, degrees, meters above mean sea level.
pub const HOME: [f64; 3] = [47.397742, 8.545594, 488.0];

#[derive(Clone, Debug)]
pub struct Settings {
    /// Pace of its clock over real time.
    pub speedup: u32,
    pub home: [f64; 3],
    pub parameters: Vec<(String, f64)>,
    /// Serial port and baud rate, besides the network links. ArduCopter has its first link there, and boots at once.
    pub serial: Option<(PathBuf, u32)>,
    /// MAVLink system id; `None`: unique.
    pub system: Option<u8>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            speedup: 1,
            home: HOME,
            parameters: Vec::new(),
            serial: None,
            system: None,
        }
    }
}

impl Settings {
    pub fn parameter(mut self, name: &str, value: f64) -> Self {
        self.parameters.push((name.to_owned(), value));
        self
    }
}

// Fields are dropped in this order.
#[derive(Debug)]
pub struct Autopilot {
    process: Option<Process>,
    firmware: Firmware,
    settings: Settings,
    scratch: Scratch,
    instance: Instance,
}

impl Autopilot {
    /// Starts one with its files in memory: an autopilot that waits for a busy disk flies without its sensors
    /// meanwhile.
    pub fn start(firmware: Firmware, instance: Instance, settings: Settings) -> anyhow::Result<Self> {
        let mut autopilot = Self {
            process: None,
            firmware,
            settings,
            scratch: Scratch::in_memory("skein-autopilot-")?,
            instance,
        };
        autopilot.boot(true)?;
        Ok(autopilot)
    }

    pub fn stack(&self) -> Stack {
        self.firmware.stack()
    }

    /// Another airframe with the same parameters, system id and wire, for an ArduCopter that is switched off.
    pub fn another(&self) -> anyhow::Result<Self> {
        anyhow::ensure!(
            self.stack() == Stack::ArduPilot,
            "PX4's start script gives it the system id of its instance"
        );
        anyhow::ensure!(
            self.process.is_none(),
            "two airframes cannot be on one wire; switch the first off"
        );
        let system = self.system();
        let settings = Settings {
            system: Some(system),
            ..self.settings.clone()
        };
        Self::start(self.firmware.clone(), Instance::claim()?, settings)
    }

    pub fn system(&self) -> u8 {
        self.settings.system.unwrap_or(self.instance.number() + 1)
    }

    /// Link for a ground station: TCP of ArduCopter (second serial port), UDP of PX4, which answers the first that
    /// sends.
    pub fn ground_link(&self) -> SocketAddr {
        self.at(match self.stack() {
            Stack::ArduPilot => 5762 + 10 * self.offset(),
            Stack::Px4 => 18570 + self.offset(),
        })
    }

    /// Link for a companion computer: UDP of PX4, TCP of ArduCopter, whose first serial port it is, unless that is a
    /// real one; it waits for the first connection before it boots.
    pub fn companion_link(&self) -> SocketAddr {
        self.at(match self.stack() {
            Stack::ArduPilot => 5760 + 10 * self.offset(),
            Stack::Px4 => 14580 + self.offset(),
        })
    }

    fn offset(&self) -> u16 {
        self.instance.number().into()
    }

    fn at(&self, port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Errors: it is switched off.
    pub fn process(&self) -> anyhow::Result<&Process> {
        self.process.as_ref().context("the autopilot is switched off")
    }

    /// Cuts power at once, in the air too.
    pub fn power_off(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }

    /// Starts it again at its home; its parameters persist.
    pub fn power_on(&mut self) -> anyhow::Result<()> {
        self.power_off();
        self.boot(false)
    }

    /// The output of one of PX4's own commands, such as `["param", "set", "NAV_DLL_ACT", "2"]`. Errors: it fails, or
    /// this is no PX4.
    pub fn shell(&self, words: &[&str]) -> anyhow::Result<String> {
        let (command, arguments) = words.split_first().context("a command is missing")?;
        anyhow::ensure!(self.stack() == Stack::Px4, "only PX4 has a shell");
        let mut run = std::process::Command::new(self.scratch.path().join(format!("bin/px4-{command}")));
        run.args(["--instance", &self.instance.number().to_string()])
            .args(arguments)
            .current_dir(self.scratch.path());
        let output = crate::run::output(run, None, PATIENCE)?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        anyhow::ensure!(output.status.success(), "px4-{} failed: {said}", words.join(" "));
        Ok(said)
    }

    fn boot(&mut self, as_delivered: bool) -> anyhow::Result<()> {
        let process = match self.stack() {
            Stack::ArduPilot => self.boot_arducopter(as_delivered)?,
            Stack::Px4 => self.boot_px4(as_delivered)?,
        };
        self.process = Some(process);
        if let (Stack::Px4, Some((port, baud))) = (self.stack(), &self.settings.serial) {
            let (port, baud) = (port.display().to_string(), baud.to_string());
            // PX4's way to start a serial port for a companion computer; -x lets it serve files.
            self.shell(&["mavlink", "start", "-x", "-d", &port, "-b", &baud, "-m", "onboard"])?;
        }
        Ok(())
    }

    fn boot_arducopter(&self, as_delivered: bool) -> anyhow::Result<Process> {
        let [latitude, longitude, height] = self.settings.home;
        let own: String = self
            .settings
            .parameters
            .iter()
            .map(|(name, value)| format!("{name} {value}\n"))
            .collect();
        let parameters = self.scratch.path().join("own.parm");
        std::fs::write(&parameters, own)?;
        let defaults = format!("{},{}", self.firmware.data().display(), parameters.display());
        let mut launch = self
            .launch(self.firmware.program(), "arducopter")
            .args(["--model", "quad", "--speedup", &self.settings.speedup.to_string()])
            .args(["--home", &format!("{latitude},{longitude},{height},0")])
            .args(["--defaults", &defaults, "-I", &self.instance.number().to_string()])
            .args(["--sysid", &self.system().to_string()])
            .args(as_delivered.then_some("--wipe"));
        if let Some((port, baud)) = &self.settings.serial {
            launch = launch.args(["--serial0", &format!("uart:{}:{baud}", port.display())]);
        }
        let process = launch.start()?;
        process.wait_for_line(PATIENCE, |line| {
            line.contains("SERIAL1 on TCP port") || line.contains("Waiting for connection")
        })?;
        Ok(process)
    }

    fn boot_px4(&self, as_delivered: bool) -> anyhow::Result<Process> {
        let [latitude, longitude, height] = self.settings.home;
        // Up to 1.15 its physics take their place in 1e-7 degrees, and its start-up script reads neither altitude nor
        // parameters from the environment, but runs a script of the user's.
        let is_old = !self.firmware.data().join("init.d-posix/px4-rc.sihsim").exists();
        let place = |degrees: f64| if is_old { (degrees * 1e7).round() } else { degrees }.to_string();
        let commands = self.scratch.path().join("bin");
        self.firmware.link_commands(&commands)?;
        if is_old {
            let own = self.settings.parameters.iter();
            let script: String = std::iter::once(("SIH_LOC_H0", height))
                .chain(own.map(|(name, value)| (name.as_str(), *value)))
                .map(|(name, value)| format!("param set {name} {value}\n"))
                .collect();
            std::fs::write(commands.join("px4-rc.params"), script)?;
        }
        if as_delivered {
            for kept in ["parameters.bson", "parameters_backup.bson", "dataman"] {
                let _ = std::fs::remove_file(self.scratch.path().join(kept));
            }
        }
        let mut launch = self
            .launch(&commands.join("px4"), "px4")
            .env("PX4_SIM_MODEL", "sihsim_quadx")
            .env("PX4_HOME_LAT", place(latitude))
            .env("PX4_HOME_LON", place(longitude))
            .env("PX4_HOME_ALT", height.to_string())
            .args(["-i", &self.instance.number().to_string(), "-d"])
            .arg(self.firmware.data());
        if self.settings.speedup > 1 {
            // PX4 then stretches its own time-outs, so that they keep their length in real time.
            launch = launch.env("PX4_SIM_SPEED_FACTOR", self.settings.speedup.to_string());
        }
        for (name, value) in &self.settings.parameters {
            launch = launch.env(format!("PX4_PARAM_{name}"), value.to_string());
        }
        let process = launch.start()?;
        process.wait_for_line(PATIENCE, |line| line.contains("Startup script returned successfully"))?;
        Ok(process)
    }

    fn launch(&self, program: &Path, name: &str) -> Launch {
        Launch::program(program)
            .named(format!("{name}-{}", self.instance.number()))
            .folder(self.scratch.path())
            .logs_in(self.scratch.path().join("output"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn an_autopilot_boots_keeps_parameters_over_a_power_cut_and_ends_with_its_handle() -> anyhow::Result<()> {
        for stack in Stack::ALL {
            let firmware = match Firmware::find(stack) {
                Ok(firmware) => firmware,
                Err(missing) => {
                    // Past the capture of the test harness.
                    writeln!(std::io::stderr(), "skipped: {missing}")?;
                    continue;
                }
            };
            let name = if stack == Stack::Px4 {
                "BAT1_N_CELLS"
            } else {
                "DISARM_DELAY"
            };
            let settings = Settings::default().parameter(name, 6.0);
            let mut autopilot = Autopilot::start(firmware, Instance::claim()?, settings)?;
            autopilot.process()?.ensure_running()?;
            if stack == Stack::Px4 {
                autopilot.shell(&["param", "set", "NAV_DLL_ACT", "2"])?;
                // PX4 would write a moment later.
                autopilot.shell(&["param", "save"])?;
                autopilot.power_on()?;
                for (name, value) in [("NAV_DLL_ACT", ": 2"), ("BAT1_N_CELLS", ": 6")] {
                    let said = autopilot.shell(&["param", "show", name])?;
                    assert!(said.contains(value), "{said}");
                }
            }
            let running = format!("/proc/{}", autopilot.process()?.pid());
            drop(autopilot);
            assert!(!Path::new(&running).exists());
        }
        Ok(())
    }
}

//! Names of logs that cross a border: from a person to an agent, and from an agent to a person's disk.

use super::file_name;
use crate::ids::NodeName;
use std::fmt;

/// Longest name, bytes. File systems take 255, and a download adds `.part`.
const LONGEST_NAME: usize = 200;

/// Names that Windows reserves for devices, in any folder and with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// Device names followed by a digit.
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// Extensions of ArduPilot's and PX4's logs.
const AUTOPILOT_ENDINGS: [&str; 2] = ["bin", "ulg"];

/// A log name that is safe on any disk: it leads to no other folder and no device.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogName(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name of a log; see `skein logs`")]
pub struct BadLogName(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogsFrom<'a> {
    /// `None`: of a node whose name is not known.
    Agent(Option<&'a NodeName>),
    Autopilot,
}

impl LogName {
    /// # Errors
    /// [`BadLogName`] for a name that is empty, longer than 200 bytes, has anything but ASCII letters, digits, dots, hyphens and
    /// underscores, begins with a dot or a hyphen, ends with a dot or with `.part`, or is that of a device.
    pub fn parse(text: &str) -> Result<Self, BadLogName> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let is_name = !text.is_empty() && text.len() <= LONGEST_NAME && text.bytes().all(plain);
        let is_file = !text.starts_with(['.', '-']) && !text.ends_with('.') && !is_device(text) && !is_part(text);
        if is_name && is_file {
            return Ok(Self(text.to_owned()));
        }
        Err(BadLogName(text.chars().take(LONGEST_NAME).collect()))
    }

    /// # Errors
    /// [`BadLogName`] for a name that no log from there has.
    pub fn parse_from(text: &str, from: LogsFrom<'_>) -> Result<Self, BadLogName> {
        let name = Self::parse(text)?;
        let is_of_it = match from {
            LogsFrom::Agent(Some(node)) => file_name::number(node, text).is_some(),
            LogsFrom::Agent(None) => file_name::is_of_some_node(text),
            LogsFrom::Autopilot => text
                .rsplit_once('.')
                .is_some_and(|(_, ending)| AUTOPILOT_ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))),
        };
        if is_of_it { Ok(name) } else { Err(BadLogName(name.0)) }
    }

    /// The name on the agent's disk of the log `name` of an autopilot. It includes the length, since an autopilot reuses its numbers.
    pub fn on_disk(name: &str, bytes: u64) -> Option<Self> {
        let (stem, ending) = name.rsplit_once('.')?;
        Self::parse(&format!("{stem}-{bytes}.{ending}")).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_part(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("part"))
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = stem.strip_suffix(|last: char| last.is_ascii_digit());
    DEVICES.contains(&stem.as_str()) || numbered.is_some_and(|device| NUMBERED_DEVICES.contains(&device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_log_leads_to_no_other_folder_and_no_device() {
        for good in [
            "skein-pine-20261121T080000Z-17.tlog",
            "00000017.BIN",
            "2026-11-25_14_20_01.ulg",
            "console.ulg",
            "com10.ulg",
        ] {
            assert_eq!(LogName::parse(good).map(|name| name.to_string()), Ok(good.to_owned()));
        }
        let long = "a".repeat(LONGEST_NAME + 1);
        for bad in [
            "",
            ".",
            "..",
            ".hidden",
            "a/b",
            "../x",
            "/etc/passwd",
            "a\\b",
            "C:a.ulg",
            "a b",
            "a\0",
            "a\u{1b}[2J.ulg",
            "a\n.ulg",
            "ü.tlog",
            "-rf.ulg",
            "a.ulg.",
            "a.ulg.part",
            "a.PART",
            "nul",
            "NUL.ulg",
            "Con.2026.BIN",
            "com1.tlog",
            "LPT9",
            &long,
        ] {
            let why = LogName::parse(bad).unwrap_err().to_string();
            assert!(why.contains("no name of a log"), "{why}");
            assert!(!why.contains(char::is_control), "{why:?}");
        }
    }

    #[test]
    fn a_log_has_the_name_of_its_node_or_the_ending_of_an_autopilot() {
        let pine = NodeName::parse("pine").unwrap();
        let of_pine = "skein-pine-20261121T080203Z-17.tlog";
        let of_oak = "skein-oak-20261121T080203Z-17.tlog";
        let autopilots = ["00000003.BIN", "00000003-4096.bin", "2026-11-25_14_20_01.ulg"];
        let is = |text: &str, from| LogName::parse_from(text, from).is_ok();
        assert!(is(of_pine, LogsFrom::Agent(Some(&pine))) && is(of_pine, LogsFrom::Agent(None)));
        assert!(!is(of_oak, LogsFrom::Agent(Some(&pine))) && is(of_oak, LogsFrom::Agent(None)));
        assert!(autopilots.iter().all(|name| is(name, LogsFrom::Autopilot)));
        for bad in ["id_ed25519", "report.pdf", "Makefile", "skein.yaml", "bin", "run.sh"] {
            for from in [LogsFrom::Agent(Some(&pine)), LogsFrom::Agent(None), LogsFrom::Autopilot] {
                assert!(!is(bad, from), "{bad} {from:?}");
            }
        }
        assert!(!is(of_pine, LogsFrom::Autopilot));
        let on_disk = LogName::on_disk("00000003.BIN", 4096).map(|name| name.to_string());
        assert_eq!(on_disk.as_deref(), Some("00000003-4096.BIN"));
        assert_eq!(LogName::on_disk("../3.BIN", 1), None);
    }
}

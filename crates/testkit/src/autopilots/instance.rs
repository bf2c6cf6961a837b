//! Instance numbers of simulated autopilots, which determine their ports and MAVLink system ids.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::ops::Range;

const USUAL: Range<u8> = 100..200;

#[derive(Debug)]
pub struct Instance {
    number: u8,
    _lock: File,
}

impl Instance {
    /// Errors: all are in use, or `SKEIN_AUTOPILOT_INSTANCES=FIRST-LAST` is no valid range.
    pub fn claim() -> anyhow::Result<Self> {
        let range = match std::env::var("SKEIN_AUTOPILOT_INSTANCES") {
            Ok(text) => parse(&text)?,
            Err(_) => USUAL,
        };
        Self::claim_in(range)
    }

    fn claim_in(range: Range<u8>) -> anyhow::Result<Self> {
        for number in range.clone() {
            if let Some(instance) = Self::try_claim(number)? {
                return Ok(instance);
            }
        }
        anyhow::bail!(
            "all autopilot instances from {} to {} are in use; end some, or give others in SKEIN_AUTOPILOT_INSTANCES=FIRST-LAST",
            range.start,
            range.end - 1
        )
    }

    fn try_claim(number: u8) -> anyhow::Result<Option<Self>> {
        let path = std::env::temp_dir().join(format!("skein-autopilot-{number}.lock"));
        let lock = File::options().create(true).truncate(false).write(true).open(path);
        // A file of another user cannot be opened; its number is in use.
        let Ok(lock) = lock else { return Ok(None) };
        if lock.try_lock().is_err() || !ports_are_free(number) {
            return Ok(None);
        }
        Ok(Some(Self { number, _lock: lock }))
    }

    pub fn number(&self) -> u8 {
        self.number
    }
}

fn ports_are_free(number: u8) -> bool {
    let number = u16::from(number);
    let tcp = [0, 2, 3].map(|port| 5760 + 10 * number + port);
    let udp = [14580, 18570].map(|base| base + number);
    tcp.iter()
        .all(|port| TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok())
        && udp
            .iter()
            .all(|port| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok())
}

fn parse(text: &str) -> anyhow::Result<Range<u8>> {
    let numbers = text.split_once('-').and_then(|(first, last)| {
        let (first, last) = (first.parse::<u8>().ok()?, last.parse::<u8>().ok()?);
        // The system id is the number plus one, and 255 is a ground station's.
        (first <= last && last < 250).then_some(first..last + 1)
    });
    numbers.ok_or_else(|| anyhow::anyhow!("SKEIN_AUTOPILOT_INSTANCES={text} is no range below 250, such as 100-199"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_instances_have_different_numbers_and_a_released_one_can_be_had_again() {
        // Numbers of its own: any other process may claim a usual one first.
        let claim = || Instance::claim_in(240..242).unwrap();
        let (one, other) = (claim(), claim());
        assert_ne!(one.number(), other.number());
        let number = one.number();
        assert!(Instance::try_claim(number).unwrap().is_none());
        drop(one);
        assert_eq!(claim().number(), number);
    }

    #[test]
    fn a_range_is_read_and_anything_else_is_named() {
        assert_eq!(parse("40-59").unwrap(), 40..60);
        for wrong in ["", "40", "59-40", "200-250", "a-b"] {
            assert!(
                parse(wrong).unwrap_err().to_string().contains("such as 100-199"),
                "{wrong}"
            );
        }
    }
}

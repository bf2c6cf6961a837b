//! The neighbor that a connection is counted for.

use std::fmt;
use std::net::IpAddr;

/// One IPv4 address, or one IPv6 network of 64 bits, all of which one machine may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Neighbor(IpAddr);

impl Neighbor {
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(four) => Self(IpAddr::V4(four)),
            IpAddr::V6(six) => Self(IpAddr::V6((six.to_bits() >> 64 << 64).into())),
        }
    }
}

impl fmt::Display for Neighbor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(four) => write!(f, "{four}"),
            IpAddr::V6(six) => write!(f, "{six}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_ipv6_network_is_one_neighbor() {
        let of = |text: &str| Neighbor::of(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1:2:3"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.7"), of("192.0.2.7"));
        assert_eq!(of("2001:db8::1").to_string(), "2001:db8::/64");
    }
}

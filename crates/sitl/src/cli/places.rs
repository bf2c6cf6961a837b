//! Endpoints and places of vehicles, as written on the command line.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use crate::model::Wgs84;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkSpec {
    /// A pseudo-terminal each, with a link FOLDER/NAME.
    Pty(PathBuf),
    /// The port is counted up per vehicle.
    Udp(SocketAddr),
    Tcp(SocketAddr),
    None,
}

impl FromStr for LinkSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::None);
        }
        let wrong = || format!("`{text}` is not a link; write pty:FOLDER, udp:HOST:PORT or tcp:HOST:PORT");
        let (kind, place) = text.split_once(':').ok_or_else(wrong)?;
        if place.is_empty() {
            return Err(wrong());
        }
        let address = || {
            let mut found = place
                .to_socket_addrs()
                .map_err(|error| format!("`{place}` is not HOST:PORT: {error}"))?;
            found.next().ok_or_else(wrong)
        };
        match kind {
            "pty" => Ok(Self::Pty(place.into())),
            "udp" => Ok(Self::Udp(address()?)),
            "tcp" => Ok(Self::Tcp(address()?)),
            _ => Err(wrong()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Home(pub Wgs84);

impl Home {
    pub const USUAL: Self = Self(Wgs84 {
        lat_deg: 47.397_742,
        lon_deg: 8.545_594,
        amsl_m: 488.0,
    });
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", self.0.lat_deg, self.0.lon_deg, self.0.amsl_m)
    }
}

impl FromStr for Home {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a place; write LATITUDE,LONGITUDE,ALTITUDE like 47.397742,8.545594,488");
        let numbers: Vec<f64> = text
            .split(',')
            .map(|part| part.trim().parse().map_err(|_| wrong()))
            .collect::<Result<_, String>>()?;
        match numbers[..] {
            [lat_deg, lon_deg, amsl_m] if lat_deg.abs() <= 90.0 && lon_deg.abs() <= 180.0 && amsl_m.is_finite() => {
                Ok(Self(Wgs84 {
                    lat_deg,
                    lon_deg,
                    amsl_m,
                }))
            }
            _ => Err(wrong()),
        }
    }
}

//! `skein enroll`: issues and revokes certificates of agents outside a cluster and of people.
//!
//! Owns: the files and texts. Must not: sign, as only [`cluster`] and [`station`] have an authority.

pub mod cluster;
pub mod messages;
pub mod station;

use crate::args::EnrollArgs;
use crate::data_dir::write_private;
use crate::failure::Failure;
use crate::server_choice::Issuer;
use crate::station_record::StationRecord;
use messages::Address;
use station::Keys;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use trust::{Bundle, Identity, Peer, Validity};

const DAY: Duration = Duration::from_secs(86_400);

const DEFAULT_LIFE_DAYS: u16 = 365;

#[derive(Debug)]
pub struct Signed {
    pub identity: Identity,
    pub authority: Bundle,
}

pub async fn run(issuer: &Issuer, args: &EnrollArgs) -> Result<(), Failure> {
    let peer = peer(args)?;
    if args.revoke {
        let count = match issuer {
            Issuer::Station(folder) => Keys::existing(&folder.join("trust"))?.revoke(&peer)?,
            Issuer::Cluster(choice) => cluster::revoke(choice, &peer).await?,
        };
        return print(&messages::revoked(&peer, count));
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(messages::name(&peer)));
    let files = Files::of(&peer, &out);
    files.are_free()?;
    let now = SystemTime::now();
    let life = |days: u16| Validity::of(now, DAY * u32::from(days));
    let signed = match issuer {
        Issuer::Station(folder) => {
            let keys = Keys::existing(&folder.join("trust"))?;
            keys.issue(&peer, args.days.map_or_else(Validity::any_time, life), now)?
        }
        Issuer::Cluster(choice) => {
            cluster::issue(choice, &peer, life(args.days.unwrap_or(DEFAULT_LIFE_DAYS)), now).await?
        }
    };
    files.write(&signed)?;
    let address = match (&args.coordinator, issuer) {
        (Some(named), _) => Address::At(named.clone()),
        (None, Issuer::Station(folder)) => {
            let record = StationRecord::read(folder);
            record.map_or(Address::Unknown, |record| Address::from_elsewhere(&record.listen))
        }
        (None, Issuer::Cluster(_)) => Address::Unknown,
    };
    print(&messages::enrolled(&peer, &files, &address, signed.identity.validity()))
}

fn peer(args: &EnrollArgs) -> Result<Peer, Failure> {
    match (&args.node, &args.operator) {
        (Some(node), _) => Ok(Peer::agent(node.clone())),
        (None, Some(name)) => Peer::operator(name).map_err(|bad| Failure::Usage(bad.to_string())),
        // clap demands one of them.
        (None, None) => Err(Failure::Usage("name a node, or a person with --operator".to_owned())),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    pub authority: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Files {
    pub fn of(peer: &Peer, out: &Path) -> Self {
        let kind = match peer {
            Peer::Agent { .. } => "agent",
            Peer::Operator { .. } => "operator",
        };
        Self {
            authority: out.join("ca.crt"),
            certificate: out.join(format!("{kind}.crt")),
            key: out.join(format!("{kind}.key")),
        }
    }

    /// Checked before anything is signed, so that no key is lost.
    fn are_free(&self) -> Result<(), Failure> {
        for path in [&self.certificate, &self.key] {
            if path.exists() {
                return Err(Failure::Usage(format!(
                    "{} is there already; move it away, or choose another folder with --out",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    fn write(&self, signed: &Signed) -> Result<(), Failure> {
        let write = |path: &Path, text: &str| {
            write_private(path, text.as_bytes()).map_err(|why| {
                Failure::Failed(format!(
                    "cannot write {}: {why}; choose another folder with --out",
                    path.display()
                ))
            })
        };
        write(&self.key, signed.identity.key_pem())?;
        write(&self.certificate, signed.identity.certificate_pem())?;
        write(&self.authority, signed.authority.to_pem())
    }
}

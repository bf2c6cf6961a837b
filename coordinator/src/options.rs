//! The flags of `skein-coordinator`.

use crate::controllers::airspace::SiteRules;
use crate::logging::Format;
use crate::server::security::{ClusterSecurity, SESSION_LIFE, Security};
use clap::{ArgAction, Args, Parser};
use fleet::airspace::{Rules, Separation};
use fleet::planning::upgrade::Pace;
use model::station::{Limits, Tolerance};
use model::units::{AltitudeAmsl, Meters};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Limit of distances between vehicles, and from where they should be.
const MAX_DISTANCE_M: f64 = 1000.0;
/// The width of a site.
const MAX_STATION_REACH_M: f64 = 20_000.0;

const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Watches Swarms and Drones and sends the agents on drone nodes their orders. The Kubernetes API is found through
/// KUBECONFIG, or the ServiceAccount when running in a cluster.
#[derive(Clone, Debug, Parser)]
#[command(name = "skein-coordinator", version = model::version::version())]
pub struct Options {
    /// Address for agents and tools (gRPC); by default every one, of IPv6 and IPv4. Port 0 takes any free port.
    #[arg(long, env = "SKEIN_LISTEN", default_value = "[::]:50051", value_name = "HOST:PORT")]
    pub listen: SocketAddr,

    /// Address for the kubelet's probes: gRPC health in plain text, and nothing else. Without it, health is on --listen only.
    #[arg(long, env = "SKEIN_HEALTH_LISTEN", value_name = "HOST:PORT")]
    pub health_listen: Option<SocketAddr>,

    /// Folder with the coordinator's certificate (tls.crt, tls.key, and ca.crt, which agents trust), such as a mounted
    /// Secret of cert-manager; it must be good for the name skein-coordinator, and is read again when it changes. Default:
    /// Skein makes certificates itself and renews them.
    #[arg(long, env = "SKEIN_TLS_DIR", value_name = "PATH")]
    pub tls_dir: Option<PathBuf>,

    /// ServiceAccount of the agents, NAME or NAMESPACE/NAME. Default: skein-agent in the coordinator's own namespace.
    #[arg(
        long,
        env = "SKEIN_AGENT_SERVICE_ACCOUNT",
        default_value = "skein-agent",
        value_name = "NAME"
    )]
    pub agent_service_account: String,

    /// No TLS, no credentials: everybody who reaches the port may do everything. For tests on one machine: it listens on
    /// loopback only, unless given twice.
    #[arg(long, action = ArgAction::Count)]
    pub insecure_plaintext: u8,

    /// After so many seconds an agent shows its credentials again, without its vehicle noticing.
    #[arg(long, hide = true, value_name = "SECONDS", default_value_t = SESSION_LIFE.as_secs())]
    pub session_life: u64,

    /// Write the bound address to this file once it is open.
    #[arg(long, value_name = "PATH")]
    pub listen_file: Option<PathBuf>,

    /// Address for Prometheus and for probes (HTTP: /metrics, /healthz, /readyz). Off by default; port 0 takes any free one.
    #[arg(long, env = "SKEIN_METRICS_LISTEN", value_name = "HOST:PORT")]
    pub metrics_listen: Option<SocketAddr>,

    /// Write that address to this file once it is open.
    #[arg(long, value_name = "PATH")]
    pub metrics_listen_file: Option<PathBuf>,

    /// Namespace for the coordinator's own objects: its term and the claims to nodes. Default: that of the pod, or
    /// skein-system outside a cluster. Swarms and Drones are served in all namespaces.
    #[arg(long, env = "SKEIN_NAMESPACE", value_name = "NAME")]
    pub namespace: Option<String>,

    /// Identity of this coordinator, as holder of the Lease: the name of its Pod, from the downward API. Default: the host's name
    /// and a random number.
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub pod_name: Option<String>,

    /// Address of this coordinator's Pod, from the downward API. When given, the leader writes it into the EndpointSlice
    /// skein-coordinator, so that the Service of that name, which selects no Pods, leads to the leader.
    #[arg(long, env = "POD_IP", value_name = "IP")]
    pub pod_ip: Option<IpAddr>,

    /// There is no other coordinator: take the lead at once, whichever holds the Lease, and do not renew it.
    #[arg(long)]
    pub alone: bool,

    /// When the DaemonSet skein-agent has a newer version: replace the agents of at most so many nodes at a time, on the ground
    /// only. 0: never; Pods are deleted by hand.
    #[arg(
        long,
        env = "SKEIN_AGENT_UPGRADES_AT_A_TIME",
        default_value_t = 1,
        value_name = "NUMBER"
    )]
    pub agent_upgrades_at_a_time: usize,

    /// When an agent has not come back after so many seconds, no other is replaced. It has to pull its image in that time.
    #[arg(
        long,
        env = "SKEIN_AGENT_UPGRADE_PATIENCE",
        default_value_t = 600,
        value_name = "SECONDS"
    )]
    pub agent_upgrade_patience: u32,

    /// Vehicles whose node has no label use.skein.dev/NAMESPACE are used by no namespace. Without this, they are used by all
    /// namespaces; one with such labels is used by the namespaces that they name, either way.
    #[arg(long, env = "SKEIN_GRANTED_VEHICLES_ONLY")]
    pub granted_vehicles_only: bool,

    /// The site.
    #[command(flatten)]
    pub site: SiteArgs,

    /// Format of the log on standard error.
    #[arg(long, env = "SKEIN_LOG_FORMAT", value_enum, default_value_t = Format::Text)]
    pub log: Format,
}

/// Altitude tolerance of a station, as a share of its tolerance over ground.
const ALTITUDE_TOLERANCE_SHARE: f64 = 0.75;

/// What the operator sets for stations and the airspace.
#[derive(Clone, Debug, Args)]
pub struct SiteArgs {
    /// Least distance over ground between vehicles of which one has a station, in meters, besides what their positions may be off.
    #[arg(long, env = "SKEIN_SEPARATION", default_value_t = 5.0, value_name = "METERS")]
    pub separation: f64,

    /// Least difference in altitude that separates them as well, in meters.
    #[arg(long, env = "SKEIN_SEPARATION_HEIGHT", default_value_t = 5.0, value_name = "METERS")]
    pub separation_height: f64,

    /// Lowest and highest station whose altitude is given above mean sea level, in meters: clear of terrain and obstacles, which Skein
    /// does not know. Without it, stations are given above home only.
    #[arg(long, env = "SKEIN_STATION_AMSL", value_name = "LOWEST:HIGHEST")]
    pub station_amsl: Option<String>,

    /// Farthest station from the home of its vehicle, in meters over ground: as far as your vehicles fly and come back.
    #[arg(long, env = "SKEIN_STATION_REACH", default_value_t = 5000.0, value_name = "METERS")]
    pub station_reach: f64,

    /// A vehicle is on its station when it was no farther off than this for a second, in meters over ground; in altitude three quarters of
    /// it.
    #[arg(long, env = "SKEIN_STATION_TOLERANCE", default_value_t = 2.0, value_name = "METERS")]
    pub station_tolerance: f64,
}

impl SiteArgs {
    /// The error says what to do.
    pub fn rules(&self) -> anyhow::Result<SiteRules> {
        let rules = Rules {
            separation: Separation {
                horizontal: Meters(self.separation),
                vertical: Meters(self.separation_height),
            },
            ..Rules::default()
        };
        anyhow::ensure!(
            rules.are_sound() && self.separation <= MAX_DISTANCE_M && self.separation_height <= MAX_DISTANCE_M,
            "--separation {} and --separation-height {} have to be numbers of meters above 0, up to {MAX_DISTANCE_M}",
            self.separation,
            self.separation_height
        );
        let amsl = self.station_amsl.as_deref().map(|range| {
            let (lowest, highest) = range.split_once(':')?;
            let (lowest, highest) = (lowest.trim().parse::<f64>().ok()?, highest.trim().parse::<f64>().ok()?);
            (lowest.is_finite() && lowest <= highest).then_some((AltitudeAmsl(lowest), AltitudeAmsl(highest)))
        });
        anyhow::ensure!(
            amsl != Some(None),
            "--station-amsl {} is no range of altitudes; give LOWEST:HIGHEST in meters above mean sea level, such as 450:600",
            self.station_amsl.as_deref().unwrap_or_default()
        );
        anyhow::ensure!(
            self.station_reach > 0.0 && self.station_reach <= MAX_STATION_REACH_M,
            "--station-reach {} has to be a number of meters above 0, up to {MAX_STATION_REACH_M}",
            self.station_reach
        );
        anyhow::ensure!(
            self.station_tolerance > 0.0 && self.station_tolerance <= MAX_DISTANCE_M,
            "--station-tolerance {} has to be a number of meters above 0, up to {MAX_DISTANCE_M}",
            self.station_tolerance
        );
        let limits = Limits {
            amsl: amsl.flatten(),
            reach: Meters(self.station_reach),
            ..Limits::default()
        };
        let tolerance = Tolerance {
            horizontal: Meters(self.station_tolerance),
            vertical: Meters(self.station_tolerance * ALTITUDE_TOLERANCE_SHARE),
        };
        Ok(SiteRules {
            rules,
            limits,
            tolerance,
        })
    }
}

impl Options {
    pub fn namespace(&self) -> String {
        let own = || {
            std::fs::read_to_string(NAMESPACE_FILE)
                .ok()
                .map(|text| text.trim().to_owned())
        };
        let given = self.namespace.clone().filter(|name| !name.is_empty());
        given.or_else(own).unwrap_or_else(|| "skein-system".to_owned())
    }

    pub fn upgrades(&self) -> Pace {
        Pace {
            most: self.agent_upgrades_at_a_time,
            patience: Duration::from_secs(self.agent_upgrade_patience.into()),
        }
    }

    /// The error says what to do.
    pub fn security(&self) -> anyhow::Result<Security> {
        let loopback = self.listen.ip().is_loopback();
        match self.insecure_plaintext {
            0 => {
                let account = self.agent_service_account.split_once('/');
                let own = || (self.namespace(), self.agent_service_account.clone());
                Ok(Security::Cluster(ClusterSecurity {
                    tls_dir: self.tls_dir.clone(),
                    agent_account: account.map_or_else(own, |(space, name)| (space.to_owned(), name.to_owned())),
                    session_life: Duration::from_secs(self.session_life),
                }))
            }
            _ if self.tls_dir.is_some() => {
                anyhow::bail!("--tls-dir and --insecure-plaintext contradict one another; leave one out")
            }
            1 if !loopback => anyhow::bail!(
                "--insecure-plaintext lets everybody who reaches {} fly and stop aircraft: use --listen {}:{}, or give the flag twice if that is what you want",
                self.listen,
                if self.listen.is_ipv6() { "[::1]" } else { "127.0.0.1" },
                self.listen.port()
            ),
            _ => Ok(Security::Plaintext),
        }
    }

    /// Holder of the Lease. A Pod's name is unique at any time; elsewhere a random number makes it so.
    pub fn identity(&self) -> String {
        if let Some(name) = self.pod_name.clone().filter(|name| !name.is_empty()) {
            return name;
        }
        let host = std::env::var("HOSTNAME")
            .ok()
            .or_else(|| std::fs::read_to_string("/etc/hostname").ok());
        let host = host.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        format!(
            "{}-{:08x}",
            host.unwrap_or_else(|| "coordinator".to_owned()),
            rand::random::<u32>()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_hang_together() {
        Options::command().debug_assert();
    }

    fn security(flags: &[&str]) -> anyhow::Result<Security> {
        let all = ["skein-coordinator", "--namespace=north"].iter().chain(flags);
        Options::try_parse_from(all).unwrap().security()
    }

    #[test]
    fn plain_text_is_for_loopback_unless_it_is_said_twice() {
        for (listen, instead) in [("0.0.0.0:50051", "127.0.0.1:50051"), ("[::]:7", "[::1]:7")] {
            let refused = security(&["--insecure-plaintext", "--listen", listen]).unwrap_err();
            let refused = refused.to_string();
            assert!(refused.contains(&format!("--listen {instead},")), "{refused}");
        }
        for fine in [
            &["--insecure-plaintext", "--listen=127.0.0.1:0"][..],
            &["--insecure-plaintext", "--listen=[::1]:0"],
            &["--insecure-plaintext", "--insecure-plaintext"],
        ] {
            assert!(matches!(security(fine), Ok(Security::Plaintext)), "{fine:?}");
        }
        assert!(security(&["--insecure-plaintext", "--listen=127.0.0.1:0", "--tls-dir=/x"]).is_err());
    }

    #[test]
    fn limits_of_stations_that_mean_nothing_are_refused_with_the_flag() {
        let rules = |flags: &[&str]| {
            let all = ["skein-coordinator"].iter().chain(flags);
            Options::try_parse_from(all).unwrap().site.rules()
        };
        let usual = rules(&[]).unwrap();
        assert_eq!(
            usual,
            SiteRules::default(),
            "what a program gets that has no such flags"
        );
        let limits = rules(&["--station-reach=300", "--station-amsl=450:600"])
            .unwrap()
            .limits;
        assert_eq!(
            (limits.reach, limits.amsl),
            (Meters(300.0), Some((AltitudeAmsl(450.0), AltitudeAmsl(600.0))))
        );
        for (flag, words) in [
            ("--station-reach=0", "--station-reach 0 has to be"),
            ("--station-reach=NaN", "--station-reach NaN has to be"),
            ("--station-tolerance=inf", "--station-tolerance inf has to be"),
            ("--station-amsl=600:450", "--station-amsl 600:450 is no range"),
            ("--separation=0", "--separation 0 and"),
            ("--separation=1e300", "--separation 1"),
            ("--station-reach=inf", "--station-reach inf has to be"),
        ] {
            let why = rules(&[flag]).unwrap_err().to_string();
            assert!(why.starts_with(words), "{why}");
        }
    }

    #[test]
    fn agents_are_those_of_the_coordinators_own_namespace_unless_another_is_named() {
        let account = |flags: &[&str]| match security(flags) {
            Ok(Security::Cluster(cluster)) => cluster.agent_account,
            other => panic!("{other:?}"),
        };
        let pair = |space: &str, name: &str| (space.to_owned(), name.to_owned());
        assert_eq!(account(&[]), pair("north", "skein-agent"));
        assert_eq!(account(&["--agent-service-account=a"]), pair("north", "a"));
        assert_eq!(account(&["--agent-service-account=south/a"]), pair("south", "a"));
    }
}

//! Which coordinator a person means.
//!
//! Owns: the order of precedence, and refusing an unclear choice: orders to the wrong fleet fly or land the wrong
//! vehicles. Must not: connect.

use crate::args::WhereArgs;
use crate::cluster;
use crate::data_dir::DataDir;
use crate::failure::Failure;
use crate::route::Route;
use crate::server_url::ServerUrl;
use crate::station_record::{self, StationRecord};
use agent::credentials::{Files, Proof};
use std::path::{Path, PathBuf};

pub const VARIABLE: &str = "SKEIN_SERVER";

#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub server: Option<String>,
    pub files: [Option<PathBuf>; 3],
    /// SKEIN_STATION, or the usual data folder.
    pub data: Option<PathBuf>,
    pub data_is_named: bool,
    pub station: Option<StationRecord>,
    pub ended: Option<StationRecord>,
    pub kubeconfig: Option<PathBuf>,
    pub has_usual_kubeconfig: bool,
    pub is_plugin: bool,
}

impl Environment {
    /// `is_plugin`: called as `kubectl skein`.
    pub fn read(is_plugin: bool) -> Self {
        let path = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let named = path("SKEIN_STATION");
        let data = named.clone().or_else(|| DataDir::usual().ok());
        let home = path("HOME");
        Self {
            server: path(VARIABLE).map(|value| value.to_string_lossy().into_owned()),
            files: ["SKEIN_SERVER_CA", "SKEIN_CLIENT_CERT", "SKEIN_CLIENT_KEY"].map(path),
            station: data.as_deref().and_then(StationRecord::read),
            ended: data.as_deref().and_then(StationRecord::ended),
            data,
            data_is_named: named.is_some(),
            kubeconfig: path("KUBECONFIG"),
            has_usual_kubeconfig: home.is_some_and(|home| home.join(".kube/config").is_file()),
            is_plugin,
        }
    }
}

/// Errors: unclear or unsafe, with advice.
pub fn choose(given: WhereArgs, environment: &Environment) -> Result<Route, Failure> {
    let choice = cluster::Choice {
        kubeconfig: given.kubeconfig.clone(),
        context: given.context.clone(),
        coordinator_namespace: given.coordinator_namespace.clone(),
    };
    let by_kubeconfig = given.kubeconfig.is_some() || given.context.is_some();
    let by_variable = || {
        environment
            .server
            .as_deref()
            .filter(|_| !by_kubeconfig && given.station.is_none())
    };
    let server = match (&given.server, by_variable()) {
        (Some(server), _) => Some(server.clone()),
        (None, Some(text)) => Some(
            text.parse()
                .map_err(|why| usage(format!("{VARIABLE} is {text:?}: {why}")))?,
        ),
        (None, None) => None,
    };
    if given.station.is_some() && (by_kubeconfig || given.server.is_some()) {
        return Err(usage(
            "--station names a coordinator already: leave out --server, --kubeconfig and --context",
        ));
    }
    if let Some(server) = server {
        return direct(server, &given, environment, choice);
    }
    if let Some(folder) = &given.station {
        return station(folder, StationRecord::read(folder));
    }
    // A station's own kubeconfig means the station, as its API runs no Pods to forward to.
    let named = given.kubeconfig.as_ref().or(environment.kubeconfig.as_ref());
    let is_of_station = |record: &StationRecord| named.is_some_and(|path| *path == record.kubeconfig);
    if let (Some(data), Some(record)) = (&environment.data, &environment.station)
        && is_of_station(record)
    {
        return station(data, Some(record.clone()));
    }
    if let (Some(data), None, Some(_)) = (
        &environment.data,
        &environment.station,
        environment.ended.as_ref().filter(|r| is_of_station(r)),
    ) {
        return station(data, None);
    }
    let cluster = Ok(Route::Cluster { choice, server: None });
    if by_kubeconfig || environment.is_plugin {
        return cluster;
    }
    match (&environment.data, &environment.station, &environment.kubeconfig) {
        (Some(data), record, _) if environment.data_is_named => station(data, record.clone()),
        (Some(_), Some(_), Some(other)) => Err(usage(format!(
            "a ground station runs on this machine, and KUBECONFIG names a cluster ({}): say which one with --station DIR, or with \
             --context NAME",
            other.display()
        ))),
        (Some(data), Some(record), None) => station(data, Some(record.clone())),
        _ if environment.kubeconfig.is_some() || environment.has_usual_kubeconfig => cluster,
        _ => Err(usage(
            "no coordinator is known here: no ground station (`skein up`) runs on this machine, and there is no kubeconfig; name one \
             with --server, --station or --kubeconfig",
        )),
    }
}

fn direct(
    server: ServerUrl,
    given: &WhereArgs,
    environment: &Environment,
    choice: cluster::Choice,
) -> Result<Route, Failure> {
    let [authority, certificate, key] = [&given.server_ca, &given.client_cert, &given.client_key];
    let file = |named: &Option<PathBuf>, place: usize| {
        named
            .clone()
            .or_else(|| environment.files.get(place).cloned().flatten())
    };
    if !server.is_tls() {
        if !server.is_loopback() && !given.insecure_plaintext {
            return Err(usage(format!(
                "{server} is plain text across a network: who answers is not proven; use https://HOST:PORT, or \
                 --insecure-plaintext if you mean it"
            )));
        }
        return Ok(Route::Plain(server));
    }
    let Some(authority) = file(authority, 0) else {
        return Ok(Route::Cluster {
            choice,
            server: Some(server),
        });
    };
    let proof = match (&given.token_file, file(certificate, 1), file(key, 2)) {
        (Some(token), _, _) => Proof::Token(token.clone()),
        (None, Some(certificate), Some(key)) => Proof::Certificate { certificate, key },
        (None, None, None) => {
            return Err(usage(
                "--server-ca says which authorities to trust, but nothing says who you are: give --client-cert and --client-key, or --token-file",
            ));
        }
        (None, _, _) => return Err(usage("--client-cert and --client-key belong together: give both")),
    };
    let files = Files { authority, proof };
    Ok(Route::Files { server, files })
}

fn station(folder: &Path, record: Option<StationRecord>) -> Result<Route, Failure> {
    let Some(record) = record else {
        return Err(Failure::Away(format!(
            "no ground station runs with the data folder {}; start it with `skein up`",
            folder.display()
        )));
    };
    let server = record.server.parse();
    Ok(Route::Station {
        server: server
            .map_err(|why| Failure::Failed(format!("the ground station's record is damaged: {why}; start it again")))?,
        folder: folder.to_owned(),
        files: station_record::files(folder),
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Issuer {
    Station(PathBuf),
    Cluster(cluster::Choice),
}

/// Needs no running coordinator.
pub fn issuer(given: WhereArgs, environment: &Environment) -> Result<Issuer, Failure> {
    if given.server.is_some() {
        return Err(usage(
            "`skein enroll` asks no coordinator: leave out --server, and name whose authority signs with --station or --context",
        ));
    }
    let by_kubeconfig = given.kubeconfig.is_some() || given.context.is_some();
    match (&given.station, &environment.data) {
        (Some(folder), _) if !by_kubeconfig => return Ok(Issuer::Station(folder.clone())),
        (None, Some(folder)) if environment.data_is_named && !by_kubeconfig => {
            return Ok(Issuer::Station(folder.clone()));
        }
        _ => {}
    }
    let environment = Environment {
        server: None,
        ..environment.clone()
    };
    match choose(given, &environment)? {
        Route::Station { folder, .. } => Ok(Issuer::Station(folder)),
        Route::Cluster { choice, .. } => Ok(Issuer::Cluster(choice)),
        Route::Plain(_) | Route::Files { .. } => Err(usage("name whose authority signs with --station or --context")),
    }
}

/// Errors: the person has named another coordinator than that of `command`.
pub fn none(before: &WhereArgs, command: &str) -> Result<(), Failure> {
    if *before == WhereArgs::default() {
        return Ok(());
    }
    Err(usage(format!(
        "--server and the like are for status, watch, ground and release; `skein {command}` runs a coordinator of its own: leave \
         them out"
    )))
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

#[cfg(test)]
mod tests;

//! Settings of traces by the standard variables of OpenTelemetry; its libraries read `OTEL_SERVICE_NAME`,
//! `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_BSP_SCHEDULE_DELAY` and `OTEL_EXPORTER_OTLP_` `HEADERS` and `TIMEOUT`.

use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct Program {
    /// `service.name`, unless the environment names another.
    pub name: &'static str,
    pub version: String,
    /// `service.instance.id`: the Pod or the node.
    pub instance: String,
    /// Waiting spans; more are dropped.
    pub queue: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub endpoint: String,
    /// File with the collector's authorities; `None`: those of the system.
    pub authorities: Option<PathBuf>,
    /// Files of certificate and key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadSettings {
    #[error(
        "OTEL_EXPORTER_OTLP_PROTOCOL: {0:?} is not supported; use grpc, and the port of the collector for it, usually 4317"
    )]
    Protocol(String),
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT: {0:?} is not a collector; use http://HOST:4317 or https://HOST:4317")]
    Endpoint(String),
    #[error("set OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY both, or neither")]
    HalfIdentity,
}

impl Settings {
    /// `None`: no traces are written.
    pub fn read(env: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, BadSettings> {
        let set = |name: &str| {
            env(name)
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        // Variables of traces precede those of all signals.
        let of_traces = |name: &str| {
            set(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}")).or_else(|| set(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        let off = set("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"))
            || set("OTEL_TRACES_EXPORTER").is_some_and(|text| text == "none");
        let Some(endpoint) = of_traces("ENDPOINT").filter(|_| !off) else {
            return Ok(None);
        };
        if let Some(protocol) = of_traces("PROTOCOL").filter(|protocol| protocol != "grpc") {
            return Err(BadSettings::Protocol(protocol));
        }
        let host = ["http://", "https://"]
            .iter()
            .find_map(|scheme| endpoint.strip_prefix(scheme));
        if host.is_none_or(|host| host.trim_matches('/').is_empty()) {
            return Err(BadSettings::Endpoint(endpoint));
        }
        let identity = match (of_traces("CLIENT_CERTIFICATE"), of_traces("CLIENT_KEY")) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(BadSettings::HalfIdentity),
        };
        Ok(Some(Self {
            endpoint,
            authorities: of_traces("CERTIFICATE").map(PathBuf::from),
            identity,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(env: &[(&str, &str)]) -> Result<Option<Settings>, BadSettings> {
        Settings::read(|name| {
            let found = env.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn endpoint(env: &[(&str, &str)]) -> Option<String> {
        read(env).unwrap().map(|settings| settings.endpoint)
    }

    #[test]
    fn nothing_is_written_unless_a_collector_is_named_and_it_is_not_turned_off() {
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4317");
        assert_eq!(endpoint(&[]), None);
        assert_eq!(endpoint(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]), None);
        assert_eq!(endpoint(&[all]).as_deref(), Some("http://all:4317"));
        assert_eq!(endpoint(&[all, ("OTEL_SDK_DISABLED", "TRUE")]), None);
        assert_eq!(endpoint(&[all, ("OTEL_TRACES_EXPORTER", "none")]), None);
    }

    #[test]
    fn what_is_said_of_traces_goes_before_what_is_said_of_all_signals() {
        let env = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4317"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces:4317"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "/ca.crt"),
        ];
        let settings = read(&env).unwrap().unwrap();
        assert_eq!(settings.endpoint, "https://traces:4317");
        assert_eq!(settings.authorities, Some(PathBuf::from("/ca.crt")));
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_what_to_do() {
        let with = |name, value| {
            let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", "https://all:4317"), (name, value)];
            read(&env).unwrap_err().to_string()
        };
        assert!(with("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf").contains("use grpc"));
        assert!(with("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key").contains("both, or neither"));
        assert!(with("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317").contains("http://HOST:4317"));
        assert!(with("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://").contains("http://HOST:4317"));
    }
}

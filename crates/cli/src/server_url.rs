//! The address of a coordinator.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use tonic::transport::Endpoint;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

impl ServerUrl {
    pub fn is_tls(&self) -> bool {
        self.0.starts_with("https://")
    }

    pub fn dial(&self) -> &str {
        let rest = self.0.split_once("://").map_or(self.0.as_str(), |(_, rest)| rest);
        rest.trim_end_matches('/')
    }

    /// By the address itself, whatever name servers answer.
    pub fn is_loopback(&self) -> bool {
        let host = self.dial().rsplit_once(':').map_or("", |(host, _)| host);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "give the coordinator as https://HOST:PORT";
        let url = if text.contains("://") {
            text.to_owned()
        } else {
            format!("https://{text}")
        };
        let endpoint = Endpoint::from_shared(url.clone()).map_err(|_| FORM.to_owned())?;
        let uri = endpoint.uri();
        let known = matches!(uri.scheme_str(), Some("http" | "https"));
        let bare = uri
            .authority()
            .is_some_and(|authority| !authority.as_str().contains('@'));
        if !known || !bare || uri.port_u16().is_none() || uri.path().len() > 1 || uri.query().is_some() {
            return Err(FORM.into());
        }
        Ok(Self(url))
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_host_and_port_and_speaks_tls_by_default() {
        let good = |text: &str| text.parse::<ServerUrl>().unwrap();
        assert_eq!(
            good("coordinator.field:50051").to_string(),
            "https://coordinator.field:50051"
        );
        assert_eq!(good("https://[::1]:50051/").dial(), "[::1]:50051");
        assert!(good("https://a:1").is_tls() && !good("http://a:1").is_tls());
        for bad in [
            "",
            "https://",
            "ftp://a:1",
            "https://a",
            "https://a:1/fleet",
            "https://a b:1",
            "https://u@a:1",
        ] {
            let refusal = bad.parse::<ServerUrl>().unwrap_err();
            assert!(refusal.contains("https://HOST:PORT"), "{bad}: {refusal}");
        }
    }

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        let local = |text: &str| text.parse::<ServerUrl>().unwrap().is_loopback();
        assert!(local("http://127.0.0.1:1") && local("http://localhost:1") && local("http://[::1]:1/"));
        assert!(!local("http://127.0.0.1.example:1") && !local("http://10.0.0.1:1"));
    }
}

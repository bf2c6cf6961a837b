//! The proxy through which an API server is reached.
//!
//! kube matches NO_PROXY against the proxy's address instead of the cluster's, so its answer is not used.

use http::Uri;
use std::net::{IpAddr, Ipv6Addr};

/// Environment variables, the upper-case one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    pub https_proxy: Option<String>,
    pub no_proxy: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("HTTPS_PROXY: {0:?} is not a proxy; write http://HOST:PORT, or add the cluster's host to NO_PROXY")]
pub struct BadProxy(String);

impl Variables {
    pub fn of_process() -> Self {
        let first = |names: [&str; 2]| {
            names
                .iter()
                .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        };
        Self {
            https_proxy: first(["HTTPS_PROXY", "https_proxy"]),
            no_proxy: first(["NO_PROXY", "no_proxy"]),
        }
    }
}

/// Sets the proxy of `config`, which was read from a kubeconfig.
pub fn apply(config: &mut kube::Config) -> Result<(), BadProxy> {
    config.proxy_url = decide(config.proxy_url.take(), &config.cluster_url, &Variables::of_process())?;
    Ok(())
}

/// What to do about a kubeconfig that was refused because of these variables.
pub fn advice(error: &kube::config::KubeconfigError) -> Option<&'static str> {
    match error {
        kube::config::KubeconfigError::ParseNoProxy(_) => {
            Some("in NO_PROXY write hosts, addresses and networks with one comma between them, and none at its end")
        }
        kube::config::KubeconfigError::ParseProxyUrl(_) => {
            Some("write the proxy as http://HOST:PORT, in HTTPS_PROXY or as proxy-url in the kubeconfig")
        }
        _ => None,
    }
}

/// `found` is the proxy that kube has found: the kubeconfig's, or the variable's.
fn decide(found: Option<Uri>, cluster: &Uri, variables: &Variables) -> Result<Option<Uri>, BadProxy> {
    let Some(text) = &variables.https_proxy else {
        return Ok(found);
    };
    if let Some(named) = found.filter(|found| text.parse::<Uri>().ok().as_ref() != Some(found)) {
        return Ok(Some(named));
    }
    let host = cluster.host().unwrap_or_default();
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    let port = cluster.port_u16().unwrap_or(443);
    if cluster.scheme_str() != Some("https") || is_this_machine(&host) {
        return Ok(None);
    }
    let no_proxy = variables.no_proxy.as_deref().unwrap_or_default();
    if no_proxy.split(',').any(|entry| excepts(entry.trim(), &host, port)) {
        return Ok(None);
    }
    let whole = if text.contains("://") {
        text.clone()
    } else {
        format!("http://{text}")
    };
    let proxy = whole.parse::<Uri>().ok();
    match proxy.filter(|proxy| proxy.host().is_some_and(|host| !host.is_empty())) {
        Some(proxy) => Ok(Some(proxy)),
        None => Err(BadProxy(text.clone())),
    }
}

/// Loopback, the unspecified addresses (k3d writes `0.0.0.0`), which connect to it, and the name of Docker Desktop.
fn is_this_machine(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host == "kubernetes.docker.internal"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.to_canonical().is_loopback() || ip.to_canonical().is_unspecified())
}

/// Whether an entry of NO_PROXY names `host` (lower case) at `port`: all (`*`), an address, a network, or a name with its subdomains;
/// `.NAME` and `*.NAME` are the subdomains only. A port limits it to that one.
fn excepts(entry: &str, host: &str, port: u16) -> bool {
    if entry.is_empty() {
        return false;
    }
    if entry == "*" {
        return true;
    }
    let address: Option<IpAddr> = host.parse().ok();
    if let Some((network, bits)) = entry.split_once('/') {
        let network = network.parse().ok().zip(bits.parse().ok());
        return address
            .zip(network)
            .is_some_and(|(address, (network, bits))| is_within(address, network, bits));
    }
    let (name, only) = split_port(entry);
    if only.is_some_and(|only| only != port) {
        return false;
    }
    let name = name.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    if let Ok(excepted) = name.parse::<IpAddr>() {
        return address == Some(excepted);
    }
    let domain = name.strip_prefix('*').unwrap_or(&name);
    match domain.strip_prefix('.') {
        Some(_) => host.ends_with(domain),
        None => host == domain || host.strip_suffix(domain).is_some_and(|above| above.ends_with('.')),
    }
}

/// An IPv6 address with a port has brackets.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    let is_plain_ipv6 = entry.parse::<Ipv6Addr>().is_ok();
    match entry.rsplit_once(':') {
        Some((name, port)) if !is_plain_ipv6 => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) if bits <= 32 => {
            let differs = u64::from(address.to_bits() ^ network.to_bits());
            differs >> (32 - bits) == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) if bits <= 128 => {
            let differs = address.to_bits() ^ network.to_bits();
            differs.checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    fn of(cluster: &str, https_proxy: &str, no_proxy: &str) -> Option<String> {
        let variables = Variables {
            https_proxy: Some(https_proxy.to_owned()),
            no_proxy: Some(no_proxy.to_owned()),
        };
        let found = https_proxy.parse().ok();
        let proxy = decide(found, &cluster.parse().unwrap(), &variables).unwrap();
        proxy.map(|proxy| proxy.to_string())
    }

    const PROXY: &str = "http://proxy.corp:3128/";

    #[test]
    fn a_cluster_is_reached_through_the_proxy_and_this_machine_never() {
        for (cluster, through) in [
            ("https://k8s.example:6443", true),
            ("https://10.1.2.3:6443", true),
            ("https://[2001:db8::1]:6443", true),
            ("https://127.0.0.1:6443", false),
            ("https://127.8.9.1:6443", false),
            ("https://[::1]:6443", false),
            ("https://[::ffff:127.0.0.1]:6443", false),
            ("https://localhost:6443", false),
            ("https://LOCALHOST.:6443", false),
            ("https://api.localhost", false),
            ("https://0.0.0.0:39091", false),
            ("https://[::]:6443", false),
            ("https://[::ffff:0.0.0.0]:6443", false),
            ("https://kubernetes.docker.internal:6443", false),
            ("https://host.docker.internal:6443", true),
            // HTTPS_PROXY is for https.
            ("http://k8s.example:8080", false),
        ] {
            assert_eq!(of(cluster, PROXY, "").is_some(), through, "{cluster}");
        }
        assert_eq!(
            of("https://k", "proxy.corp:3128", "").as_deref(),
            Some(PROXY),
            "as many write it"
        );
    }

    #[test]
    fn what_no_proxy_names_is_reached_directly() {
        let name = "https://k8s.lab.example:6443";
        for (cluster, no_proxy, through) in [
            (name, "*", false),
            (name, "lab.example", false),
            (name, "k8s.lab.example", false),
            (name, ".lab.example", false),
            (name, "*.lab.example", false),
            (name, "LAB.EXAMPLE.", false),
            (name, "localhost, 127.0.0.1 ,.lab.example,", false),
            (name, "lab.example:6443", false),
            (name, "lab.example:443", true),
            (name, "ab.example", true),
            (name, ".k8s.lab.example", true),
            (name, "proxy.corp", true),
            ("https://10.1.2.3:6443", "10.0.0.0/8", false),
            ("https://10.1.2.3:6443", "10.1.2.3", false),
            ("https://10.1.2.3:6443", "11.0.0.0/8", true),
            ("https://10.1.2.3:6443", "0.0.0.0/0", false),
            ("https://[fd00::7]:6443", "fd00::/8", false),
            ("https://[fd00::7]:6443", "::/0", false),
            ("https://[fd00::7]:6443", "[fd00::7]:6443", false),
            ("https://[fd00::7]:6443", "fd00::7", false),
            ("https://[fd00::7]:6443", "fe00::/8", true),
        ] {
            assert_eq!(of(cluster, PROXY, no_proxy).is_some(), through, "{cluster} {no_proxy}");
        }
    }

    #[test]
    fn the_proxy_of_the_kubeconfig_counts_whatever_the_variables_say() {
        let named: Uri = "http://127.0.0.1:8888".parse().unwrap();
        let cluster = "https://127.0.0.1:6443".parse().unwrap();
        for variables in [
            Variables::default(),
            Variables {
                https_proxy: Some(PROXY.to_owned()),
                no_proxy: Some("*".to_owned()),
            },
        ] {
            assert_eq!(
                decide(Some(named.clone()), &cluster, &variables),
                Ok(Some(named.clone()))
            );
        }
        assert_eq!(decide(None, &cluster, &Variables::default()), Ok(None));
    }

    #[test]
    fn a_variable_that_is_no_proxy_is_named_with_what_to_write() {
        let variables = Variables {
            https_proxy: Some("http://".to_owned()),
            no_proxy: None,
        };
        let cluster = "https://k8s.example".parse().unwrap();
        let error = decide(None, &cluster, &variables).unwrap_err().to_string();
        assert!(
            error.contains("HTTPS_PROXY") && error.contains("http://HOST:PORT"),
            "{error}"
        );
        let local = "https://127.0.0.1:1".parse().unwrap();
        assert_eq!(decide(None, &local, &variables), Ok(None), "it is not asked");
    }

    #[tokio::test]
    async fn a_client_asks_its_proxy_for_the_cluster_by_name() {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut config = kube::Config::new("https://k8s.example:6443".parse().unwrap());
        config.proxy_url = Some(
            format!("http://ada:secret@{}", proxy.local_addr().unwrap())
                .parse()
                .unwrap(),
        );
        config.default_retry = false;
        // No connection is made, and a computer may have no certificates.
        config.accept_invalid_certs = true;
        let client = kube::Client::try_from(config).unwrap();
        let asked = tokio::spawn(async move {
            let (mut stream, _) = proxy.accept().await.unwrap();
            let mut text = Vec::new();
            while !text.ends_with(b"\r\n\r\n") {
                text.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await.unwrap();
            String::from_utf8(text).unwrap()
        });
        assert!(client.apiserver_version().await.is_err());
        let asked = asked.await.unwrap();
        assert!(asked.starts_with("CONNECT k8s.example:6443 HTTP/1.1\r\n"), "{asked}");
        assert!(
            asked.to_ascii_lowercase().contains("proxy-authorization: basic "),
            "{asked}"
        );
    }
}

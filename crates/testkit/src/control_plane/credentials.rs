//! The users of a test control plane, and their credentials.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::{Value, json};

/// Known to the API server from the start, by token.
#[derive(Debug)]
pub struct FirstUser {
    pub name: String,
    groups: String,
    /// Bearer token: 128 random bits in hexadecimal.
    pub token: String,
}

/// The administrator and the two components whose RBAC bindings the API server creates, then `more` as names and
/// groups.
pub fn first_users(more: &[(String, String)]) -> io::Result<Vec<FirstUser>> {
    let own = [
        ("admin", "system:masters"),
        ("system:kube-controller-manager", ""),
        ("system:kube-scheduler", ""),
    ];
    let own = own.map(|(name, groups)| (name.to_owned(), groups.to_owned()));
    let user = |(name, groups): &(String, String)| {
        Ok(FirstUser {
            name: name.clone(),
            groups: groups.clone(),
            token: token()?,
        })
    };
    own.iter().chain(more).map(user).collect()
}

pub fn write_token_file(path: &Path, users: &[FirstUser]) -> io::Result<()> {
    let line = |user: &FirstUser| format!("{},{},{},\"{}\"\n", user.token, user.name, user.name, user.groups);
    write_private(path, &users.iter().map(line).collect::<String>())
}

/// Writes a new P-256 private key for signing ServiceAccount tokens: RFC 5915 `ECPrivateKey` without the optional
/// public key, a fixed frame around 32 random bytes, so that no cryptographic library is needed.
pub fn write_signing_key(path: &Path) -> io::Result<()> {
    let mut scalar = random::<32>()?;
    // Any number from 1 up to the curve's order is valid; the order starts with the bits 1111….
    scalar[0] &= 0x7f;
    scalar[31] |= 1;
    let head = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20];
    let curve = [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    let der = [head.as_slice(), &scalar, &curve].concat();
    let pem = format!(
        "-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----\n",
        wrapped(&base64(&der))
    );
    write_private(path, &pem)
}

/// Writes a kubeconfig (JSON) for one user with the credentials in `shows`. It gives the server name for TLS, as not
/// all of the server's addresses are in its certificate.
pub fn write_kubeconfig(path: &Path, server: &str, ca_pem: &[u8], user: &str, shows: &Value) -> io::Result<()> {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {
            "server": server, "certificate-authority-data": base64(ca_pem), "tls-server-name": "kubernetes.default.svc",
        }}],
        "users": [{"name": user, "user": shows}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": user, "namespace": "default"}}],
    });
    write_private(path, &format!("{config:#}\n"))
}

fn token() -> io::Result<String> {
    Ok(random::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}

/// Standard base64 with padding (RFC 4648, section 4).
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place) & 63) as usize;
            text.push(if place <= group.len() {
                char::from(ALPHABET[index])
            } else {
                '='
            });
        }
    }
    text
}

fn wrapped(text: &str) -> String {
    let lines: Vec<String> = text
        .as_bytes()
        .chunks(64)
        .map(|l| String::from_utf8_lossy(l).into_owned())
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn secrets_are_readable_by_their_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = crate::Scratch::new("skein-credentials-").unwrap();
        let path = folder.path().join("tokens");
        write_token_file(&path, &first_users(&[]).unwrap()).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(",admin,admin,\"system:masters\"\n"), "{text}");
    }
}

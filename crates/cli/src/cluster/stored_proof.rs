//! A person's proof for coordinators ([`super::person`]), stored for an hour, as the API server may be unable to note
//! another key; one for each API server and token. The file's name has a digest of the token, never the token.

use kube::Config;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tokio::task::spawn_blocking;
use trust::Identity;
use trust::person::may_be_shown;
use trust::proof::REQUEST_LIFE;

const MAX_FILE_BYTES: u64 = 16 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredProof {
    folder: PathBuf,
    name: String,
}

impl StoredProof {
    /// `$XDG_CACHE_HOME/skein/persons`, or `~/.cache/skein/persons`; `None` without either.
    pub fn of(config: &Config, token: &str) -> Option<Self> {
        let folder = folder(|name| std::env::var_os(name).map(PathBuf::from))?;
        Some(Self::within(folder, config, token))
    }

    fn within(folder: PathBuf, config: &Config, token: &str) -> Self {
        let url = config.cluster_url.to_string();
        let authorities = config.root_cert.iter().flatten().map(Vec::as_slice);
        let parts = [url.as_bytes(), token.as_bytes()].into_iter().chain(authorities);
        let mut digest = Sha256::new();
        for part in parts {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        let name = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Self { folder, name }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// `None` for an expired proof, and for one that others could read.
    pub async fn read(self, now: SystemTime) -> Option<Identity> {
        spawn_blocking(move || read(&self.path(), now)).await.ok()?
    }

    /// Also removes expired proofs.
    pub async fn write(self, identity: Identity, now: SystemTime) {
        let written = spawn_blocking(move || {
            sweep(&self.folder, now);
            write(&self.folder, &self.path(), &identity)
        });
        if let Ok(Err(error)) = written.await {
            tracing::debug!(%error, "the proof for coordinators is not kept; the next command makes a new one");
        }
    }

    pub fn forget(&self) {
        let _ = fs::remove_file(self.path());
    }
}

fn folder(var: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // The XDG base directory specification ignores relative paths.
    let absolute = |name| var(name).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("skein/persons"))
}

fn read(path: &Path, now: SystemTime) -> Option<Identity> {
    let file = fs::File::open(path).ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() || about.mode() & 0o077 != 0 || about.len() > MAX_FILE_BYTES {
        return None;
    }
    let mut pem = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut pem).ok()?;
    let identity = Identity::from_pem(&pem, &pem).ok()?;
    may_be_shown(identity.validity(), now).then_some(identity)
}

fn write(folder: &Path, path: &Path, identity: &Identity) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    // Under a name of its own, as two commands may write at once.
    let mut draft = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    draft.write_all(identity.certificate_pem().as_bytes())?;
    draft.write_all(identity.key_pem().as_bytes())?;
    draft.persist(path)?;
    Ok(())
}

fn sweep(folder: &Path, now: SystemTime) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let written = entry.metadata().and_then(|about| about.modified());
        if written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > REQUEST_LIFE)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use trust::{PersonKey, RequestName};

    const SECOND: Duration = Duration::from_secs(1);

    fn made(now: SystemTime) -> Identity {
        let name = RequestName::parse("skein-person-a").unwrap();
        PersonKey::make().unwrap().identity(&name, now).unwrap()
    }

    fn config(url: &'static str) -> Config {
        Config::new(http::Uri::from_static(url))
    }

    fn at(folder: &Path) -> StoredProof {
        StoredProof::within(folder.join("a/b"), &config("https://api:1"), "abc")
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[tokio::test]
    async fn it_is_kept_for_its_owner_alone_until_shortly_before_its_end() {
        let (scratch, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
        let (stored, identity) = (at(scratch.path()), made(now));
        assert!(stored.clone().read(now).await.is_none());
        stored.clone().write(identity.clone(), now).await;
        assert_eq!(stored.clone().read(now).await, Some(identity.clone()));
        assert_eq!((mode(&stored.folder), mode(&stored.path())), (0o700, 0o600));
        assert!(stored.clone().read(now + REQUEST_LIFE).await.is_none());
        // By a clock set back the proof is made in the future.
        assert!(stored.clone().read(now - 60 * SECOND).await.is_none());
        fs::set_permissions(&stored.folder, Permissions::from_mode(0o755)).unwrap();
        stored.clone().write(identity, now).await;
        assert_eq!(mode(&stored.folder), 0o700);
        stored.forget();
        assert!(stored.clone().read(now).await.is_none());
    }

    #[tokio::test]
    async fn what_others_could_read_and_what_is_damaged_is_made_anew() {
        let (scratch, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
        let stored = at(scratch.path());
        stored.clone().write(made(now), now).await;
        fs::set_permissions(stored.path(), Permissions::from_mode(0o640)).unwrap();
        assert!(stored.clone().read(now).await.is_none());
        stored.clone().write(made(now), now).await;
        assert!(stored.clone().read(now).await.is_some(), "it is replaced");
        let whole = fs::read(stored.path()).unwrap();
        for damaged in [&b""[..], b"no PEM", &whole[..whole.len() / 2]] {
            fs::write(stored.path(), damaged).unwrap();
            assert!(stored.clone().read(now).await.is_none());
        }
    }

    #[tokio::test]
    async fn what_has_ended_is_removed_when_another_one_is_kept() {
        let (scratch, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
        let stored = at(scratch.path());
        stored.clone().write(made(now), now).await;
        let other = StoredProof {
            name: "other".to_owned(),
            ..stored.clone()
        };
        other.clone().write(made(now), now).await;
        assert!(stored.path().exists(), "it is still good");
        other.write(made(now), now + REQUEST_LIFE + SECOND).await;
        assert!(!stored.path().exists());
    }

    #[test]
    fn another_api_server_or_token_has_another_proof_and_no_token_is_in_its_name() {
        let folder = PathBuf::from("/cache");
        let name = |config: &Config, token| StoredProof::within(folder.clone(), config, token).name;
        let first = name(&config("https://api:1"), "secret");
        assert_eq!(first, name(&config("https://api:1"), "secret"));
        assert_ne!(first, name(&config("https://api:2"), "secret"));
        assert_ne!(first, name(&config("https://api:1"), "other"));
        let mut again = config("https://api:1");
        again.root_cert = Some(vec![b"another cluster at that address".to_vec()]);
        assert_ne!(first, name(&again, "secret"));
        assert!(first.len() == 64 && !first.contains("secret"));
    }

    #[test]
    fn it_lies_where_the_system_keeps_what_can_be_made_anew() {
        let of = |xdg: Option<&str>, home: Option<&str>| {
            folder(|name| if name == "HOME" { home } else { xdg }.map(PathBuf::from))
        };
        assert_eq!(
            of(Some("/cache"), Some("/home/a")).unwrap(),
            Path::new("/cache/skein/persons")
        );
        let usual = Path::new("/home/a/.cache/skein/persons");
        assert_eq!(of(None, Some("/home/a")).unwrap(), usual);
        assert_eq!(of(Some("cache"), Some("/home/a")).unwrap(), usual);
        assert_eq!(of(None, None), None);
    }
}

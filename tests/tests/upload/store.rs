//! A real S3-compatible server, s3rver, as a process with its objects on disk.

use anyhow::Context;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use testkit::{Launch, Process, Scratch, wait_for};

use skein_tests::field::PATIENCE;

const BUCKET: &str = "flight-logs";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

// Fields are dropped in this order.
pub struct Store {
    process: Option<Process>,
    scheme: Scheme,
    port: u16,
    scratch: Scratch,
}

impl Store {
    pub fn start(scheme: Scheme) -> anyhow::Result<Self> {
        let scratch = Scratch::new("skein-store-")?;
        certificates(scratch.path())?;
        let credentials = scratch.folder("credentials")?;
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            fs::write(credentials.join(name), "S3RVER\n")?;
        }
        let mut store = Self {
            process: None,
            scheme,
            port: testkit::ports::free_tcp_port()?,
            scratch,
        };
        store.start_again()?;
        Ok(store)
    }

    pub fn start_again(&mut self) -> anyhow::Result<()> {
        let packages = std::env::var_os("SKEIN_TEST_OBJECT_STORE");
        let packages = packages.context(
            "SKEIN_TEST_OBJECT_STORE is not set; run `cargo xtask test`, which installs the store and sets it",
        )?;
        let mut launch = Launch::program("node")
            .named("s3rver")
            .arg(PathBuf::from(packages).join("node_modules/s3rver/bin/s3rver.js"))
            .args([
                "--address",
                "127.0.0.1",
                "--no-vhost-buckets",
                "--port",
                &self.port.to_string(),
            ])
            .arg("--directory")
            .arg(self.scratch.folder("objects")?);
        if self.scheme == Scheme::Https {
            launch = launch
                .arg("--key")
                .arg(self.scratch.path().join("store.key"))
                .arg("--cert")
                .arg(self.scratch.path().join("store.crt"));
        }
        let process = launch
            .args(["--configure-bucket", BUCKET])
            .logs_in(self.scratch.path().join("logs"))
            .start()?;
        wait_for("the store to listen", PATIENCE, || {
            TcpStream::connect(("127.0.0.1", self.port))?;
            Ok(())
        })
        .with_context(|| process.tail())?;
        self.process = Some(process);
        Ok(())
    }

    pub fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }

    /// Settings of an agent that uploads to it at most so many KiB each second.
    pub fn settings(&self, kib_per_second: u32) -> Vec<(&'static str, String)> {
        let file = |name: &str| self.scratch.path().join(name).display().to_string();
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        vec![
            ("SKEIN_UPLOAD_BUCKET", BUCKET.to_owned()),
            ("SKEIN_UPLOAD_ENDPOINT", format!("{scheme}://127.0.0.1:{}", self.port)),
            ("SKEIN_UPLOAD_PREFIX", "fleet".to_owned()),
            ("SKEIN_UPLOAD_CREDENTIALS", file("credentials")),
            ("SKEIN_UPLOAD_CA", file("ca.crt")),
            ("SKEIN_UPLOAD_MAX_KIB_S", kib_per_second.to_string()),
        ]
    }

    pub fn objects(&self) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
        let bucket = self.scratch.path().join("objects").join(BUCKET);
        let mut objects = BTreeMap::new();
        for path in files(&bucket)? {
            let name = path.strip_prefix(&bucket)?.display().to_string();
            if let Some(key) = name.strip_suffix("._S3rver_object") {
                objects.insert(key.to_owned(), fs::read(&path)?);
            }
        }
        Ok(objects)
    }

    pub fn bytes(&self) -> anyhow::Result<usize> {
        let mut bytes = 0;
        for path in files(&self.scratch.path().join("objects"))? {
            // It may be gone by now.
            bytes += fs::metadata(path).map_or(0, |file| file.len());
        }
        Ok(usize::try_from(bytes)?)
    }
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // It may be gone by now.
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn certificates(folder: &Path) -> anyhow::Result<()> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "object store test");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key)?;
    let issuer = Issuer::from_params(&params, &key);
    let own_key = KeyPair::generate()?;
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&own_key, &issuer)?;
    fs::write(folder.join("ca.crt"), authority.pem())?;
    fs::write(folder.join("store.crt"), own.pem())?;
    Ok(fs::write(folder.join("store.key"), own_key.serialize_pem())?)
}

//! Settings of the upload of logs, by flags and environment.

use crate::coordinator::is_loopback;
use clap::Args;
use std::path::PathBuf;

/// Upload of logs to an object store.
#[derive(Args, Clone, Debug, Default)]
pub struct UploadFlags {
    /// Uploads the logs of --flight-log-dir to this bucket of an S3-compatible store, after landing; without it nothing is uploaded.
    #[arg(long, env = "SKEIN_UPLOAD_BUCKET", value_name = "BUCKET")]
    upload_bucket: Option<String>,
    /// The store: https://HOST[:PORT]; without it that of AWS in the region.
    #[arg(long, env = "SKEIN_UPLOAD_ENDPOINT", value_name = "URL")]
    upload_endpoint: Option<String>,
    /// The region.
    #[arg(
        long,
        env = "SKEIN_UPLOAD_REGION",
        value_name = "REGION",
        default_value = "us-east-1"
    )]
    upload_region: String,
    /// What the keys of all objects begin with, such as fleet/2026; behind it come the node and the log's name.
    #[arg(long, env = "SKEIN_UPLOAD_PREFIX", value_name = "PREFIX")]
    upload_prefix: Option<String>,
    /// Folder with the files AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN if there is one, such as a mounted Secret. It is
    /// read again for each log. Without it the environment's variables of these names count.
    #[arg(long, env = "SKEIN_UPLOAD_CREDENTIALS", value_name = "FOLDER")]
    upload_credentials: Option<PathBuf>,
    /// File with the authorities that the store's certificate may be of (PEM); without it those of the system. It is read again for each log.
    #[arg(long, env = "SKEIN_UPLOAD_CA", value_name = "FILE")]
    upload_ca: Option<PathBuf>,
    /// Names the bucket in the host (`BUCKET.HOST/KEY`) instead of in the path (`HOST/BUCKET/KEY`).
    #[arg(long, env = "SKEIN_UPLOAD_VIRTUAL_HOST")]
    upload_virtual_host: bool,
    /// Most that uploads take of the line, in KiB each second.
    #[arg(long, env = "SKEIN_UPLOAD_MAX_KIB_S", value_name = "KIB", default_value_t = Config::USUAL_KIB_S,
          value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    upload_max_kib_s: u32,
    /// Allows http:// across a network: everybody on it can then read and change the logs.
    #[arg(long, env = "SKEIN_UPLOAD_INSECURE_HTTP")]
    upload_insecure_http: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Scheme and authority, without the bucket.
    pub endpoint: String,
    pub bucket: String,
    pub region: String,
    /// Without a slash at its end; empty for nothing.
    pub prefix: String,
    /// `None`: in the environment.
    pub credentials: Option<PathBuf>,
    /// `None`: the system's.
    pub authorities: Option<PathBuf>,
    pub virtual_host: bool,
    pub bytes_per_second: u32,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadUpload {
    #[error("SKEIN_UPLOAD_BUCKET is set, but no flight logs are kept: set SKEIN_FLIGHT_LOG_DIR too")]
    NoLogs,
    #[error("SKEIN_UPLOAD_ENDPOINT is set, but no bucket: set SKEIN_UPLOAD_BUCKET too, or neither")]
    NoBucket,
    #[error(
        "SKEIN_UPLOAD_BUCKET: {0:?} is not the name of a bucket; use 3 to 63 lower-case letters, digits, dots and hyphens"
    )]
    Bucket(String),
    #[error("SKEIN_UPLOAD_ENDPOINT: {0:?} is not a store: {1}; use https://HOST or https://HOST:PORT")]
    Endpoint(String, &'static str),
    #[error(
        "SKEIN_UPLOAD_ENDPOINT: {0:?} is plain text across a network: everybody on it could read and change the logs; use \
         https://, or --upload-insecure-http if you mean it"
    )]
    Plain(String),
    #[error("SKEIN_UPLOAD_REGION: {0:?} is not a region; use letters, digits and hyphens, such as eu-central-1")]
    Region(String),
    #[error(
        "SKEIN_UPLOAD_PREFIX: {0:?} cannot begin a key; use at most 200 letters, digits, dots, hyphens and underscores, with single slashes \
         between them, and no part that begins with a dot"
    )]
    Prefix(String),
    #[error(
        "SKEIN_UPLOAD_BUCKET is set, but no credentials: set SKEIN_UPLOAD_CREDENTIALS to the folder of a mounted Secret, or \
         AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    )]
    NoCredentials,
}

impl Config {
    pub const USUAL_KIB_S: u32 = 512;
}

impl UploadFlags {
    /// `None`: nothing is to be uploaded. `logs`: whether there are any; `env` reads the environment.
    pub fn check(self, logs: bool, env: impl Fn(&str) -> Option<String>) -> Result<Option<Config>, BadUpload> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let file = |path: Option<PathBuf>| path.filter(|path| !path.as_os_str().is_empty());
        let endpoint = given(self.upload_endpoint);
        let Some(bucket) = given(self.upload_bucket) else {
            return match endpoint {
                None => Ok(None),
                Some(_) => Err(BadUpload::NoBucket),
            };
        };
        if !logs {
            return Err(BadUpload::NoLogs);
        }
        if !is_bucket(&bucket) {
            return Err(BadUpload::Bucket(bucket));
        }
        let region = self.upload_region;
        if region.is_empty() || !region.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(BadUpload::Region(region));
        }
        let endpoint = match endpoint {
            None => format!("https://s3.{region}.amazonaws.com"),
            Some(endpoint) => checked(&endpoint, self.upload_insecure_http)?,
        };
        let prefix = given(self.upload_prefix).unwrap_or_default();
        let prefix = prefix.strip_suffix('/').unwrap_or(&prefix).to_owned();
        if !is_prefix(&prefix) {
            return Err(BadUpload::Prefix(prefix));
        }
        let credentials = file(self.upload_credentials);
        let in_environment = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        if credentials.is_none() && !in_environment.iter().all(|name| given(env(name)).is_some()) {
            return Err(BadUpload::NoCredentials);
        }
        Ok(Some(Config {
            endpoint,
            bucket,
            region,
            prefix,
            credentials,
            authorities: file(self.upload_ca),
            virtual_host: self.upload_virtual_host,
            bytes_per_second: self.upload_max_kib_s.saturating_mul(1024),
        }))
    }
}

fn is_bucket(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().last()];
    (3..=63).contains(&name.len())
        && name.bytes().all(|b| plain(b) || b == b'.' || b == b'-')
        && ends.into_iter().all(|end| end.is_some_and(plain))
        && !name.contains("..")
}

fn is_prefix(prefix: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain);
    prefix.is_empty() || (prefix.len() <= 200 && prefix.split('/').all(is_part))
}

fn checked(endpoint: &str, insecure: bool) -> Result<String, BadUpload> {
    let bad = |why| BadUpload::Endpoint(endpoint.to_owned(), why);
    let trimmed = endpoint.strip_suffix('/').unwrap_or(endpoint);
    let uri: http::Uri = trimmed.parse().map_err(|_| bad("it is no address"))?;
    let plain = match uri.scheme_str() {
        Some("https") => false,
        Some("http") => true,
        _ => return Err(bad("it does not begin with https://")),
    };
    let authority = uri.authority().filter(|authority| !authority.host().is_empty());
    let authority = authority.ok_or_else(|| bad("the host is missing"))?;
    if authority.as_str().contains('@') {
        return Err(bad("it has a user's name, which belongs into the credentials"));
    }
    if uri.path() != "/" && !uri.path().is_empty() || uri.query().is_some() {
        return Err(bad(
            "it has a path; the bucket and the prefix are settings of their own",
        ));
    }
    if plain && !insecure && !is_loopback(authority.host()) {
        return Err(BadUpload::Plain(endpoint.to_owned()));
    }
    Ok(trimmed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> UploadFlags {
        UploadFlags {
            upload_bucket: Some("flight-logs".into()),
            upload_endpoint: Some("https://store.example:9000/".into()),
            upload_region: "us-east-1".into(),
            upload_credentials: Some("/secret".into()),
            upload_max_kib_s: 1,
            ..UploadFlags::default()
        }
    }

    fn checked(flags: UploadFlags) -> Result<Option<Config>, BadUpload> {
        flags.check(true, |_| None)
    }

    #[test]
    fn nothing_is_uploaded_unless_a_bucket_is_named() {
        let none = UploadFlags {
            upload_bucket: Some(String::new()),
            upload_endpoint: Some(String::new()),
            ..flags()
        };
        assert_eq!(checked(none), Ok(None));
        let config = checked(flags()).unwrap().unwrap();
        assert_eq!(config.endpoint, "https://store.example:9000");
        assert_eq!((config.prefix.as_str(), config.bytes_per_second), ("", 1024));
        let of_aws = UploadFlags {
            upload_endpoint: None,
            upload_region: "eu-central-1".into(),
            upload_prefix: Some("fleet/2026/".into()),
            upload_credentials: None,
            ..flags()
        };
        let config = of_aws.check(true, |_| Some("set".to_owned())).unwrap().unwrap();
        assert_eq!(config.endpoint, "https://s3.eu-central-1.amazonaws.com");
        assert_eq!(config.prefix, "fleet/2026");
    }

    #[test]
    fn what_is_bad_or_unsafe_is_one_line_that_says_what_to_do() {
        let bucket = |name: &str| UploadFlags {
            upload_bucket: Some(name.into()),
            ..flags()
        };
        let at = |endpoint: &str| UploadFlags {
            upload_endpoint: Some(endpoint.into()),
            ..flags()
        };
        let under = |prefix: &str| UploadFlags {
            upload_prefix: Some(prefix.into()),
            ..flags()
        };
        for (flags, words) in [
            (bucket(""), "set SKEIN_UPLOAD_BUCKET too"),
            (bucket("Logs"), "not the name of a bucket"),
            (bucket("ab"), "not the name of a bucket"),
            (bucket("a..b"), "not the name of a bucket"),
            (bucket("-ab"), "not the name of a bucket"),
            (at("store.example"), "does not begin with https://"),
            (at("ftp://store.example"), "does not begin with https://"),
            (at("https://"), "is not a store"),
            (at("https://key:secret@store.example"), "belongs into the credentials"),
            (at("https://store.example/bucket"), "it has a path"),
            (at("https://store.example?x=1"), "it has a path"),
            (at("http://store.example"), "--upload-insecure-http if you mean it"),
            (at("http://127.0.0.1.example"), "--upload-insecure-http if you mean it"),
            (under("/logs"), "cannot begin a key"),
            (under("a//b"), "cannot begin a key"),
            (under("a/../b"), "cannot begin a key"),
            (under("ü"), "cannot begin a key"),
            (
                UploadFlags {
                    upload_region: "a b".into(),
                    ..flags()
                },
                "is not a region",
            ),
            (
                UploadFlags {
                    upload_credentials: None,
                    ..flags()
                },
                "set SKEIN_UPLOAD_CREDENTIALS",
            ),
        ] {
            let line = checked(flags).unwrap_err().to_string();
            assert!(line.contains(words) && !line.contains('\n'), "{line}");
        }
        let line = flags().check(false, |_| None).unwrap_err().to_string();
        assert!(line.contains("set SKEIN_FLIGHT_LOG_DIR"), "{line}");
    }

    #[test]
    fn plain_text_stays_on_this_machine_unless_it_is_meant() {
        for (endpoint, insecure) in [
            ("http://127.0.0.1:9000", false),
            ("http://localhost:9000", false),
            ("http://[::1]:9000", false),
            ("http://store.example", true),
        ] {
            let flags = UploadFlags {
                upload_endpoint: Some(endpoint.into()),
                upload_insecure_http: insecure,
                ..flags()
            };
            assert_eq!(checked(flags).unwrap().unwrap().endpoint, endpoint);
        }
    }
}

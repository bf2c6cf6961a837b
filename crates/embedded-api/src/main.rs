//! `skein-api`: the embedded API alone, for tests and development. The library does the work.

use clap::Parser as _;
use embedded_api::serve::folder::{Folder, FolderError};
use embedded_api::serve::{self, Options, ServeError};
use embedded_api::verbs;
use serde_json::{Value, json};
use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Serves the embedded API over HTTPS on loopback. Prints one line of JSON when it is ready: the server and the kubeconfig.
#[derive(Debug, clap::Parser)]
#[command(name = "skein-api", version)]
struct Arguments {
    /// What is kept: the objects, the credential, the certificates, the port.
    #[arg(long)]
    data_dir: PathBuf,
    /// CustomResourceDefinitions, YAML or JSON files or folders.
    #[arg(long, num_args = 1..)]
    crds: Vec<PathBuf>,
    /// Address and port; port 0 is the port of the last time or a free one.
    #[arg(long)]
    listen: Option<SocketAddr>,
    /// Where the kubeconfig goes; in the data folder if not given.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// End when the process that started this one goes away.
    #[arg(long)]
    until_stdin_closes: bool,
}

#[derive(Debug, thiserror::Error)]
enum MainError {
    #[error("{}: {source}; name a file or folder of CustomResourceDefinitions", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not YAML: {source}", .path.display())]
    NotYaml {
        path: PathBuf,
        source: Box<serde_saphyr::Error>,
    },
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Open(#[from] verbs::OpenError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("signals or standard streams are not to be had: {0}")]
    System(#[from] io::Error),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Err(error) = run(Arguments::parse()).await else {
        return ExitCode::SUCCESS;
    };
    let _ = writeln!(io::stderr(), "skein-api: {}", with_causes(&error));
    ExitCode::FAILURE
}

/// Causes that its own message contains are not repeated.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

async fn run(arguments: Arguments) -> Result<(), MainError> {
    let folder = Folder::open(&arguments.data_dir)?;
    let mut crds = Vec::new();
    for path in &arguments.crds {
        crds.extend(documents(path)?);
    }
    let stopped = stopped(arguments.until_stdin_closes)?;
    let api = verbs::Api::open(verbs::Options::new(folder.path().join("objects"), crds)).await?;
    let mut options = Options {
        kubeconfig: arguments.kubeconfig,
        ..Options::default()
    };
    options.listen = arguments.listen.unwrap_or(options.listen);
    let serving = serve::start(api.clone(), &folder, options).await?;
    if let Some(port) = serving.moved_from {
        writeln!(
            io::stderr(),
            "skein-api: port {port} is taken by another program; {} now",
            serving.url
        )?;
    }
    let ready = json!({"server": serving.url, "kubeconfig": serving.kubeconfig});
    writeln!(io::stdout(), "{ready}")?;
    stopped.cancelled().await;
    serving.end().await;
    api.close().await;
    Ok(())
}

fn stopped(until_stdin_closes: bool) -> io::Result<CancellationToken> {
    let stopped = CancellationToken::new();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let token = stopped.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        token.cancel();
    });
    if until_stdin_closes {
        let token = stopped.clone();
        // A thread of its own: a read of standard input cannot be cancelled, and must not delay the shutdown.
        std::thread::spawn(move || {
            // An error means the same as the end: the process at the other side has exited.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            token.cancel();
        });
    }
    Ok(stopped)
}

fn documents(path: &Path) -> Result<Vec<Value>, MainError> {
    let unreadable = |source| MainError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(unreadable)?;
        let entries: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut files = entries.map_err(unreadable)?;
        let wanted = |file: &PathBuf| {
            file.extension()
                .is_some_and(|end| end == "yaml" || end == "yml" || end == "json")
        };
        files.retain(wanted);
        files.sort();
        let read: Result<Vec<Vec<Value>>, MainError> = files.iter().map(|file| documents(file)).collect();
        return Ok(read?.concat());
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let found: Vec<Value> = serde_saphyr::from_multiple(&text).map_err(|source| MainError::NotYaml {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    Ok(found.into_iter().filter(|one| !one.is_null()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_what_to_serve_and_where() {
        let words = "skein-api --data-dir d --crds a.yaml b.yaml --listen 127.0.0.1:7 --crds c --until-stdin-closes";
        let arguments = Arguments::try_parse_from(words.split_whitespace()).unwrap();
        assert_eq!(arguments.crds, ["a.yaml", "b.yaml", "c"].map(PathBuf::from));
        assert_eq!(arguments.listen, Some("127.0.0.1:7".parse().unwrap()));
        assert!(arguments.until_stdin_closes && arguments.kubeconfig.is_none());
        assert!(Arguments::try_parse_from(["skein-api"]).is_err());
    }

    #[test]
    fn an_error_lists_its_causes_once() {
        let full = || io::Error::other("no space left");
        let path = PathBuf::from("/data/objects");
        let store = embedded_api::store::OpenError::Full {
            path: path.clone(),
            source: full(),
        };
        let text = with_causes(&MainError::Open(verbs::OpenError::Store(store)));
        assert_eq!(
            text,
            "the disk of /data/objects is full: free some space: no space left"
        );
        let text = with_causes(&MainError::Unreadable { path, source: full() });
        assert_eq!(text.matches("no space left").count(), 1, "{text}");
    }

    #[test]
    fn a_folder_gives_every_document_of_its_files_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("b.yaml", "---\nn: 2\n---\nn: 3\n---\n"),
            ("a.json", "{\"n\": 1}"),
            ("notes.txt", "n: 9"),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let found = documents(folder.path()).unwrap();
        assert_eq!(found, [json!({"n": 1}), json!({"n": 2}), json!({"n": 3})]);
    }

    #[test]
    fn a_file_that_is_missing_or_no_yaml_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.yaml");
        let missing = documents(&path).unwrap_err();
        assert!(matches!(missing, MainError::Unreadable { .. }));
        std::fs::write(&path, "a: [").unwrap();
        let broken = documents(&path).unwrap_err().to_string();
        assert!(broken.starts_with(&path.display().to_string()), "{broken}");
    }
}

//! Where logs go: standard error, as text or JSON lines, or a file.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// kube logs each failed connection as an error; here it is logged once, with what follows from it. kube's Controller would put the
/// object's name, which our lines carry already, before each of them.
const DEFAULT: &str = "info,kube_client::client::builder=off,kube_runtime::controller=warn";

/// Format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// A second call changes nothing.
pub fn start(format: Format) {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter())
        // A log that cannot be written must not end a coordinator.
        .log_internal_errors(false)
        .with_writer(std::io::stderr);
    // Fails only if a logger is installed already.
    let _ = match format {
        Format::Text => builder.with_ansi(false).try_init(),
        Format::Json => builder.json().flatten_event(true).try_init(),
    };
}

fn filter() -> EnvFilter {
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT))
}

//! Traces of coordinator and agent for an OpenTelemetry collector (OTLP over gRPC).
//!
//! Owns: whether there are any ([`Traces::from_environment`]; none by default), and sending ended spans by a thread of
//! its own, through a bounded queue, with deadlines. Must not: be waited for, decide what a span is ([`model::trace`]),
//! or keep a program from starting. Without feature `otlp` spans go nowhere.

#[cfg(feature = "otlp")]
mod exporter;
#[cfg(feature = "otlp")]
mod loss;
mod settings;

pub use settings::{BadSettings, Program, Settings};

use model::ids::NodeName;
use model::trace::Span;
use std::time::{Duration, SystemTime};

/// Cheap to clone; clones share the destination. The default drops spans.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    #[cfg(feature = "otlp")]
    to: Option<std::sync::Arc<exporter::Exporter>>,
}

/// Converts a moment of a span to the date of this computer.
pub type DateOf<'a> = &'a dyn Fn(model::time::Moment) -> SystemTime;

impl Traces {
    /// Needs a tokio runtime. Bad settings are logged and turn traces off: they must keep no vehicle on the ground.
    pub fn from_environment(program: &Program) -> Self {
        Self::open(program, |name| std::env::var(name).ok())
    }

    #[cfg(not(feature = "otlp"))]
    fn open(_: &Program, _: impl Fn(&str) -> Option<String>) -> Self {
        Self::default()
    }

    #[cfg(feature = "otlp")]
    fn open(program: &Program, env: impl Fn(&str) -> Option<String>) -> Self {
        let settings = match Settings::read(env) {
            Ok(None) => return Self::default(),
            Ok(Some(settings)) => settings,
            Err(why) => {
                tracing::warn!(%why, "no traces are written");
                return Self::default();
            }
        };
        let endpoint = settings.endpoint.clone();
        match exporter::Exporter::start(program, settings) {
            Ok(exporter) => {
                tracing::info!(endpoint, "traces are written");
                Self {
                    to: Some(std::sync::Arc::new(exporter)),
                }
            }
            Err(why) => {
                tracing::warn!(%why, endpoint, "no traces are written");
                Self::default()
            }
        }
    }

    pub const fn are_written(&self) -> bool {
        #[cfg(feature = "otlp")]
        return self.to.is_some();
        #[cfg(not(feature = "otlp"))]
        false
    }

    /// `node`: of the vehicle, if known. A full queue drops the span.
    pub fn write(&self, span: Span, node: Option<&NodeName>, date: DateOf<'_>) {
        #[cfg(feature = "otlp")]
        if let Some(to) = &self.to {
            to.write(span, node, date);
        }
        #[cfg(not(feature = "otlp"))]
        let _ = (span, node, date, self);
    }

    /// Sends queued spans; blocks for `within` at most.
    pub fn finish(&self, within: Duration) {
        #[cfg(feature = "otlp")]
        if let Some(to) = &self.to {
            to.finish(within);
        }
        #[cfg(not(feature = "otlp"))]
        let _ = (within, self);
    }
}

//! Hands spans as OpenTelemetry's to its batch processor, whose thread loses spans when the collector is silent for
//! `OTEL_EXPORTER_OTLP_TIMEOUT` (10 s). Must not: block a writer of spans.

use crate::DateOf;
use crate::loss::Losses;
use crate::settings::{Program, Settings};
use model::ids::NodeName;
use model::trace::Span;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig, Identity};
use opentelemetry_otlp::{ExporterBuildError, WithExportConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanExporter, SpanProcessor};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tracing::warn;

#[derive(Debug, thiserror::Error)]
pub enum CannotSend {
    #[error(
        "{0}: {1}; mount the file, or name another in OTEL_EXPORTER_OTLP_CERTIFICATE, _CLIENT_CERTIFICATE and _CLIENT_KEY"
    )]
    File(PathBuf, std::io::Error),
    #[error(transparent)]
    Exporter(#[from] ExporterBuildError),
}

#[derive(Debug)]
pub struct Exporter {
    processor: BatchSpanProcessor,
    queue: Arc<Queue>,
    scope: InstrumentationScope,
}

#[derive(Debug)]
struct Queue {
    waiting: AtomicUsize,
    bound: usize,
    losses: Mutex<Losses>,
}

impl Queue {
    fn lost(&self, count: usize, why: &dyn std::fmt::Display) {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lost) = losses.lost(count, Instant::now()) {
            warn!(lost, %why, "spans of traces are lost; flights go on as ever");
        }
    }
}

/// For a connection and all tries: the library's own deadline is for each call on an open connection.
const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct Watched {
    sender: opentelemetry_otlp::SpanExporter,
    queue: Arc<Queue>,
    runtime: Handle,
}

impl SpanExporter for Watched {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let sending = {
            // The processor's thread has no timer of its own.
            let _within = self.runtime.enter();
            timeout(DEADLINE, self.sender.export(batch))
        };
        let result = sending.await.unwrap_or(Err(OTelSdkError::Timeout(DEADLINE)));
        self.queue.waiting.fetch_sub(count, Ordering::AcqRel);
        if let Err(why) = &result {
            self.queue.lost(count, why);
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.sender.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.sender.set_resource(resource);
    }
}

fn read(file: &Path) -> Result<Vec<u8>, CannotSend> {
    std::fs::read(file).map_err(|why| CannotSend::File(file.to_owned(), why))
}

fn security(settings: &Settings) -> Result<ClientTlsConfig, CannotSend> {
    let mut security = match &settings.authorities {
        Some(file) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(file)?)),
        None => ClientTlsConfig::new().with_enabled_roots(),
    };
    if let Some((certificate, key)) = &settings.identity {
        security = security.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    Ok(security)
}

impl Exporter {
    pub fn start(program: &Program, settings: Settings) -> Result<Self, CannotSend> {
        let mut sender = opentelemetry_otlp::SpanExporter::builder().with_tonic();
        if settings.endpoint.starts_with("https://") {
            sender = sender.with_tls_config(security(&settings)?);
        }
        let queue = Arc::new(Queue {
            waiting: AtomicUsize::new(0),
            bound: program.queue,
            losses: Mutex::default(),
        });
        let watched = Watched {
            sender: sender.with_endpoint(settings.endpoint).build()?,
            queue: Arc::clone(&queue),
            runtime: Handle::current(),
        };
        let config = BatchConfigBuilder::default().with_max_queue_size(program.queue);
        let mut processor = BatchSpanProcessor::builder(watched)
            .with_batch_config(config.build())
            .build();
        processor.set_resource(&resource(program));
        Ok(Self {
            processor,
            queue,
            scope: InstrumentationScope::builder("skein").build(),
        })
    }

    pub fn write(&self, span: Span, node: Option<&NodeName>, date: DateOf<'_>) {
        if self.queue.waiting.fetch_add(1, Ordering::AcqRel) >= self.queue.bound {
            self.queue.waiting.fetch_sub(1, Ordering::AcqRel);
            self.queue.lost(1, &"too many wait to be sent");
            return;
        }
        self.processor.on_end(self.data(span, node, date));
    }

    pub fn finish(&self, within: Duration) {
        if let Err(why) = self.processor.shutdown_with_timeout(within) {
            self.queue.lost(self.queue.waiting.load(Ordering::Acquire), &why);
        }
    }

    fn data(&self, span: Span, node: Option<&NodeName>, date: DateOf<'_>) -> SpanData {
        let id = SpanId::from_bytes(span.id());
        let (trace, parent) = (TraceId::from_bytes(span.trace()), span.parent());
        let mut attributes = vec![
            KeyValue::new("k8s.namespace.name", span.of.name.namespace),
            KeyValue::new("skein.drone.name", span.of.name.name),
            KeyValue::new("skein.drone.uid", span.of.uid.0),
            KeyValue::new("skein.drone.generation", span.of.generation),
        ];
        attributes.extend(node.map(|node| KeyValue::new("k8s.node.name", node.to_string())));
        SpanData {
            span_context: SpanContext::new(trace, id, TraceFlags::SAMPLED, false, TraceState::default()),
            parent_span_id: parent.map_or(SpanId::INVALID, SpanId::from_bytes),
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: span.part.name().into(),
            start_time: date(span.start),
            end_time: date(span.end),
            attributes,
            dropped_attributes_count: 0,
            events: Default::default(),
            links: Default::default(),
            status: span.fault.map_or(Status::Unset, Status::error),
            instrumentation_scope: self.scope.clone(),
        }
    }
}

fn resource(program: &Program) -> Resource {
    let usual = [
        ("service.name", program.name.to_owned()),
        ("service.version", program.version.clone()),
        ("service.instance.id", program.instance.clone()),
    ];
    let named = Resource::builder().build();
    let given = |key: &str| {
        let value = named.get(&key.to_owned().into());
        value.is_some_and(|value| !value.as_str().starts_with("unknown_service"))
    };
    let missing = usual.into_iter().filter(|(key, _)| !given(key));
    Resource::builder()
        .with_attributes(missing.map(|(key, value)| KeyValue::new(key, value)))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::{DroneName, DroneUid};
    use model::time::Moment;
    use model::trace::{Part, Subject};
    use std::net::TcpListener;
    use std::time::SystemTime;

    const BOUND: usize = 4;

    fn program() -> Program {
        Program {
            name: "skein-agent",
            version: "1".into(),
            instance: "n".into(),
            queue: BOUND,
        }
    }

    fn to(endpoint: String, authorities: Option<PathBuf>) -> Settings {
        Settings {
            endpoint,
            authorities,
            identity: None,
        }
    }

    fn span(second: u64) -> Span {
        let at = Moment::at(Duration::from_secs(second));
        Span {
            of: Subject {
                uid: DroneUid("u".into()),
                name: DroneName {
                    namespace: "default".into(),
                    name: "a".into(),
                },
                generation: 1,
            },
            part: Part::Arm,
            start: at,
            end: at,
            fault: None,
        }
    }

    #[tokio::test]
    async fn a_collector_that_never_answers_holds_up_nobody_and_no_more_than_the_bound_waits() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", silent.local_addr().unwrap());
        let exporter = Exporter::start(&program(), to(endpoint, None)).unwrap();
        let date = |moment: Moment| SystemTime::UNIX_EPOCH + moment.since_epoch();
        let began = Instant::now();
        for second in 0..1000 {
            exporter.write(span(second), None, &date);
        }
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "a call to the collector takes 10 s"
        );
        assert_eq!(exporter.queue.waiting.load(Ordering::Acquire), BOUND);
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_named_with_what_to_do() {
        let missing = Some(PathBuf::from("/nowhere/ca.crt"));
        let why = Exporter::start(&program(), to("https://127.0.0.1:1".into(), missing)).unwrap_err();
        let why = why.to_string();
        assert!(
            why.contains("/nowhere/ca.crt") && why.contains("OTEL_EXPORTER_OTLP_CERTIFICATE"),
            "{why}"
        );
    }

    #[test]
    fn the_programs_say_who_they_are() {
        let resource = resource(&program());
        let value = |key: &str| resource.get(&key.to_owned().into()).map(|value| value.to_string());
        assert_eq!(value("service.name").as_deref(), Some("skein-agent"));
        assert_eq!(value("service.instance.id").as_deref(), Some("n"));
    }
}

//! An OpenTelemetry collector in the test's process: a real OTLP server over gRPC, which keeps what comes.
//!
//! Owns: the server and what it has received. Must not: judge.

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// A span as the collector has it.
#[derive(Clone, Debug)]
pub struct Received {
    pub service: String,
    pub instance: String,
    pub name: String,
    pub trace: String,
    pub id: String,
    /// Empty for a root.
    pub parent: String,
    /// Nanoseconds since 1970.
    pub start: u64,
    pub end: u64,
    pub failed: bool,
    pub attributes: BTreeMap<String, String>,
}

/// A running collector; it ends with the test.
pub struct Collector {
    received: Arc<Mutex<Vec<Received>>>,
    address: std::net::SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

struct Keeper(Arc<Mutex<Vec<Received>>>);

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |pair: KeyValue| {
        let value = match pair.value?.value? {
            any_value::Value::StringValue(text) => text,
            any_value::Value::IntValue(number) => number.to_string(),
            _ => return None,
        };
        Some((pair.key, value))
    };
    attributes.into_iter().filter_map(text).collect()
}

#[tonic::async_trait]
impl TraceService for Keeper {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for of_resource in request.into_inner().resource_spans {
            let resource = texts(of_resource.resource.unwrap_or_default().attributes);
            let named = |key: &str| resource.get(key).cloned().unwrap_or_default();
            for span in of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                kept.push(Received {
                    service: named("service.name"),
                    instance: named("service.instance.id"),
                    name: span.name,
                    trace: hex(&span.trace_id),
                    id: hex(&span.span_id),
                    parent: hex(&span.parent_span_id),
                    start: span.start_time_unix_nano,
                    end: span.end_time_unix_nano,
                    failed: span.status.is_some_and(|status| status.code == 2),
                    attributes: texts(span.attributes),
                });
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    pub fn start() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let (address, received) = (listener.local_addr()?, Arc::<Mutex<Vec<Received>>>::default());
        let service = TraceServiceServer::new(Keeper(Arc::clone(&received)));
        let server = tonic::transport::Server::builder().add_service(service);
        runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        Ok(Self {
            received,
            address,
            _runtime: runtime,
        })
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that has come.
    pub fn spans(&self) -> Vec<Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

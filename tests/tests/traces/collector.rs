//! An OpenTelemetry collector in the test's process: a real OTLP server over gRPC, which keeps what it receives.

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

#[derive(Clone, Debug)]
pub struct Received {
    pub service: String,
    pub instance: String,
    pub name: String,
    pub trace: String,
    pub id: String,
    pub parent: String,
    /// Nanoseconds since 1970.
    pub start: u64,
    pub end: u64,
    pub failed: bool,
    pub attributes: BTreeMap<String, String>,
}

pub struct Collector {
    received: Arc<Mutex<Vec<Received>>>,
    endpoint: String,
    authority: Option<PathBuf>,
    // Fields are dropped in this order.
    _runtime: tokio::runtime::Runtime,
    _files: tempfile::TempDir,
}

struct Keeper(Arc<Mutex<Vec<Received>>>);

fn certified(file: &Path) -> anyhow::Result<Identity> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    std::fs::write(file, params.self_signed(&key)?.pem())?;
    let issuer = Issuer::from_params(&params, &key);
    let own_key = KeyPair::generate()?;
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&own_key, &issuer)?;
    Ok(Identity::from_pem(own.pem(), own_key.serialize_pem()))
}

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
    pub fn start(scheme: Scheme) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let (address, received) = (listener.local_addr()?, Arc::<Mutex<Vec<Received>>>::default());
        let service = TraceServiceServer::new(Keeper(Arc::clone(&received)));
        let (mut server, files) = (Server::builder(), tempfile::tempdir()?);
        let mut authority = None;
        if scheme == Scheme::Https {
            let file = files.path().join("ca.crt");
            let security = ServerTlsConfig::new().identity(certified(&file)?);
            (server, authority) = (server.tls_config(security)?, Some(file));
        }
        let server = server.add_service(service);
        runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        let scheme = if authority.is_some() { "https" } else { "http" };
        Ok(Self {
            received,
            endpoint: format!("{scheme}://{address}"),
            authority,
            _runtime: runtime,
            _files: files,
        })
    }

    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let authority = self.authority.iter();
        let authority = authority.map(|file| ("OTEL_EXPORTER_OTLP_CERTIFICATE", file.display().to_string()));
        [("OTEL_EXPORTER_OTLP_ENDPOINT", self.endpoint.clone())]
            .into_iter()
            .chain(authority)
            .collect()
    }

    pub fn spans(&self) -> Vec<Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

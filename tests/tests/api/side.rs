//! The two servers that are compared, each started once for all tests of this file.

use std::sync::LazyLock;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use testkit::{ControlPlane, Embedded, Kubectl};
use tokio::runtime::Runtime;

pub const PATIENCE: Duration = Duration::from_secs(40);

pub static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

pub struct Side {
    kubectl: Kubectl,
    server: String,
    client: Client,
    anonymous: Client,
}

impl Side {
    pub fn kubernetes() -> &'static Self {
        static SIDE: LazyLock<(ControlPlane, Side)> = LazyLock::new(|| {
            let plane = ControlPlane::builder().manifests(["crds"]).start().unwrap();
            let side = Side::new(plane.kubectl(), plane.server());
            (plane, side)
        });
        &SIDE.1
    }

    pub fn embedded() -> &'static Self {
        static SIDE: LazyLock<(Embedded, Side)> = LazyLock::new(|| {
            let api = Embedded::start().unwrap();
            let side = Side::new(api.kubectl(), api.server());
            (api, side)
        });
        &SIDE.1
    }

    fn new(kubectl: &Kubectl, server: &str) -> Self {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(kubectl.kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
        let mut config = RUNTIME.block_on(config).unwrap();
        let client = |config: &kube::Config| RUNTIME.block_on(async { Client::try_from(config.clone()).unwrap() });
        // A watch may be silent for longer than the client's own timeout; each request here has a deadline.
        config.read_timeout = None;
        config.default_retry = false;
        let known = client(&config);
        config.auth_info = AuthInfo::default();
        Self {
            kubectl: kubectl.clone(),
            server: server.to_owned(),
            client: known,
            anonymous: client(&config),
        }
    }

    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    pub fn server(&self) -> &str {
        &self.server
    }

    /// The head of the answer; the body is not read yet.
    pub fn send(&self, request: Request<Body>, known: bool) -> Response<Body> {
        let client = if known { &self.client } else { &self.anonymous };
        let answer = async { tokio::time::timeout(PATIENCE, client.send(request)).await };
        RUNTIME.block_on(answer).expect("an answer in time").unwrap()
    }

    pub fn read(&self, body: Body) -> Vec<u8> {
        let all = async { tokio::time::timeout(PATIENCE, body.collect_bytes()).await };
        RUNTIME
            .block_on(all)
            .expect("the end of the answer in time")
            .unwrap()
            .to_vec()
    }

    pub fn piece(&self, body: &mut Body) -> Option<Vec<u8>> {
        let next = async { tokio::time::timeout(PATIENCE, body.frame()).await };
        let frame = RUNTIME.block_on(next).expect("more of the answer in time")?;
        Some(frame.unwrap().into_data().map_or(Vec::new(), |data| data.to_vec()))
    }
}

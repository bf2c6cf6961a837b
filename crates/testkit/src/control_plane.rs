//! A real Kubernetes control plane on free loopback ports: etcd, kube-apiserver, kube-controller-manager and
//! kube-scheduler as child processes, with TLS and RBAC on.
//!
//! Must not: reach beyond loopback, unless it is given a [`Place`] of its own. It ends when the [`ControlPlane`] is
//! dropped, and also when this process is killed (see [`crate::spawner`]).

mod audit;
pub(crate) mod binaries;
mod credentials;
mod grants;
mod kubeconfigs;
pub(crate) mod nodes;
mod place;
mod restart;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use serde_json::json;

pub use audit::Request;
pub use binaries::{Binaries, cache_root};
pub use grants::Grant;
pub use place::Place;

use crate::launch::GO;
use crate::network_namespace::{enter, way_in};
use crate::process::wait_while_running;
use crate::{Kubectl, Launch, Process, Scratch, ports, prerequisites};

const ATTEMPTS: u32 = 5;

/// Deadline of each stage of the start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Default, Clone)]
pub struct Builder {
    node_lifecycle: bool,
    durable: bool,
    manifests: Vec<PathBuf>,
    place: Option<Place>,
    client_authority: Option<(String, String)>,
}

impl Builder {
    /// Whether the node-lifecycle controller runs; off by default. It makes a node that is only an object Unknown, and
    /// taints it after 40 s, as a real node without a heartbeat.
    pub fn node_lifecycle(mut self, on: bool) -> Self {
        self.node_lifecycle = on;
        self
    }

    /// Whether etcd syncs to disk before it acknowledges; off by default: tests lose nothing.
    pub fn durable(mut self, on: bool) -> Self {
        self.durable = on;
        self
    }

    /// Runs it in another network namespace; this machine reaches it by loopback.
    pub fn place(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Authority (PEM texts of certificate and key) whose client certificates name users, and which signs approved
    /// requests for certificates. Without it no certificate is accepted.
    pub fn client_authority(mut self, certificate: impl Into<String>, key: impl Into<String>) -> Self {
        self.client_authority = Some((certificate.into(), key.into()));
        self
    }

    /// Applies these files or folders, in this order, before the controllers start; paths are relative to the
    /// workspace's root.
    ///
    /// Give CRDs here: the garbage collector finds new kinds of owners only every 30 s, and ignores their dependents
    /// until then.
    pub fn manifests(mut self, paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.manifests.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Returns when `/readyz` answers ok and Pods may be made in namespace `default`. A first build takes minutes and
    /// is reported on standard error.
    pub fn start(self) -> anyhow::Result<ControlPlane> {
        prerequisites::setpriv()?;
        let binaries = Binaries::find_or_build()?;
        let mut attempt = 1;
        loop {
            match start_once(&self, &binaries) {
                Err(error) if attempt < ATTEMPTS && format!("{error:#}").contains("address already in use") => {
                    attempt += 1;
                }
                result => return result.context("the control plane did not start"),
            }
        }
    }
}

// Fields are dropped in this order: clients, then servers, then files.
#[derive(Debug)]
pub struct ControlPlane {
    scheduler: Process,
    controller_manager: Process,
    api_server: Process,
    etcd: Process,
    again: restart::Again,
    binaries: Binaries,
    admin: Kubectl,
    server: String,
    ca: Vec<u8>,
    scratch: Scratch,
}

impl ControlPlane {
    pub fn start() -> anyhow::Result<Self> {
        Self::builder().start()
    }

    /// Shared by tests of this process that do not disturb each other; the first caller's `start` starts it.
    pub fn shared(start: impl FnOnce() -> anyhow::Result<Self>) -> anyhow::Result<&'static Self> {
        static SHARED: Mutex<Option<&ControlPlane>> = Mutex::new(None);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plane) = *shared {
            return Ok(plane);
        }
        // Never dropped: the kernel ends its processes with this one, and the sweeper removes its files.
        let plane: &'static Self = Box::leak(Box::new(start()?));
        *shared = Some(plane);
        Ok(plane)
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    pub fn kubectl(&self) -> &Kubectl {
        &self.admin
    }

    pub fn kubectl_as(&self, kubeconfig: impl Into<PathBuf>) -> Kubectl {
        let kubeconfig = kubeconfig.into();
        // Users may differ in what they are allowed to discover, so each has a cache of its own.
        let cache = kubeconfig.with_extension("cache");
        Kubectl::new(self.binaries.path("kubectl"), kubeconfig, cache)
    }

    pub fn kubeconfig(&self) -> &Path {
        self.admin.kubeconfig()
    }

    pub fn server(&self) -> &str {
        &self.server
    }

    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// For SIGSTOP and SIGCONT.
    pub fn api_server(&self) -> &Process {
        &self.api_server
    }

    pub fn processes(&self) -> [&Process; 4] {
        [&self.etcd, &self.api_server, &self.controller_manager, &self.scheduler]
    }

    /// Errors show the end of the log of a component that has died.
    pub fn ensure_running(&self) -> anyhow::Result<()> {
        self.processes().into_iter().try_for_each(Process::ensure_running)
    }

    /// Waits until the CRDs among them can be used; paths are relative to the workspace's root.
    pub fn apply_files(&self, paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> anyhow::Result<()> {
        apply_files(&self.admin, paths)
    }

    /// All requests answered so far, in that order.
    pub fn requests(&self) -> anyhow::Result<Vec<Request>> {
        audit::read(&audit_log(&self.scratch))
    }

    /// Permissions that a ServiceAccount has by name and has not used so far.
    pub fn unused_grants(&self, namespace: &str, name: &str) -> anyhow::Result<Vec<Grant>> {
        let granted = grants::of(&self.admin, namespace, name)?;
        let user = format!("system:serviceaccount:{namespace}:{name}");
        let requests: Vec<Request> = self
            .requests()?
            .into_iter()
            .filter(|request| request.user == user)
            .collect();
        Ok(granted
            .into_iter()
            .filter(|grant| !requests.iter().any(|request| grant.covers(request)))
            .collect())
    }

    pub fn delete_namespace(&self, name: &str) -> anyhow::Result<()> {
        self.kubectl()
            .run(["delete", "namespace", name, "--wait=true"])
            .map(drop)
    }
}

pub fn workspace_root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own)
}

fn start_once(builder: &Builder, binaries: &Binaries) -> anyhow::Result<ControlPlane> {
    let scratch = Scratch::new("skein-control-plane-")?;
    let logs = scratch.folder("logs")?;
    let at = |name: &str| scratch.path().join(name);
    let launch = |name: &str| {
        let launch = match &builder.place {
            None => Launch::program(binaries.path(name)),
            Some(place) => enter(&place.namespace, &binaries.path(name)),
        };
        launch.envs(GO).logs_in(&logs)
    };
    let ports = ports::free_tcp_ports(3)?;
    let [etcd_url, peer_url] = [ports[0], ports[1]].map(|port| format!("http://127.0.0.1:{port}"));
    let address = builder
        .place
        .as_ref()
        .map_or(Ipv4Addr::LOCALHOST, |place| place.address);
    let within = format!("https://{address}:{}", ports[2]);
    let server = match &builder.place {
        None => within.clone(),
        Some(place) => {
            let port = way_in(&place.namespace, (place.address, ports[2]).into())?;
            format!("https://127.0.0.1:{port}")
        }
    };

    let users = credentials::first_users(builder.place.as_ref().map_or(&[][..], |place| &place.users))?;
    credentials::write_token_file(&at("tokens.csv"), &users)?;
    credentials::write_signing_key(&at("service-accounts.pem"))?;
    std::fs::write(at("audit-policy.json"), audit::POLICY)?;
    let clients = builder.client_authority.as_ref();
    if let Some((certificate, key)) = clients {
        credentials::write_private(&at("clients.crt"), certificate)?;
        credentials::write_private(&at("clients.key"), key)?;
    }

    let etcd = launch("etcd")
        .arg(flag("data-dir", at("etcd")))
        .arg(flag("listen-client-urls", &etcd_url))
        .arg(flag("advertise-client-urls", &etcd_url))
        .arg(flag("listen-peer-urls", &peer_url))
        .arg(flag("initial-advertise-peer-urls", &peer_url))
        .arg(flag("initial-cluster", format!("default={peer_url}")))
        .args((!builder.durable).then_some("--unsafe-no-fsync"));
    let etcd_again = etcd.clone();
    let etcd = etcd.start()?;
    let pki = scratch.folder("pki")?;
    let api_server = launch("kube-apiserver")
        .arg(flag("etcd-servers", &etcd_url))
        .arg(format!("--bind-address={address}"))
        .arg(format!("--advertise-address={address}"))
        .args(match builder.place {
            None => ["--endpoint-reconciler-type=none"].as_slice(),
            // The API server's Service leads to it, it reaches kubelets, and a node may change no node but itself.
            Some(_) => &[
                "--kubelet-preferred-address-types=InternalIP",
                "--enable-admission-plugins=NodeRestriction",
            ],
        })
        .arg(flag("secure-port", ports[2].to_string()))
        // The folder of the serving certificate that the API server makes.
        .arg(flag("cert-dir", &pki))
        .arg("--service-cluster-ip-range=10.96.0.0/16")
        .arg("--authorization-mode=Node,RBAC")
        // As installers set it: PodSecurity decides who may run privileged containers.
        .arg("--allow-privileged=true")
        .arg(flag("token-auth-file", at("tokens.csv")))
        .args(clients.map(|_| flag("client-ca-file", at("clients.crt"))))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(flag("service-account-key-file", at("service-accounts.pem")))
        .arg(flag("service-account-signing-key-file", at("service-accounts.pem")))
        .arg(flag("audit-policy-file", at("audit-policy.json")))
        .arg(flag("audit-log-path", audit_log(&scratch)));
    let again = restart::Again::new(etcd_again, api_server.clone(), ports[0]);
    let api_server = api_server.start()?;

    // The key is written after the certificate.
    wait_while_running(&[&etcd, &api_server], "the API server's certificate", PATIENCE, || {
        anyhow::ensure!(pki.join("apiserver.key").is_file(), "not written yet");
        Ok(())
    })?;
    let ca = std::fs::read(pki.join("apiserver.crt"))?;
    for user in &users {
        let server = if user.name == "admin" { &server } else { &within };
        let shows = json!({"token": user.token});
        credentials::write_kubeconfig(&at(&user.name), server, &ca, &user.name, &shows)?;
    }
    let [admin, controller_manager, scheduler] = [0, 1, 2].map(|user: usize| at(&users[user].name));
    let admin = Kubectl::new(binaries.path("kubectl"), admin, at("admin.cache"));
    wait_while_running(&[&etcd, &api_server], "the API server to be ready", PATIENCE, || {
        admin
            .clone()
            .within(Duration::from_secs(10))
            .run(["get", "--raw", "/readyz"])
    })?;
    apply_files(&admin, &builder.manifests)?;

    let controllers = if builder.node_lifecycle {
        "*"
    } else {
        // The ttl controller writes to nodes for kubelets, of which there are none here.
        "*,-node-lifecycle-controller,-ttl-controller"
    };
    let controller_manager = launch("kube-controller-manager")
        .arg(flag("kubeconfig", controller_manager))
        .arg(flag("controllers", controllers))
        .arg(flag("root-ca-file", pki.join("apiserver.crt")))
        .args(clients.map(|_| flag("cluster-signing-cert-file", at("clients.crt"))))
        .args(clients.map(|_| flag("cluster-signing-key-file", at("clients.key"))))
        .arg("--use-service-account-credentials")
        .arg("--leader-elect=false")
        .arg("--secure-port=0")
        .arg("--kube-api-qps=200")
        .arg("--kube-api-burst=400")
        .start()?;
    let scheduler = launch("kube-scheduler")
        .arg(flag("kubeconfig", scheduler))
        .arg("--leader-elect=false")
        .arg("--secure-port=0")
        .start()?;
    wait_while_running(
        &[&etcd, &api_server, &controller_manager, &scheduler],
        "the controllers to work",
        PATIENCE,
        || admin.run(["get", "serviceaccount", "default"]),
    )?;
    let binaries = binaries.clone();
    Ok(ControlPlane {
        scheduler,
        controller_manager,
        api_server,
        etcd,
        again,
        binaries,
        admin,
        server,
        ca,
        scratch,
    })
}

fn audit_log(scratch: &Scratch) -> PathBuf {
    scratch.path().join("audit.log")
}

fn flag(name: &str, value: impl AsRef<Path>) -> String {
    format!("--{name}={}", value.as_ref().display())
}

pub(crate) fn apply_files(
    kubectl: &Kubectl,
    paths: impl IntoIterator<Item = impl Into<PathBuf>>,
) -> anyhow::Result<()> {
    let mut any = false;
    for path in paths {
        let path = workspace_root().join(path.into());
        let path = path.to_string_lossy();
        kubectl.run(["apply", "--server-side", "-f", &path])?;
        any = true;
    }
    if any && !kubectl.run(["get", "crd", "-o", "name"])?.is_empty() {
        kubectl.run(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"])?;
    }
    Ok(())
}

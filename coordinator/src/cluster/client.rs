//! The client of the Kubernetes API, as a field of types that have `Debug`.

/// `kube::Client`, which has no `Debug` of its own.
#[derive(Clone)]
pub struct Client(kube::Client);

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    pub const fn new(client: kube::Client) -> Self {
        Self(client)
    }
}

impl std::ops::Deref for Client {
    type Target = kube::Client;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

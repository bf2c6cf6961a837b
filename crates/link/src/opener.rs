//! Opening what a link's URL names.

use crate::auto::Search;
use crate::counters::Counters;
use crate::named_port::NamedPort;
use crate::transport::datagrams::Datagrams;
use crate::transport::serial;
use crate::transport::turns;
use crate::transport::{OPEN_DEADLINE, OpenError, Opener, Wire, tcp};
use crate::url::LinkUrl;
use futures::future::BoxFuture;
use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub struct UrlOpener {
    url: LinkUrl,
    counters: Arc<Counters>,
    search: Search,
    port: Option<NamedPort>,
    socket: Option<Arc<Datagrams>>,
}

impl UrlOpener {
    pub(crate) fn new(url: LinkUrl, devices: PathBuf, counters: Arc<Counters>) -> Self {
        let baud = match url {
            LinkUrl::Auto { baud } => baud,
            _ => None,
        };
        let port = match &url {
            LinkUrl::Serial { device, baud } => Some(NamedPort::new(device, *baud, &devices)),
            _ => None,
        };
        Self {
            url,
            counters,
            search: Search::new(devices, baud),
            port,
            socket: None,
        }
    }

    async fn open_url(&mut self) -> Result<Wire, OpenError> {
        if let Some(socket) = &self.socket {
            return Ok(Wire::datagrams(socket));
        }
        if let Some(port) = &mut self.port {
            return Ok(port.open()?.into_wire());
        }
        let counters = Arc::clone(&self.counters);
        let socket = match &self.url {
            LinkUrl::Serial { device, .. } => return Err(OpenError::Missing(device.display().to_string())),
            LinkUrl::Auto { .. } => return Ok(self.search.find().await?.into_wire()),
            LinkUrl::Tcp { remote } => return tcp(remote).await,
            LinkUrl::UdpListen { local } => Datagrams::listen(local, counters).await?,
            LinkUrl::Udp { remote } => Datagrams::connect(remote, counters).await?,
        };
        let socket = Arc::new(socket);
        self.socket = Some(Arc::clone(&socket));
        Ok(Wire::datagrams(&socket))
    }
}

impl Opener for UrlOpener {
    fn turn(&mut self) -> BoxFuture<'_, ()> {
        match self.url {
            LinkUrl::Serial { .. } | LinkUrl::Auto { .. } => Box::pin(turns::SERIAL.wait()),
            LinkUrl::Tcp { .. } | LinkUrl::UdpListen { .. } | LinkUrl::Udp { .. } => Box::pin(ready(())),
        }
    }

    fn open(&mut self) -> BoxFuture<'_, Result<Wire, OpenError>> {
        Box::pin(self.open_url())
    }

    fn open_deadline(&self) -> Duration {
        match self.url {
            LinkUrl::Auto { .. } => Search::DEADLINE,
            _ => OPEN_DEADLINE,
        }
    }

    fn silence_limit(&self) -> Option<Duration> {
        matches!(self.url, LinkUrl::Auto { .. }).then_some(Search::SILENT)
    }

    fn nothing_accepted(&mut self) {
        self.search.nothing_accepted();
    }

    fn advice(&self) -> String {
        match self.url {
            LinkUrl::Serial { baud, .. } => serial::advice(baud),
            _ => "check that the other end speaks MAVLink".to_owned(),
        }
    }
}

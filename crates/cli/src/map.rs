//! `skein map`: the fleet on a live map, in a browser on this machine.
//!
//! Owns: start, end and the person's messages. Must not: decide who gets in ([`guard`]), what is shown ([`document`])
//! or what an order does ([`crate::orders`]).
//!
//! ```text
//! coordinator ─► fleet_feed ─┐
//!                            ├─► feed: one document each second ─► Server-Sent Events: what changed
//! Kubernetes API ─► reading ─┘
//! page ─► guard ─► preview ─► confirmed: an order to the coordinator, an object to the API, by the person's rights
//!                  file ─► what `skein import` makes of it, from which the page asks for a preview
//! ```

pub mod basemap;
pub mod confirmations;
pub mod document;
pub mod edits;
pub mod feed;
pub mod files;
pub mod guard;
mod json_answer;
pub mod orders;
pub mod reading;
mod redirect;
pub mod serve;
pub mod shapes;
pub mod vehicles;
pub mod work;

#[cfg(test)]
mod tests;

use crate::args::Filter;
use crate::args::map::MapArgs;
use crate::cluster::Choice;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::fleet_feed::{self, FleetSnapshot};
use crate::live::objects;
use crate::route::Route;
use crate::server::Which;
use crate::terminal;
use basemap::Basemap;
use confirmations::Confirmations;
use document::About;
use guard::Guard;
use reading::ObjectsSnapshot;
use redirect::Redirect;
use serve::App;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{RwLock, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Wait at the end for orders without an answer.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(20);

/// Time for the map of [`beside`], which must not hold up the other command.
const BESIDE_START_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// `named`: kubeconfig for a coordinator named by address. Errors: this program has no page, the coordinator is
/// unreachable at the start, or the port is not free.
pub async fn run(route: Route, args: MapArgs, named: Option<Choice>) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let basemap = args.basemap.as_deref().map(Basemap::open).transpose()?;
    let mut map = tokio::select! {
        map = ServedMap::start(route, args.filter, args.port, basemap, named) => map?,
        () = interrupt.in_order.cancelled() => return Ok(()),
    };
    terminal::line(&format!(
        "The map, for one browser of this machine: {}\n\
         The address is good once; another tab or browser needs another `skein map`. Ctrl-C ends it, and touches nothing that flies.",
        map.address
    ));
    let mut redirect = None;
    if !args.no_browser {
        match browser(&map.guard) {
            Ok(opened) => redirect = Some(opened),
            Err(why) => terminal::line(&format!(
                "No browser could be opened ({why}): open the address yourself."
            )),
        }
    }
    let used = map.guard.used();
    loop {
        tokio::select! {
            () = interrupt.in_order.cancelled() => return map.end().await,
            _ = map.tasks.join_next() => {
                return Err(Failure::Failed("a part of skein map has failed; the fleet is not touched by that".to_owned()));
            }
            // The file contains the token.
            () = used.cancelled(), if redirect.is_some() => redirect = None,
        }
    }
}

/// Serves beside another command in a terminal, and prints the address or why there is none. Without a terminal there
/// is no map: a reader of the log could command the vehicles.
pub async fn beside(route: Route, named: Option<Choice>) -> Option<ServedMap> {
    if map_page::missing().is_some() || !std::io::stdout().is_terminal() {
        return None;
    }
    let started = async {
        loop {
            let map = ServedMap::start(route.clone(), Filter::default(), 0, None, named.clone()).await;
            match map {
                // A coordinator that has just started does not lead yet.
                Err(Failure::NotReady { .. } | Failure::Unreachable { .. } | Failure::Away(_)) => {
                    sleep(RETRY_DELAY).await
                }
                started => break started,
            }
        }
    };
    let map = match timeout(BESIDE_START_TIMEOUT, started).await {
        Ok(Ok(map)) => map,
        Ok(Err(why)) => {
            terminal::line(&format!("No map beside this ({why}); try `skein map`."));
            return None;
        }
        Err(_) => {
            terminal::line("No map beside this, the coordinator does not answer in time; try `skein map`.");
            return None;
        }
    };
    terminal::line(&format!(
        "The map, live, for one browser of this machine (another one: `skein map`): {}",
        map.address
    ));
    Some(map)
}

/// Dropping it ends it.
pub struct ServedMap {
    address: String,
    guard: Arc<Guard>,
    tasks: JoinSet<()>,
    orders: TaskTracker,
    ending: CancellationToken,
}

impl ServedMap {
    /// Port 0: any free one.
    async fn start(
        route: Route,
        filter: Filter,
        port: u16,
        basemap: Option<Basemap>,
        named: Option<Choice>,
    ) -> Result<Self, Failure> {
        if let Some(why) = map_page::missing() {
            return Err(Failure::Failed(why));
        }
        let listener = bind(port).await?;
        let port = listener.local_addr()?.port();
        let which = Which {
            airspace: true,
            ..Which::from(&filter)
        };
        let stream = fleet_feed::open(&route, &which, feed::DOCUMENT_INTERVAL).await?;
        // Vehicles are shown without a usable kubeconfig, too.
        let found = objects::objects(&route, named).await;
        let found = found.unwrap_or_else(|failure| Err(failure.to_string()));
        let (fleet, fleet_seen) = watch::channel(FleetSnapshot::default());
        let (read, objects_seen) = watch::channel(ObjectsSnapshot::default());
        let documents = watch::Sender::new(Arc::default());
        let about = About {
            coordinator: route.to_string(),
            objects_from: found
                .as_ref()
                .map_or_else(|_| String::new(), |found| found.from.clone()),
            basemap: basemap.is_some(),
            swarm: filter.swarm,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(fleet_feed::follow(
            route.clone(),
            (which, feed::DOCUMENT_INTERVAL),
            stream,
            fleet,
        ));
        let objects = match found {
            Ok(found) => {
                let found = Arc::new(RwLock::new(found));
                let followed = reading::follow(Arc::clone(&found), filter.namespace, documents.clone(), read);
                tasks.spawn(followed);
                Ok(found)
            }
            Err(why) => {
                read.send_modify(|seen| seen.none = Some(why.clone()));
                Err(why)
            }
        };
        tasks.spawn(feed::build(
            about,
            fleet_seen.clone(),
            objects_seen.clone(),
            documents.clone(),
        ));
        let guard = Arc::new(Guard::new(port));
        let address = guard.address();
        let (orders, ending) = (TaskTracker::new(), CancellationToken::new());
        let app = Arc::new(App {
            route,
            documents,
            fleet: fleet_seen,
            seen: objects_seen,
            objects,
            basemap,
            orders: Confirmations::default(),
            edits: Confirmations::default(),
            files: Arc::new(Semaphore::new(files::CONCURRENT_READS)),
            plans: Arc::new(Semaphore::new(serve::CONCURRENT_PLANS)),
            given: orders.clone(),
            ending: ending.clone(),
        });
        tasks.spawn(serve::serve(listener, Arc::clone(&guard), app));
        Ok(Self {
            address,
            guard,
            tasks,
            orders,
            ending,
        })
    }

    /// Given orders are completed.
    async fn end(self) -> Result<(), Failure> {
        self.orders.close();
        if !self.orders.is_empty() {
            terminal::line("waiting for the answer to what was ordered …");
        }
        let waited = timeout(LAST_ANSWERS_TIMEOUT, self.orders.wait()).await;
        self.ending.cancel();
        waited.map_err(|_| Failure::Failed("an order has no answer yet; what became of it: `skein status`".to_owned()))
    }
}

async fn bind(port: u16) -> Result<TcpListener, Failure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address).await.map_err(|why| {
        Failure::Failed(format!(
            "cannot listen on {address}: {why}; choose another --port, or leave it out"
        ))
    })
}

/// By a file, as every user of this machine can read the arguments of a process, and so a token in them.
fn browser(guard: &Guard) -> Result<Redirect, String> {
    let shows = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "linux") && !shows("DISPLAY") && !shows("WAYLAND_DISPLAY") {
        return Err("this session has no screen".to_owned());
    }
    let redirect = Redirect::to(&guard.address_from_a_file()).map_err(|why| why.to_string())?;
    open::that_detached(redirect.path()).map_err(|why| why.to_string())?;
    Ok(redirect)
}

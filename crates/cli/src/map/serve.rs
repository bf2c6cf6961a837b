//! The requests of the page.

use super::basemap::Basemap;
use super::confirmations::Confirmations;
use super::edits::{self, Asked, Edit, Starts};
use super::guard::{self, Guard};
use super::json_answer::Json;
use super::reading::ObjectsSnapshot;
use super::{feed, files, orders};
use crate::live::fleet_feed::FleetSnapshot;
use crate::live::objects::Objects;
use crate::orders::{Order, give};
use crate::route::Route;
use crate::top::map::place;
use crate::vehicle::Vehicle;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use model::units::Wgs84;
use proto::v1;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, RwLock, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Bodies other than a file.
const MAX_BODY_BYTES: usize = 256 * 1024;

const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Except to an order.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A browser opens six.
const MAX_CONNECTIONS: usize = 64;

/// After a failed accept, as without free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

pub const CONCURRENT_PLANS: usize = 1;

/// As the coordinator's. `ANSWER_TIMEOUT` includes it, the wait for others and the answer of the API.
const PLANNING_DEADLINE: Duration = Duration::from_secs(30);

const ORDER_LIFE: Duration = Duration::from_secs(60);

const EDIT_LIFE: Duration = Duration::from_secs(300);

pub struct App {
    pub route: Route,
    pub documents: watch::Sender<Arc<feed::Edition>>,
    pub fleet: watch::Receiver<FleetSnapshot>,
    pub seen: watch::Receiver<ObjectsSnapshot>,
    pub objects: Result<Arc<RwLock<Objects>>, String>,
    pub basemap: Option<Basemap>,
    pub orders: Confirmations<Order>,
    pub edits: Confirmations<Edit>,
    /// Concurrent readings: each file may be large, and take long to plan.
    pub files: Arc<Semaphore>,
    /// Missions in planning, for a preview.
    pub plans: Arc<Semaphore>,
    /// Orders without an answer, which go on when the page goes away.
    pub given: TaskTracker,
    pub ending: CancellationToken,
}

struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, Json(json!({"error": self.1}))).into_response()
    }
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self(StatusCode::UNPROCESSABLE_ENTITY, why)
    }
}

type Answer = Result<Json, Refused>;

pub fn router(guard: Arc<Guard>, app: Arc<App>) -> Router {
    let entrance = Arc::clone(&guard);
    let enter = move |headers: HeaderMap, body: Body| {
        let guard = Arc::clone(&entrance);
        async move { enter(&guard, &headers, body).await }
    };
    Router::new()
        .route("/", get(|| async { page(map_page::INDEX) }))
        .route(
            "/assets/{*path}",
            get(|Path(path): Path<String>| async move { page(&format!("assets/{path}")) }),
        )
        .route("/basemap.pmtiles", get(basemap))
        .route(guard::SESSION_PATH, post(enter))
        .route("/api/feed", get(events))
        .route("/api/orders/preview", post(preview_order))
        .route("/api/files", post(read_file))
        .route("/api/objects/preview", post(preview_object))
        .route("/api/objects", post(apply_object))
        .layer(middleware::from_fn(in_time))
        // Not limited in time.
        .route("/api/orders", post(give_order))
        .fallback(|| async { Refused(StatusCode::NOT_FOUND, "there is nothing here".to_owned()) })
        .layer(middleware::from_fn_with_state(guard, guard::check))
        .with_state(app)
}

pub async fn serve(listener: TcpListener, guard: Arc<Guard>, app: Arc<App>) {
    let (router, seats) = (router(guard, app), Arc::new(Semaphore::new(MAX_CONNECTIONS)));
    let mut connections = JoinSet::new();
    loop {
        // Never closed.
        let Ok(seat) = Arc::clone(&seats).acquire_owned().await else {
            return;
        };
        while connections.try_join_next().is_some() {}
        let Ok((socket, _)) = listener.accept().await else {
            sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        connections.spawn(async move {
            let serving = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(READ_TIMEOUT)
                .serve_connection(TokioIo::new(socket), service);
            // Fails when the browser goes, or sends an invalid request.
            let _ = serving.await;
            drop(seat);
        });
    }
}

async fn in_time(request: Request, next: Next) -> Response {
    let late = || {
        Refused(
            StatusCode::GATEWAY_TIMEOUT,
            format!("no answer within {} s", ANSWER_TIMEOUT.as_secs()),
        )
    };
    timeout(ANSWER_TIMEOUT, next.run(request))
        .await
        .unwrap_or_else(|_| late().into_response())
}

fn page(path: &str) -> Response {
    match map_page::file(path) {
        Some(file) => ([(header::CONTENT_TYPE, file.media_type)], file.bytes).into_response(),
        None => Refused(StatusCode::NOT_FOUND, "there is nothing here".to_owned()).into_response(),
    }
}

async fn basemap(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    match &app.basemap {
        Some(basemap) => basemap.serve(&headers).await,
        None => Refused(
            StatusCode::NOT_FOUND,
            "there is no base map; give one with --basemap".to_owned(),
        )
        .into_response(),
    }
}

async fn events(State(app): State<Arc<App>>) -> Response {
    feed::events(app.documents.subscribe(), app.ending.clone()).into_response()
}

async fn read<T: DeserializeOwned>(headers: &HeaderMap, body: Body) -> Result<T, Refused> {
    read_of(headers, body, MAX_BODY_BYTES).await
}

async fn read_of<T: DeserializeOwned>(headers: &HeaderMap, body: Body, largest: usize) -> Result<T, Refused> {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if media_type.split(';').next().map(str::trim) != Some("application/json") {
        return Err(Refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send application/json".to_owned(),
        ));
    }
    let bytes = match timeout(READ_TIMEOUT, to_bytes(body, largest)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            return Err(Refused(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("send at most {} KiB", largest / 1024),
            ));
        }
        Err(_) => {
            return Err(Refused(
                StatusCode::REQUEST_TIMEOUT,
                "the request did not come whole".to_owned(),
            ));
        }
    };
    serde_json::from_slice(&bytes)
        .map_err(|why| Refused(StatusCode::BAD_REQUEST, format!("this is no such request: {why}")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entering {
    token: String,
}

async fn enter(guard: &Guard, headers: &HeaderMap, body: Body) -> Answer {
    let Entering { token } = read(headers, body).await?;
    let session = guard
        .exchange(&token)
        .map_err(|refusal| Refused(refusal.status(), refusal.to_string()))?;
    Ok(Json(json!({"session": session})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirmed {
    confirm: String,
}

fn offered(mut shown: Value, code: String, lives: Duration) -> Json {
    shown["confirm"] = json!(code);
    shown["livesMs"] = json!(u64::try_from(lives.as_millis()).unwrap_or(u64::MAX));
    Json(shown)
}

fn gone() -> Refused {
    let why = "this was confirmed already, or too late; nothing was done. Look at it once more";
    Refused(StatusCode::GONE, why.to_owned())
}

async fn preview_order(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Answer {
    let order = read::<orders::Asked>(&headers, body).await?.order()?;
    let shown = orders::preview(&order, &app.fleet.borrow().vehicles);
    Ok(offered(
        shown,
        app.orders.offer(order, ORDER_LIFE, Instant::now()),
        ORDER_LIFE,
    ))
}

async fn give_order(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Answer {
    let Confirmed { confirm } = read(&headers, body).await?;
    let order = app.orders.take(&confirm, Instant::now()).ok_or_else(gone)?;
    let route = app.route.clone();
    // A task of its own, which goes on when the page goes away.
    let given = app.given.spawn(async move { give(&route, order).await });
    let outcome = given.await.map_err(|_| {
        Refused(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the order may have been given; see `skein status`".to_owned(),
        )
    })?;
    Ok(Json(orders::answers(&outcome)))
}

async fn seat(of: &Arc<Semaphore>, busy: &str) -> Result<OwnedSemaphorePermit, Refused> {
    let waited = timeout(READ_TIMEOUT, Arc::clone(of).acquire_owned()).await;
    let refused = || Refused(StatusCode::SERVICE_UNAVAILABLE, busy.to_owned());
    waited.ok().and_then(Result::ok).ok_or_else(refused)
}

/// Plans off the tasks of the server. What takes too long goes on, as nothing ends it, and keeps its seat.
async fn planned<T: Send + 'static>(
    plans: &Arc<Semaphore>,
    plan: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refused> {
    let seat = seat(plans, "another Mission is being planned; try again when it is done").await?;
    let planning = tokio::task::spawn_blocking(move || {
        let planned = plan();
        drop(seat);
        planned
    });
    let late = |_| {
        Refused(
            StatusCode::GATEWAY_TIMEOUT,
            format!(
                "planning it takes longer than {} s; give it fewer corners, or divide it into several Missions",
                PLANNING_DEADLINE.as_secs()
            ),
        )
    };
    let planned = timeout(PLANNING_DEADLINE, planning).await.map_err(late)?;
    planned.map_err(|_| Refused::from("the planning has failed; this is a bug".to_owned()))
}

async fn read_file(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Answer {
    let asked: files::Asked = read_of(&headers, body, files::MAX_BODY_BYTES).await?;
    let seat = seat(&app.files, "other files are being read; try again").await?;
    let starts = starts(&app.fleet.borrow());
    // Busy until it is done, also when nobody waits for the answer any more.
    let shown = tokio::task::spawn_blocking(move || {
        let shown = files::read(&asked, &starts, MAX_BODY_BYTES);
        drop(seat);
        shown
    });
    let shown = shown
        .await
        .map_err(|_| "reading the file has failed; this is a bug".to_owned())?;
    Ok(Json(shown?))
}

fn objects(app: &App) -> Result<Arc<RwLock<Objects>>, Refused> {
    let none = |why: &String| {
        Refused(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("no objects can be made: {why}"),
        )
    };
    app.objects.as_ref().map(Arc::clone).map_err(none)
}

async fn preview_object(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Answer {
    let asked: Asked = read(&headers, body).await?;
    let objects = objects(&app)?;
    let (edit, shown) = match asked {
        Asked::Mission(asked) => {
            let starts = starts(&app.fleet.borrow());
            // Without the lock: the reading of the feed waits for it.
            let planned = planned(&app.plans, move || edits::planned(asked, &starts)).await??;
            edits::mission(planned, &*objects.read().await).await?
        }
        Asked::Geofence(asked) => edits::geofence(asked, &*objects.read().await).await?,
        Asked::Anchor(asked) => edits::anchor(asked, &*objects.read().await).await?,
    };
    let shown = serde_json::to_value(shown).map_err(|why| why.to_string())?;
    Ok(offered(
        shown,
        app.edits.offer(edit, EDIT_LIFE, Instant::now()),
        EDIT_LIFE,
    ))
}

async fn apply_object(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Answer {
    let Confirmed { confirm } = read(&headers, body).await?;
    let objects = objects(&app)?;
    let edit = app.edits.take(&confirm, Instant::now()).ok_or_else(gone)?;
    let done = app
        .given
        .spawn(async move { edits::apply(edit, &*objects.read().await).await });
    let done = done
        .await
        .map_err(|_| "the change may have been made; look at the object".to_owned())??;
    Ok(Json(json!({"done": done})))
}

/// Places of vehicles on the ground without a Drone; of all vehicles when there are none.
fn starts(fleet: &FleetSnapshot) -> Starts {
    let places = |of: &dyn Fn(&v1::Vehicle) -> bool| -> Starts {
        let chosen = fleet.vehicles.iter().filter(|vehicle| of(vehicle));
        chosen.filter_map(stands_at).collect()
    };
    let free = places(&|vehicle| vehicle.drone_name.is_empty() && Vehicle::from(vehicle.clone()).flying == Some(false));
    if free.is_empty() { places(&|_| true) } else { free }
}

fn stands_at(vehicle: &v1::Vehicle) -> Option<Wgs84> {
    let at = vehicle.report.as_ref()?.position.as_ref()?;
    let (latitude_deg, longitude_deg) = place(at.latitude_deg, at.longitude_deg)?;
    Some(Wgs84 {
        latitude_deg,
        longitude_deg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::yield_now;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn a_mission_that_takes_long_to_plan_is_refused_and_so_are_others_until_it_is_done() {
        let plans = Arc::new(Semaphore::new(CONCURRENT_PLANS));
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let long = Arc::clone(&plans);
        let long = tokio::spawn(async move { planned(&long, move || is_done.recv().is_ok()).await });
        let other = Arc::clone(&plans);
        let other = tokio::spawn(async move { planned(&other, || true).await });
        while plans.available_permits() > 0 {
            yield_now().await;
        }
        yield_now().await;
        advance(READ_TIMEOUT + Duration::from_millis(1)).await;
        let Refused(status, why) = other.await.unwrap().err().unwrap();
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(why, "another Mission is being planned; try again when it is done");
        advance(PLANNING_DEADLINE).await;
        let Refused(status, why) = long.await.unwrap().err().unwrap();
        assert_eq!(status, StatusCode::GATEWAY_TIMEOUT);
        assert!(why.contains("takes longer than 30 s; give it fewer corners"), "{why}");
        assert_eq!(plans.available_permits(), 0, "it goes on");
        done.send(()).unwrap();
        assert_eq!(planned(&plans, || 7).await.ok(), Some(7));
    }
}

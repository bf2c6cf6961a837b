//! The server of the map: admission, headers of every answer, and a feed of changes only.

use super::confirmations::Confirmations;
use super::document::{About, Documents};
use super::feed;
use super::guard::{CONTENT_SECURITY_POLICY, Guard};
use super::reading::ObjectsSnapshot;
use super::serve::{App, router};
use crate::live::clock::Now;
use crate::live::fleet_feed::FleetSnapshot;
use crate::route::Route;
use crate::vehicle::tests::{holding, pending};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode, header};
use base64::Engine as _;
use crds::Mission;
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

const HOST: &str = "127.0.0.1:4242";
const ORIGIN: &str = "http://127.0.0.1:4242";

struct Page {
    router: Router,
    guard: Arc<Guard>,
    token: String,
    documents: watch::Sender<Arc<feed::Edition>>,
    files: Arc<Semaphore>,
}

fn page() -> Page {
    let guard = Arc::new(Guard::new(4242));
    let first = json!({"vehicles": {"a": {"batteryPercent": 80, "mode": "GUIDED"}}});
    let documents = watch::Sender::new(Arc::new(feed::Edition::from(first)));
    let fleet = FleetSnapshot {
        vehicles: Arc::new(vec![holding("a"), holding("b")]),
        received: Some(Duration::from_secs(1000)),
        lost: None,
    };
    let files = Arc::new(Semaphore::new(super::files::CONCURRENT_READS));
    let app = App {
        route: Route::Plain("http://127.0.0.1:1".parse().unwrap()),
        documents: documents.clone(),
        fleet: watch::Sender::new(fleet).subscribe(),
        seen: watch::Sender::new(ObjectsSnapshot::default()).subscribe(),
        objects: Err("no kubeconfig is named".to_owned()),
        basemap: None,
        orders: Confirmations::default(),
        edits: Confirmations::default(),
        files: Arc::clone(&files),
        plans: Arc::new(Semaphore::new(super::serve::CONCURRENT_PLANS)),
        given: TaskTracker::new(),
        ending: CancellationToken::new(),
    };
    let token = guard.address().split_once("token=").unwrap().1.to_owned();
    Page {
        router: router(Arc::clone(&guard), Arc::new(app)),
        guard,
        token,
        documents,
        files,
    }
}

impl Page {
    async fn ask(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn enter(&self) -> String {
        let (status, answer) = self.post("", "/api/session", json!({"token": self.token})).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        format!("Bearer {}", answer["session"].as_str().unwrap())
    }

    async fn post(&self, session: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let request = Request::post(path)
            .header(header::HOST, HOST)
            .header(header::ORIGIN, ORIGIN)
            .header(header::AUTHORIZATION, session)
            .header(header::CONTENT_TYPE, "application/json");
        let answer = self.ask(request.body(Body::from(body.to_string())).unwrap()).await;
        let status = answer.status();
        (status, serde_json::from_slice(&text(answer).await).unwrap())
    }
}

fn get(path: &str) -> axum::http::request::Builder {
    Request::get(path).header(header::HOST, HOST)
}

async fn text(answer: Response<Body>) -> Vec<u8> {
    to_bytes(answer.into_body(), 64 << 20).await.unwrap().to_vec()
}

#[tokio::test]
async fn the_token_is_good_once_and_a_wrong_one_spends_nothing() {
    let page = page();
    for wrong in ["", "0", &page.token[1..]] {
        let (status, answer) = page.post("", "/api/session", json!({"token": wrong})).await;
        assert_eq!((status, &answer["session"]), (StatusCode::FORBIDDEN, &Value::Null));
    }
    // A query, unlike a fragment, reaches servers and their logs.
    let queried = get(&format!("/?token={}", page.token)).body(Body::empty()).unwrap();
    assert_eq!(page.ask(queried).await.headers().get(header::SET_COOKIE), None);
    let session = page.enter().await;
    let (status, answer) = page.post("", "/api/session", json!({"token": page.token})).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(answer["error"].as_str().unwrap().contains("run it again"), "{answer}");
    let feed = page
        .ask(
            get("/api/feed")
                .header(header::AUTHORIZATION, &session)
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!(feed.status(), StatusCode::OK);
    assert_eq!(feed.headers()[header::CONTENT_TYPE], "text/event-stream");
}

#[tokio::test]
async fn without_the_session_there_is_nothing_but_the_empty_page() {
    let page = page();
    let session = page.enter().await;
    let secret = session.strip_prefix("Bearer ").unwrap();
    for wrong in ["", "Bearer ", "Bearer 00", secret, &format!("Basic {secret}")] {
        for path in ["/basemap.pmtiles", "/api/feed", "/none"] {
            let asked = get(path)
                .header(header::AUTHORIZATION, wrong)
                .header(header::COOKIE, format!("skein-map-4242={secret}"));
            let answer = page.ask(asked.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path} {wrong}");
            assert!(
                String::from_utf8(text(answer).await)
                    .unwrap()
                    .contains("run `skein map`")
            );
        }
        let (status, _) = page
            .post(
                wrong,
                "/api/orders/preview",
                json!({"verb": "ground", "whom": [{"all": true}]}),
            )
            .await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
    }
    for path in ["/", "/assets/page.js"] {
        let answer = page.ask(get(path).body(Body::empty()).unwrap()).await;
        let built = map_page::file(if path == "/" { map_page::INDEX } else { &path[1..] });
        match built {
            Some(built) => assert_eq!(text(answer).await, built.bytes, "{path}"),
            None => assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}"),
        }
    }
    let post = Request::post("/")
        .header(header::HOST, HOST)
        .header(header::ORIGIN, ORIGIN);
    let answer = page.ask(post.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn another_host_gets_nothing_even_with_the_session_and_the_token() {
    let page = page();
    let exchange = |host: &str| {
        Request::post("/api/session")
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(json!({"token": page.token}).to_string()))
            .unwrap()
    };
    for host in [
        "evil.example",
        "evil.example:4242",
        "localhost:4242",
        "127.0.0.1",
        "127.0.0.1:80",
    ] {
        let request = Request::get("/").header(header::HOST, host);
        let answer = page.ask(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status(), StatusCode::MISDIRECTED_REQUEST, "{host}");
        assert_eq!(
            page.ask(exchange(host)).await.status(),
            StatusCode::MISDIRECTED_REQUEST,
            "{host}"
        );
    }
    assert_eq!(
        page.ask(exchange(HOST)).await.status(),
        StatusCode::FORBIDDEN,
        "without an Origin"
    );
    let session = page.enter().await;
    let rebound = Request::get("/api/feed")
        .header(header::HOST, "evil.example:4242")
        .header(header::AUTHORIZATION, &session);
    assert_eq!(
        page.ask(rebound.body(Body::empty()).unwrap()).await.status(),
        StatusCode::MISDIRECTED_REQUEST
    );
    let two = get("/api/feed")
        .header(header::HOST, "evil.example")
        .header(header::AUTHORIZATION, &session);
    assert_ne!(
        page.ask(two.body(Body::empty()).unwrap()).await.status(),
        StatusCode::OK
    );
    let none = Request::get("/api/feed").header(header::AUTHORIZATION, &session);
    assert_eq!(
        page.ask(none.body(Body::empty()).unwrap()).await.status(),
        StatusCode::MISDIRECTED_REQUEST
    );
}

#[tokio::test]
async fn requests_of_other_pages_get_nothing() {
    let page = page();
    let session = page.enter().await;
    for origin in [
        "http://evil.example",
        "null",
        "http://127.0.0.1:4243",
        "https://127.0.0.1:4242",
    ] {
        let request = get("/api/feed")
            .header(header::AUTHORIZATION, &session)
            .header(header::ORIGIN, origin);
        let answer = page.ask(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{origin}");
        assert!(answer.headers().get(header::ACCESS_CONTROL_ALLOW_ORIGIN).is_none());
    }
    for site in ["cross-site", "same-site"] {
        let request = get("/")
            .header(header::AUTHORIZATION, &session)
            .header("sec-fetch-site", site);
        assert_eq!(
            page.ask(request.body(Body::empty()).unwrap()).await.status(),
            StatusCode::FORBIDDEN
        );
    }
    // An old browser sends no Origin with a form.
    let form = Request::post("/api/orders")
        .header(header::HOST, HOST)
        .header(header::AUTHORIZATION, &session);
    assert_eq!(
        page.ask(form.body(Body::empty()).unwrap()).await.status(),
        StatusCode::FORBIDDEN
    );
}

async fn of_browser(page: &Page, path: &str, site: &str, mode: &str, dest: &str) -> StatusCode {
    let request = get(path)
        .header("sec-fetch-site", site)
        .header("sec-fetch-mode", mode)
        .header("sec-fetch-dest", dest);
    page.ask(request.body(Body::empty()).unwrap()).await.status()
}

#[tokio::test]
async fn a_file_leads_a_browser_to_the_page_with_the_door_key_and_to_nothing_else() {
    let page = page();
    let address = page.guard.address_from_a_file();
    let (path, token) = address.strip_prefix(ORIGIN).unwrap().split_once('#').unwrap();
    assert_eq!(token, format!("token={}", page.token));
    assert!(!path.contains(&page.token), "a browser sends the path to the server");
    // A build may lack the page.
    let given = |status: StatusCode| status == StatusCode::OK || status == StatusCode::NOT_FOUND;
    assert!(given(
        of_browser(&page, path, "cross-site", "navigate", "document").await
    ));
    assert!(given(of_browser(&page, "/", "none", "navigate", "document").await));
    for (path, mode, dest) in [
        ("/", "navigate", "document"),
        ("/?door=0", "navigate", "document"),
        ("/?door=", "navigate", "document"),
        (path, "navigate", "iframe"),
        (path, "no-cors", "image"),
        (path, "cors", "empty"),
    ] {
        let status = of_browser(&page, path, "cross-site", mode, dest).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path} {mode} {dest}");
    }
    let door = path.trim_start_matches('/');
    for other in ["/api/feed", "/assets/page.js", "/basemap.pmtiles"] {
        let status = of_browser(&page, &format!("{other}{door}"), "cross-site", "navigate", "document").await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{other}");
    }
}

#[tokio::test]
async fn the_token_is_known_to_be_used_once_it_was() {
    let page = page();
    let used = page.guard.used();
    let (status, _) = page.post("", "/api/session", json!({"token": "0"})).await;
    assert_eq!((status, used.is_cancelled()), (StatusCode::FORBIDDEN, false));
    page.enter().await;
    assert!(used.is_cancelled());
}

#[tokio::test]
async fn every_answer_says_what_a_browser_may_do_with_it() {
    let page = page();
    let session = page.enter().await;
    for (path, session) in [
        ("/", ""),
        ("/", session.as_str()),
        ("/none", &session),
        ("/api/feed", &session),
        ("/?token=0", ""),
    ] {
        let answer = page
            .ask(
                get(path)
                    .header(header::AUTHORIZATION, session)
                    .body(Body::empty())
                    .unwrap(),
            )
            .await;
        let headers = answer.headers();
        assert_eq!(
            headers[header::CONTENT_SECURITY_POLICY],
            CONTENT_SECURITY_POLICY,
            "{path}"
        );
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[header::CACHE_CONTROL], "no-store");
        assert_eq!(headers.get(header::SET_COOKIE), None);
        assert_eq!(headers[header::REFERRER_POLICY], "no-referrer");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
    }
    assert!(CONTENT_SECURITY_POLICY.starts_with("default-src 'none'; script-src 'self'; "));
    assert!(!CONTENT_SECURITY_POLICY.contains("unsafe") && !CONTENT_SECURITY_POLICY.contains("http"));
}

#[tokio::test]
async fn a_page_gets_the_whole_once_and_then_what_changed() {
    let page = page();
    let session = page.enter().await;
    let feed = page
        .ask(
            get("/api/feed")
                .header(header::AUTHORIZATION, &session)
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    let mut events = feed.into_body().into_data_stream();
    let mut next = async || String::from_utf8(events.next().await.unwrap().unwrap().to_vec()).unwrap();
    let first = next().await;
    assert!(
        first.starts_with("event: snapshot\ndata: {") && first.contains("\"GUIDED\""),
        "{first}"
    );
    let send = |document: Value| page.documents.send_replace(Arc::new(document.into()));
    send(json!({"vehicles": {"a": {"batteryPercent": 79, "mode": "GUIDED"}}}));
    assert_eq!(
        next().await,
        "event: changes\ndata: {\"vehicles\":{\"a\":{\"batteryPercent\":79}}}\n\n"
    );
    // A slow page gets both at once.
    send(json!({"vehicles": {"a": {"batteryPercent": 78, "mode": "GUIDED"}}}));
    send(json!({"vehicles": {"a": {"batteryPercent": 78}}}));
    assert_eq!(
        next().await,
        "event: changes\ndata: {\"vehicles\":{\"a\":{\"batteryPercent\":78,\"mode\":null}}}\n\n"
    );
}

#[test]
fn of_a_fleet_in_which_one_vehicle_moves_only_that_is_sent() {
    let now = |seconds| Now {
        elapsed: Duration::from_secs(1000 + seconds),
        utc: jiff::Timestamp::from_second(1_764_000_000 + i64::try_from(seconds).unwrap()).unwrap(),
    };
    let fleet = |seconds: u64, latitude_deg: f64| {
        let mut vehicles = vec![holding("a"), holding("b"), pending("c")];
        for vehicle in &mut vehicles {
            let Some(report) = &mut vehicle.report else { continue };
            (report.made_ms, report.position_ms, report.battery_ms) =
                (seconds * 1000, Some(seconds * 1000), Some(seconds * 1000));
        }
        vehicles[0]
            .report
            .as_mut()
            .unwrap()
            .position
            .as_mut()
            .unwrap()
            .latitude_deg = latitude_deg;
        let received = Some(now(seconds).elapsed);
        FleetSnapshot {
            vehicles: Arc::new(vehicles),
            received,
            lost: None,
        }
    };
    let (mut documents, objects) = (Documents::new(About::default()), ObjectsSnapshot::default());
    let first = documents.next(&fleet(1, 47.0), &objects, now(1));
    assert_eq!(first["vehicles"].as_object().unwrap().len(), 3);
    let second = documents.next(&fleet(2, 47.0), &objects, now(2));
    assert_eq!(second["vehicles"]["drone/default/a"]["speedMetersPerSecond"], 0.0);
    let third = documents.next(&fleet(3, 47.0), &objects, now(3));
    assert_eq!(feed::patch(&second, &third), None, "new reports that say the same");
    let moved = documents.next(&fleet(4, 47.000_1), &objects, now(4));
    let patch = feed::patch(&third, &moved).unwrap();
    let changed: Vec<&String> = patch["vehicles"]["drone/default/a"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(changed, ["courseDegrees", "latitudeDegrees", "speedMetersPerSecond"]);
    assert_eq!(
        patch.as_object().unwrap().len() + patch["vehicles"].as_object().unwrap().len(),
        2,
        "{patch}"
    );
}

/// Six, more than the pool keeps of a namespace.
fn surveys(version: u32, spacing: f64) -> ObjectsSnapshot {
    let corner = |number: u32| {
        let (east, north) = (f64::from(number) / 40.0 * std::f64::consts::TAU).sin_cos();
        json!({"latitudeDegrees": 47.4 + 0.002 * north, "longitudeDegrees": 8.5 + 0.002 * east})
    };
    let polygon: Vec<Value> = (0..40).map(corner).collect();
    let mission = |number: u32| {
        let spacing = spacing + f64::from(number);
        let survey = json!({"area": {"polygon": polygon}, "lineSpacingMeters": spacing, "altitudeMeters": 30.0});
        let spec = serde_json::from_value(json!({"survey": survey})).unwrap();
        let mut mission = Mission::new(&format!("field-{number}"), spec);
        mission.metadata.namespace = Some("default".to_owned());
        mission.metadata.uid = Some(number.to_string());
        mission.metadata.resource_version = Some(version.to_string());
        mission
    };
    let missions = (0..6).map(mission).collect();
    let mut objects = ObjectsSnapshot::default();
    objects.missions.note(Ok(Arc::new(missions)), Duration::ZERO);
    objects
}

#[test]
fn the_feed_goes_on_while_surveys_are_planned_and_none_is_planned_again_for_its_status() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    // The only thread that plans.
    let runtime = runtime.max_blocking_threads(1).build().unwrap();
    let _inside = runtime.enter();
    let busy = || {
        let (free, is_free) = std::sync::mpsc::channel::<()>();
        runtime.spawn_blocking(move || is_free.recv().is_ok());
        free
    };
    let now = Now {
        elapsed: Duration::from_secs(1000),
        utc: jiff::Timestamp::from_second(1_764_000_000).unwrap(),
    };
    let mut documents = Documents::new(About::default());
    let mut shown = |version: u32, spacing: f64| {
        let document = documents.next(&FleetSnapshot::default(), &surveys(version, spacing), now);
        let missions = document["missions"].as_object().unwrap();
        let with = |what: &str| missions.values().filter(|mission| mission.get(what).is_some()).count();
        (with("area"), with("path"))
    };
    let planner = busy();
    assert_eq!(shown(1, 20.0), (6, 0), "areas without their lines");
    drop(planner);
    runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
    assert_eq!(shown(1, 20.0), (6, 6), "a later document has them");
    let planner = busy();
    assert_eq!(shown(2, 20.0), (6, 6), "as planned before");
    assert_eq!(shown(3, 30.0), (6, 0), "other lines are planned anew");
    drop(planner);
}

#[tokio::test]
async fn an_order_is_shown_first_and_given_once() {
    let page = page();
    let session = page.enter().await;
    let asked = json!({"verb": "ground", "whom": [{"swarm": "default/alpha"}]});
    let (status, shown) = page.post(&session, "/api/orders/preview", asked).await;
    assert_eq!(
        (status, shown["concerns"].as_array().unwrap().len()),
        (StatusCode::OK, 2),
        "{shown}"
    );
    let (status, answer) = page
        .post(&session, "/api/orders", json!({"confirm": shown["confirm"]}))
        .await;
    assert_eq!(
        (status, &answer["answers"][0]["done"]),
        (StatusCode::OK, &json!(false)),
        "{answer}"
    );
    let (status, answer) = page
        .post(&session, "/api/orders", json!({"confirm": shown["confirm"]}))
        .await;
    assert_eq!(status, StatusCode::GONE, "{answer}");
    let (status, answer) = page
        .post(
            &session,
            "/api/objects/preview",
            json!({"geofence": {"name": "a", "spec": {}}}),
        )
        .await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer["error"].as_str().unwrap().contains("no kubeconfig is named"));
}

#[tokio::test]
async fn a_body_is_json_and_has_a_bound() {
    let page = page();
    let session = page.enter().await;
    let post = |media_type: &str, body: Body| {
        Request::post("/api/orders/preview")
            .header(header::HOST, HOST)
            .header(header::ORIGIN, ORIGIN)
            .header(header::AUTHORIZATION, &session)
            .header(header::CONTENT_TYPE, media_type)
            .body(body)
            .unwrap()
    };
    let text_plain = page.ask(post("text/plain", Body::from("{}"))).await;
    assert_eq!(text_plain.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let large = page
        .ask(post("application/json", Body::from(vec![b' '; 256 * 1024 + 1])))
        .await;
    assert_eq!(large.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let wrong = page.ask(post("application/json", Body::from("{}"))).await;
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_file_is_read_for_the_session_only_and_makes_nothing() {
    let page = page();
    let session = page.enter().await;
    let field = base64::prelude::BASE64_STANDARD.encode(
        r#"{"type": "Polygon", "coordinates": [[[8.5456, 47.3977], [8.5476, 47.3977], [8.5476, 47.3987], [8.5456, 47.3977]]]}"#,
    );
    let file = json!({"name": "field.geojson", "content": field, "areas": {"survey": {"altitudeMeters": 40, "spacingMeters": 20}}});
    for wrong in ["", "Bearer 00"] {
        let (status, answer) = page.post(wrong, "/api/files", file.clone()).await;
        assert_eq!((status, &answer["objects"]), (StatusCode::UNAUTHORIZED, &Value::Null));
    }
    let (status, shown) = page.post(&session, "/api/files", file.clone()).await;
    assert_eq!(status, StatusCode::OK, "{shown}");
    assert_eq!(
        (&shown["kind"], &shown["objects"][0]["name"], &shown["confirm"]),
        (&json!("GeoJSON"), &json!("field"), &Value::Null)
    );
    let (status, answer) = page
        .post(&session, "/api/files", json!({"name": "a.plan", "content": "e30="}))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    assert!(
        answer["error"]
            .as_str()
            .unwrap()
            .contains("of no kind that Skein reads"),
        "{answer}"
    );
    let (status, _) = page
        .post(
            &session,
            "/api/files",
            json!({"name": "a", "content": "", "write": true}),
        )
        .await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let large = "A".repeat(super::files::MAX_BODY_BYTES);
    let (status, _) = page
        .post(&session, "/api/files", json!({"name": "a", "content": large}))
        .await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_field_is_planned_from_where_vehicles_are_while_all_of_them_fly() {
    let page = page();
    let session = page.enter().await;
    let fiji = r#"{"type": "Polygon", "coordinates": [[[177.44, -17.75], [177.442, -17.75], [177.442, -17.749], [177.44, -17.75]]]}"#;
    let content = base64::prelude::BASE64_STANDARD.encode(fiji);
    let file = json!({"name": "fiji.geojson", "content": content, "areas": {"survey": {"altitudeMeters": 40, "spacingMeters": 20}}});
    let (_, shown) = page.post(&session, "/api/files", file).await;
    let said = shown["said"].to_string();
    assert!(
        said.contains("fiji cannot be flown so") && said.contains("farther than 20 km"),
        "{shown}"
    );
}

#[tokio::test(start_paused = true)]
async fn more_files_than_are_read_at_a_time_wait_and_are_told_so() {
    let page = page();
    let session = page.enter().await;
    let busy = Arc::clone(&page.files);
    let seats = busy
        .acquire_many(u32::try_from(super::files::CONCURRENT_READS).unwrap())
        .await
        .unwrap();
    let file = json!({"name": "a.plan", "content": "e30="});
    let (status, answer) = page.post(&session, "/api/files", file.clone()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{answer}");
    drop(seats);
    let (status, _) = page.post(&session, "/api/files", file).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
}

/// Another program of this host listens at another port, and the browser opens it. Cookies belong to all ports of a
/// host (RFC 6265, section 8.5), so it is sent all that the map has set.
#[tokio::test]
async fn another_program_of_this_machine_is_sent_nothing_that_opens_the_map() {
    let page = page();
    let token = json!({"token": page.token}).to_string();
    let visits = [
        get("/").body(Body::empty()),
        get(&format!("/?token={}", page.token)).body(Body::empty()),
        Request::post("/api/session")
            .header(header::HOST, HOST)
            .header(header::ORIGIN, ORIGIN)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(token)),
    ];
    let mut cookies = Vec::new();
    for visit in visits {
        let answer = page.ask(visit.unwrap()).await;
        for cookie in answer.headers().get_all(header::SET_COOKIE) {
            cookies.push(cookie.to_str().unwrap().split(';').next().unwrap().to_owned());
        }
    }
    let stolen = get("/api/feed")
        .header(header::ORIGIN, ORIGIN)
        .header("sec-fetch-site", "same-origin")
        .header(header::COOKIE, cookies.join("; "));
    let answer = page.ask(stolen.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{cookies:?}");
    assert_eq!(cookies, Vec::<String>::new());
}

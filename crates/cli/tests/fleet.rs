//! The program `skein` against a scripted coordinator, over real gRPC on loopback: texts, exit codes and outputs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proto::v1;
use proto::v1::fleet_server::{Fleet, FleetServer};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::WatchStream;
use tonic::{Request, Response, Status};

struct Script {
    fleet: watch::Sender<Result<Vec<v1::Vehicle>, Status>>,
    orders: Mutex<Vec<(&'static str, v1::ground_request::Target)>>,
    refuse_orders: Option<Status>,
    calls: Mutex<Vec<String>>,
}

type Watched = std::pin::Pin<Box<dyn tokio_stream::Stream<Item = Result<v1::ListResponse, Status>> + Send>>;

impl Script {
    fn drone(&self, namespace: &str, name: &str) -> Result<v1::Vehicle, Status> {
        let fleet = self.fleet.borrow().clone()?;
        let found = fleet
            .into_iter()
            .find(|v| v.drone_namespace == namespace && v.drone_name == name);
        found.ok_or_else(|| Status::not_found(format!("there is no Drone {namespace}/{name}")))
    }

    fn record(&self, call: &str, selector: &str, namespace: &str) {
        if !selector.is_empty() {
            let calls = format!("{call} {selector} in {namespace}");
            self.calls.lock().unwrap().push(calls);
        }
    }

    fn order(&self, verb: &'static str, request: v1::GroundRequest) -> Result<Response<v1::GroundResponse>, Status> {
        let target = request.target.ok_or_else(|| Status::invalid_argument("no target"))?;
        if let Some(refusal) = &self.refuse_orders {
            return Err(refusal.clone());
        }
        if matches!(&target, v1::ground_request::Target::Swarm(s) if s.name != "alpha") {
            return Err(Status::not_found("no such Swarm"));
        }
        let mut answer = v1::GroundResponse {
            drones: 2,
            agents_told: 1,
            ..v1::GroundResponse::default()
        };
        if let v1::ground_request::Target::Selector(wanted) = &target {
            let object = |name: &str| v1::ObjectName {
                kind: "Swarm".into(),
                namespace: "field".into(),
                name: name.into(),
            };
            match wanted.selector.as_str() {
                "team=violet" => return Err(Status::not_found("nothing has labels that match; nothing was done")),
                "team!=red" => answer.not_done.push(v1::NotDone {
                    object: Some(object("bravo")),
                    why: "you may not".into(),
                }),
                _ => {}
            }
            answer.done.push(object("alpha"));
        }
        self.orders.lock().unwrap().push((verb, target));
        Ok(Response::new(answer))
    }
}

struct Coordinator(Arc<Script>);

#[tonic::async_trait]
impl Fleet for Coordinator {
    async fn logs(&self, _: Request<v1::LogsRequest>) -> Result<Response<v1::LogAnswer>, Status> {
        Err(Status::unimplemented("no logs here"))
    }

    async fn list(&self, request: Request<v1::ListRequest>) -> Result<Response<v1::ListResponse>, Status> {
        assert!(
            request.metadata().contains_key("grpc-timeout"),
            "a call without a deadline"
        );
        let v1::ListRequest {
            namespace, selector, ..
        } = request.into_inner();
        self.0.record("list", &selector, &namespace);
        let mut vehicles = self.0.fleet.borrow().clone()?;
        vehicles.retain(|v| namespace.is_empty() || v.drone_namespace == namespace);
        if let Some(mission) = selector.strip_prefix("skein.dev/mission=") {
            vehicles.retain(|v| v.drone_name.starts_with(&format!("{mission}-")));
        }
        Ok(Response::new(v1::ListResponse { vehicles }))
    }

    async fn get(&self, request: Request<v1::GetRequest>) -> Result<Response<v1::Vehicle>, Status> {
        let record = request.into_inner();
        self.0.drone(&record.namespace, &record.name).map(Response::new)
    }

    async fn resume(&self, request: Request<v1::ResumeRequest>) -> Result<Response<v1::ResumeResponse>, Status> {
        assert!(
            request.metadata().contains_key("grpc-timeout"),
            "a call without a deadline"
        );
        let record = request.into_inner();
        let vehicle = Some(self.0.drone(&record.namespace, &record.name)?);
        self.0.calls.lock().unwrap().push(format!("resume {}", record.name));
        Ok(Response::new(v1::ResumeResponse {
            takeovers: 1,
            vehicle,
            stood_down: None,
        }))
    }

    async fn kill(&self, request: Request<v1::KillRequest>) -> Result<Response<v1::KillResponse>, Status> {
        use v1::kill_response::Step;
        assert!(
            request.metadata().contains_key("grpc-timeout"),
            "a call without a deadline"
        );
        let record = request.into_inner();
        let vehicle = Some(self.0.drone(&record.namespace, &record.name)?);
        let mut calls = self.0.calls.lock().unwrap();
        let step = if record.code.is_empty() {
            calls.push("offer".into());
            let code = format!("code {}", calls.len());
            let lives_ms = 15_000;
            Step::Offer(v1::KillOffer { code, lives_ms })
        } else {
            if record.code != format!("code {}", calls.len()) {
                return Err(Status::failed_precondition("the code is not valid"));
            }
            calls.push(format!("kill {}", record.name));
            self.0.fleet.send_modify(|fleet| {
                for vehicle in fleet
                    .as_mut()
                    .unwrap()
                    .iter_mut()
                    .filter(|v| v.drone_name == record.name)
                {
                    vehicle.report.as_mut().unwrap().truth = v1::FlightTruth::Disarmed.into();
                }
            });
            let outcome = v1::KillOutcome::Accepted.into();
            Step::Answer(v1::KillAnswer {
                outcome,
                ..v1::KillAnswer::default()
            })
        };
        Ok(Response::new(v1::KillResponse {
            vehicle,
            step: Some(step),
        }))
    }

    type WatchStream = Watched;

    async fn watch(&self, request: Request<v1::WatchRequest>) -> Result<Response<Watched>, Status> {
        let record = request.into_inner();
        self.0.record("watch", &record.selector, &record.namespace);
        let fleet = WatchStream::new(self.0.fleet.subscribe());
        let answers = fleet.map(|fleet| fleet.map(|vehicles| v1::ListResponse { vehicles }));
        Ok(Response::new(Box::pin(answers)))
    }

    async fn ground(&self, request: Request<v1::GroundRequest>) -> Result<Response<v1::GroundResponse>, Status> {
        assert!(
            request.metadata().contains_key("grpc-timeout"),
            "a call without a deadline"
        );
        self.0.order("ground", request.into_inner())
    }

    async fn release(&self, request: Request<v1::GroundRequest>) -> Result<Response<v1::GroundResponse>, Status> {
        self.0.order("release", request.into_inner())
    }
}

struct Running {
    script: Arc<Script>,
    url: String,
    runtime: tokio::runtime::Runtime,
}

fn coordinator(fleet: Vec<v1::Vehicle>) -> Running {
    scripted(Ok(fleet), None)
}

fn scripted(fleet: Result<Vec<v1::Vehicle>, Status>, refuse_orders: Option<Status>) -> Running {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fleet = watch::Sender::new(fleet);
    let script = Arc::new(Script {
        fleet,
        orders: Mutex::default(),
        refuse_orders,
        calls: Mutex::default(),
    });
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let service = FleetServer::new(Coordinator(Arc::clone(&script)));
    let incoming = tonic::transport::server::TcpIncoming::from(listener);
    runtime.spawn(
        tonic::transport::Server::builder()
            .add_service(service)
            .serve_with_incoming(incoming),
    );
    Running { script, url, runtime }
}

impl Running {
    fn skein(&self, args: &[&str]) -> Output {
        skein(&self.url, args)
    }

    fn now(&self, fleet: Vec<v1::Vehicle>) {
        let _ = self.script.fleet.send_replace(Ok(fleet));
    }

    fn orders(&self) -> Vec<(&'static str, v1::ground_request::Target)> {
        self.script.orders.lock().unwrap().clone()
    }
}

fn command(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skein"));
    command.args(args).env("SKEIN_SERVER", url).env_remove("NO_COLOR");
    command
}

fn skein(url: &str, args: &[&str]) -> Output {
    command(url, args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn vehicle(namespace: &str, name: &str, swarm: &str, phase: &str) -> v1::Vehicle {
    v1::Vehicle {
        drone_namespace: namespace.into(),
        drone_name: name.into(),
        swarm: swarm.into(),
        node: format!("node-{name}"),
        phase: phase.into(),
        message: format!("it is {phase}"),
        agent_connected: true,
        report_age_ms: 10,
        report: Some(v1::Report {
            truth: v1::FlightTruth::InAir.into(),
            ..v1::Report::default()
        }),
        ..v1::Vehicle::default()
    }
}

fn two() -> Vec<v1::Vehicle> {
    vec![
        vehicle("default", "goose", "alpha", "Flying"),
        vehicle("field", "crane", "bravo", "Landing"),
    ]
}

#[test]
fn status_shows_the_fleet_of_all_namespaces_and_filters_it() {
    let coordinator = coordinator(two());
    let all = coordinator.skein(&["status"]);
    assert_eq!((all.status.code(), stderr(&all).as_str()), (Some(0), ""));
    let text = stdout(&all);
    assert!(
        text.contains("default     goose") && text.contains("field       crane"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "colors in a pipe: {text:?}");
    let one = |args: &[&str]| stdout(&coordinator.skein(&[&["status", "-o", "name"], args].concat()));
    assert_eq!(one(&[]), "drone.skein.dev/goose\ndrone.skein.dev/crane\n");
    assert_eq!(one(&["-n", "field"]), "drone.skein.dev/crane\n");
    assert_eq!(one(&["--swarm", "alpha"]), "drone.skein.dev/goose\n");
}

#[test]
fn status_as_json_can_be_read_by_programs() {
    let coordinator = coordinator(two());
    let tree: serde_json::Value = serde_json::from_str(&stdout(&coordinator.skein(&["status", "-o", "json"]))).unwrap();
    assert_eq!(tree["vehicles"][0]["drone"], "goose");
    assert_eq!(tree["vehicles"][0]["flying"], true);
    assert_eq!(tree["vehicles"].as_array().unwrap().len(), 2);
}

#[test]
fn an_empty_fleet_is_no_failure_and_nothing_on_standard_output() {
    let coordinator = coordinator(Vec::new());
    let output = coordinator.skein(&["status"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""));
    assert_eq!(stderr(&output), "No Drones, and no agent is connected.\n");
}

#[test]
fn a_missing_coordinator_is_exit_code_3_with_what_to_do() {
    for args in [&["status"][..], &["watch"], &["ground", "--all"], &["release", "alpha"]] {
        // Nothing listens at port 1.
        let output = skein("http://127.0.0.1:1", args);
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        let text = stderr(&output);
        assert!(
            text.contains("http://127.0.0.1:1: connection refused; does a coordinator run there?"),
            "{text}"
        );
        assert!(text.contains("Correct --server (or SKEIN_SERVER)"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn a_server_that_never_speaks_is_given_up_in_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let start = Instant::now();
    let output = skein(&format!("http://{}", silent.local_addr().unwrap()), &["status"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
}

#[test]
fn a_starting_coordinator_is_exit_code_3_with_its_own_message() {
    let not_yet = Status::unavailable("it does not know the fleet yet");
    let coordinator = scripted(Err(not_yet.clone()), Some(not_yet));
    for args in [&["status"][..], &["ground", "--all"]] {
        let output = coordinator.skein(args);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(
            text.starts_with("skein: it does not know the fleet yet (the coordinator at http://127.0.0.1:"),
            "{text}"
        );
    }
}

#[test]
fn ground_and_release_give_the_order_once_and_say_what_was_done() {
    let coordinator = coordinator(two());
    let ground = coordinator.skein(&["ground", "alpha", "-n", "field"]);
    assert_eq!(ground.status.code(), Some(0), "{}", stderr(&ground));
    assert!(
        stdout(&ground).starts_with("Ground order given to Swarm field/alpha: 2 Drones, 1 connected agent notified.")
    );
    assert_eq!(coordinator.skein(&["ground", "--all"]).status.code(), Some(0));
    let release = coordinator.skein(&["release", "alpha"]);
    assert!(
        stdout(&release).starts_with("No ground order holds Swarm default/alpha any more"),
        "{}",
        stdout(&release)
    );
    let alpha = |namespace: &str| {
        v1::ground_request::Target::Swarm(v1::SwarmTarget {
            namespace: namespace.into(),
            name: "alpha".into(),
        })
    };
    let all = v1::ground_request::Target::All(v1::All {});
    assert_eq!(
        coordinator.orders(),
        [
            ("ground", alpha("field")),
            ("ground", all),
            ("release", alpha("default"))
        ]
    );
}

#[test]
fn a_selector_is_passed_on_unchanged_and_its_answer_is_printed() {
    let coordinator = coordinator(two());
    let ground = coordinator.skein(&["ground", "-l", "team in (red, blue)", "-n", "field"]);
    assert_eq!(ground.status.code(), Some(0), "{}", stderr(&ground));
    let output = stdout(&ground);
    assert!(
        output.starts_with("Ground order given to Swarm field/alpha: 2 Drones, 1 connected agent notified."),
        "{output}"
    );
    assert_eq!(
        coordinator
            .skein(&["-n", "field", "release", "-l", "team"])
            .status
            .code(),
        Some(0)
    );
    assert_eq!(coordinator.skein(&["release", "-l", "team"]).status.code(), Some(0));
    let selector = |selector: &str, namespace: &str| {
        v1::ground_request::Target::Selector(v1::SelectorTarget {
            selector: selector.into(),
            namespace: namespace.into(),
        })
    };
    assert_eq!(
        coordinator.orders(),
        [
            ("ground", selector("team in (red, blue)", "field")),
            ("release", selector("team", "field")),
            ("release", selector("team", "")),
        ]
    );
    // Neither an empty selection nor a partial order looks like success.
    let nothing = coordinator.skein(&["ground", "-l", "team=violet"]);
    assert_eq!(
        (nothing.status.code(), stderr(&nothing).as_str()),
        (
            Some(1),
            "skein: -l 'team=violet': nothing has labels that match; nothing was done\n"
        )
    );
    let partly = coordinator.skein(&["release", "-l", "team!=red"]);
    assert_eq!(partly.status.code(), Some(1));
    assert!(stdout(&partly).starts_with("No ground order holds Swarm field/alpha any more"));
    assert_eq!(
        stderr(&partly),
        "skein: 1 of what is selected NOT released: Swarm field/bravo: you may not\n"
    );
}

#[test]
fn status_and_watch_ask_for_what_a_selector_selects() {
    let coordinator = coordinator(two());
    let all = coordinator.skein(&["status", "-l", "team=red", "-n", "field", "-o", "name"]);
    assert_eq!(stdout(&all), "drone.skein.dev/crane\n");
    let watching = Watching::start(&coordinator.url, &["-l", "!team"]);
    let _ = watching.next();
    assert_eq!(
        *coordinator.script.calls.lock().unwrap(),
        ["list team=red in field", "watch !team in "]
    );
    let nobody = coordinator.skein(&["status", "-l", "team=violet", "-n", "nowhere"]);
    assert_eq!(
        (nobody.status.code(), stderr(&nobody).as_str()),
        (Some(0), "No such Drones.\n")
    );
}

#[test]
fn resume_says_what_was_done_and_a_drone_that_is_not_there_is_exit_code_1() {
    let coordinator = coordinator(two());
    let resume = coordinator.skein(&["resume", "crane", "-n", "field"]);
    assert_eq!(resume.status.code(), Some(0), "{}", stderr(&resume));
    assert!(stdout(&resume).starts_with("Drone field/crane goes on after 1 takeover."));
    assert_eq!(*coordinator.script.calls.lock().unwrap(), ["resume crane"]);
    let nobody = coordinator.skein(&["resume", "crane"]);
    assert_eq!(
        (nobody.status.code(), stderr(&nobody).as_str()),
        (Some(1), "skein: there is no Drone default/crane\n")
    );
}

#[test]
fn a_script_stops_motors_only_with_both_flags_and_the_right_name() {
    let coordinator = coordinator(two());
    let kill = |more: &[&str]| {
        let mut line = command(&coordinator.url, &[&["kill", "goose"], more].concat());
        line.stdin(Stdio::null()).output().unwrap()
    };
    for refused in [
        &[][..],
        &["--yes-stop-the-motors"],
        &["--confirm", "goose"],
        &["--confirm", "gander", "--yes-stop-the-motors"],
    ] {
        let output = kill(refused);
        assert_eq!(output.status.code(), Some(2), "{refused:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("nothing was done"), "{refused:?}");
    }
    assert!(
        coordinator.script.calls.lock().unwrap().is_empty(),
        "the coordinator was not even asked"
    );
    let done = kill(&["--confirm", "goose", "--yes-stop-the-motors"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let output = stdout(&done);
    assert!(
        output.contains("IT WILL FALL") && output.contains("The autopilot accepted it."),
        "{output}"
    );
    assert!(output.contains("its motors are off"), "{output}");
    assert_eq!(
        *coordinator.script.calls.lock().unwrap(),
        ["offer", "offer", "kill goose"],
        "once"
    );
}

#[test]
fn an_unknown_swarm_is_exit_code_1_and_those_that_exist_are_listed() {
    let coordinator = coordinator(two());
    let output = coordinator.skein(&["ground", "alhpa"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "skein: there is no Swarm default/alhpa; nothing was done. Swarms with Drones: default/alpha, field/bravo\n"
    );
    assert!(coordinator.orders().is_empty());
}

#[test]
fn one_who_names_a_mission_is_told_how_its_drones_are_named() {
    let mut fleet = two();
    fleet[0].drone_namespace = "field".into();
    fleet[0].drone_name = "survey-0".into();
    let coordinator = coordinator(fleet);
    for verb in ["ground", "release"] {
        let output = coordinator.skein(&[verb, "field/survey"]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            stderr(&output),
            format!(
                "skein: there is no Swarm field/survey; nothing was done. Mission field/survey flies 1 Drone: give the order to its \
                 Drones with `skein {verb} -l 'skein.dev/mission=survey' -n field`\n"
            )
        );
    }
    assert!(coordinator.orders().is_empty());
}

#[test]
fn a_ground_order_that_was_not_recorded_fails_with_the_coordinators_message() {
    let calls = "2 agents were notified, but the order could not be written to Kubernetes and is being tried again";
    let coordinator = scripted(Ok(two()), Some(Status::unavailable(calls)));
    let output = coordinator.skein(&["ground", "alpha"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), format!("skein: {calls}\n"));
}

#[test]
fn a_command_line_that_makes_no_sense_is_exit_code_2() {
    for args in [
        &["fly"][..],
        &[],
        &["ground"],
        &["ground", "alpha", "--all"],
        &["ground", "alpha", "-l", "team=red"],
        &["ground", "-l", ""],
        &["release", "-l", "team=red", "--all"],
        &["-n", "field", "ground", "-A", "-l", "team=red"],
        &["status", "-l", "team=red=blue"],
        &["ground", "field/alpha", "-n", "other"],
        &["resume"],
        &["kill", "--all"],
        &["kill", "field/goose", "-n", "other"],
        &["status", "-o", "yaml"],
        &["status", "--server", "ftp://a:1"],
        &["status", "-A", "-n", "field"],
    ] {
        let output = skein("http://127.0.0.1:1", args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn each_shell_gets_its_completion() {
    for shell in ["bash", "zsh", "fish"] {
        let output = skein("http://127.0.0.1:1", &["completion", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains("ground"), "{shell}");
    }
}

struct Watching {
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Watching {
    fn start(url: &str, args: &[&str]) -> Self {
        let mut child = command(url, &[&["watch"], args].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tx, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tx.send(line)));
        Self { child, lines }
    }

    /// Without its time.
    fn next(&self) -> String {
        let line = self.lines.recv_timeout(Duration::from_secs(30)).unwrap();
        line.split_once(' ').unwrap().1.to_owned()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn watch_prints_a_line_for_each_change() {
    let coordinator = coordinator(vec![vehicle("default", "goose", "alpha", "TakingOff")]);
    let watching = Watching::start(&coordinator.url, &[]);
    assert_eq!(
        watching.next(),
        "default/goose: TakingOff on node-goose, flying: yes (it is TakingOff)"
    );
    coordinator.now(two());
    assert_eq!(watching.next(), "default/goose: TakingOff -> Flying (it is Flying)");
    assert_eq!(
        watching.next(),
        "field/crane: Landing on node-crane, flying: yes (it is Landing)"
    );
    coordinator.now(two().split_off(1));
    assert_eq!(watching.next(), "default/goose: gone");
}

#[test]
fn watch_ends_well_on_ctrl_c_and_on_a_polite_kill() {
    let coordinator = coordinator(two());
    for signal in ["-INT", "-TERM"] {
        let mut watching = Watching::start(&coordinator.url, &[]);
        let _ = watching.next();
        let sent = Command::new("kill")
            .args([signal, &watching.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        assert_eq!(watching.child.wait().unwrap().code(), Some(0), "{signal}");
    }
}

#[test]
fn watch_outlives_a_coordinator_and_reports_its_absence() {
    let first = coordinator(two());
    let port = first.url.clone();
    let watching = Watching::start(&first.url, &[]);
    let _ = (watching.next(), watching.next());
    let script = Arc::clone(&first.script);
    first.runtime.shutdown_timeout(Duration::from_secs(5));
    assert!(watching.next().starts_with("lost the coordinator ("));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind(port.trim_start_matches("http://")))
        .unwrap();
    let incoming = tonic::transport::server::TcpIncoming::from(listener);
    let service = FleetServer::new(Coordinator(script));
    runtime.spawn(
        tonic::transport::Server::builder()
            .add_service(service)
            .serve_with_incoming(incoming),
    );
    assert_eq!(watching.next(), "connected to the coordinator again");
}

#[test]
fn a_reader_that_closes_its_end_is_no_failure() {
    let many: Vec<_> = (0..20_000)
        .map(|n| vehicle("default", &format!("goose-{n}"), "alpha", "Flying"))
        .collect();
    let coordinator = coordinator(many);
    let mut child = command(&coordinator.url, &["status"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert!(line.starts_with("NAMESPACE"));
}

fn soon<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match look() {
            Some(found) => return found,
            None => assert!(Instant::now() < until, "{what}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn no_process_has_the_maps_token_in_its_arguments_and_its_file_is_the_owners() {
    use std::os::unix::fs::PermissionsExt as _;
    if map_page::missing().is_some() {
        // Only builds other than releases may lack the page.
        return;
    }
    let coordinator = coordinator(two());
    let folder = tempfile::tempdir().unwrap();
    let (opener, opened) = (folder.path().join("xdg-open"), folder.path().join("opened"));
    let script = format!(
        "#!/bin/sh\nprintf '%s' \"$*\" > '{0}.new'\nmv '{0}.new' '{0}'\n",
        opened.display()
    );
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let mut map = command(&coordinator.url, &["map"])
        .env("PATH", path)
        .env("DISPLAY", ":99")
        .env("TMPDIR", folder.path())
        .env("HOME", folder.path())
        .env_remove("KUBECONFIG")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let arguments = soon("the browser is opened", || std::fs::read_to_string(&opened).ok());
    assert!(
        !arguments.contains("token") && !arguments.contains("http"),
        "{arguments}"
    );
    let file = std::path::Path::new(&arguments);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));
    let page = std::fs::read_to_string(file).unwrap();
    assert!(
        page.contains("url=http://127.0.0.1:") && page.contains("#token="),
        "{page}"
    );
    let pid = nix::unistd::Pid::from_raw(i32::try_from(map.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(map.wait().unwrap().success());
    assert!(!file.exists(), "it is left behind");
}

//! `skein up` and `skein demo`: a ground station with simulated vehicles, whose own messages show whether they fly.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

mod output;

use anyhow::{Context, ensure};
use nix::sys::signal::Signal;
use serde_json::json;
use skein_tests::field::{Field, PATIENCE};
use skein_tests::terminal;
use skein_tests::wire::{self, Wire};
use testkit::{Launch, Scratch, wait_for};

#[test]
fn a_station_flies_what_it_reaches_and_agents_from_elsewhere_become_nodes() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha", "bravo", "charlie"], "mixed")?;
    field.start_up(&["alpha", "bravo"])?;
    field.start_agent("charlie")?;
    for node in ["alpha", "bravo", "charlie"] {
        field.wait_readiness(node, "True", "AgentConnected")?;
    }
    let node = field.kubectl().json(["get", "node", "charlie"])?;
    assert_eq!(node["metadata"]["labels"]["node-role.kubernetes.io/drone"], "");
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], "charlie");

    field.fly(3, 10.0)?;
    field.wait_ready("alpha")?;
    field.wait_in_air(&["alpha", "bravo", "charlie"])?;
    field.wait_inventory("alpha: ServesDrone; bravo: ServesDrone; charlie: ServesDrone")?;
    let drones = field.drones()?;

    // Ctrl-C: vehicles of this machine land, and it waits for them; vehicles of other computers fly on.
    let said = field.end_up()?;
    for vehicle in ["alpha", "bravo"] {
        assert!(field.wire(vehicle).said().down(), "{vehicle} is not down at the end");
        assert!(said.contains(&format!("{vehicle}: down")), "{said}");
    }
    assert!(said.contains("3 Drones that want flight are kept"), "{said}");
    field.wait_in_air(&["charlie"])?;

    let since = wire::now();
    field.start_up(&["alpha", "bravo"])?;
    assert!(
        field
            .up()?
            .stdout()
            .contains("NOTE: 3 Drones that want flight are kept here from before")
    );
    field.wait_in_air(&["alpha", "bravo", "charlie"])?;
    field.wait_ready("alpha")?;
    assert_eq!(field.drones()?, drones);
    assert!(field.wire("charlie").flew_without_a_break_since(since));
    assert_eq!(field.wire("charlie").commands_since(since), []);

    field.end_up()?;
    field.start_up_with(&["alpha", "bravo"], &["--grounded"])?;
    field.wait_in_air(&[])?;
    assert!(!field.up()?.stdout().contains("NOTE:"), "nothing wants flight");
    field.skein(&["status", "-o", "json"])?;
    field.kubectl().run(["delete", "swarm", "alpha"])?;
    wait_for("the inventory to have counted their flights", PATIENCE, || {
        let list = field.read("vehicles")?;
        for vehicle in list["items"].as_array().context("it is no list")? {
            let status = &vehicle["status"];
            let ended = status["flights"].as_i64() >= Some(1) && status["flightSeconds"].as_i64() >= Some(1);
            ensure!(ended && status["airborneSince"].is_null(), "{vehicle}");
        }
        Ok(())
    })?;
    for vehicle in ["alpha", "bravo"] {
        assert_eq!(
            field.wire(vehicle).arms(),
            2,
            "{vehicle} took off for an order of the past"
        );
    }
    field.end_up().map(drop)
}

#[test]
fn a_station_that_is_killed_takes_its_flying_vehicles_up_again() -> anyhow::Result<()> {
    let vehicles = ["alpha", "bravo"];
    let mut field = Field::with(&vehicles, "mixed")?;
    field.start_up(&vehicles)?;
    field.fly(2, 10.0)?;
    field.wait_ready("alpha")?;
    field.wait_in_air(&vehicles)?;
    let drones = field.drones()?;
    let since = wire::now();
    for _ in 0..2 {
        field.kill_up()?;
        field.start_up(&vehicles)?;
        // A Swarm that was Ready before may be reported so from the stored status.
        wait_for("the station to receive its vehicles again", PATIENCE, || {
            let flying = field.skein(&["status", "-o", "json"])?["vehicles"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|v| v["flying"] == true && v["activity"] == "Holding")
                .count();
            ensure!(flying == 2, "{flying} fly");
            Ok(())
        })?;
        field.wait_ready("alpha")?;
    }
    assert_eq!(field.drones()?, drones, "the same Drones on the same nodes");
    for vehicle in vehicles {
        let wire = field.wire(vehicle);
        assert!(wire.flew_without_a_break_since(since), "{vehicle} left its hold");
        assert_eq!(wire.commands_since(since), [], "{vehicle} was sent something");
        assert_eq!(wire.arms(), 1);
    }
    field.kubectl().run(["delete", "swarm", "alpha"])?;
    field.wait_in_air(&[])?;
    field.end_up().map(drop)
}

#[test]
fn what_a_person_puts_on_a_node_stays_and_a_deleted_connected_node_comes_back() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha", "bravo"], "px4")?;
    field.start_up(&["alpha"])?;
    field.start_agent("bravo")?;
    for node in ["alpha", "bravo"] {
        field.wait_readiness(node, "True", "AgentConnected")?;
    }
    field.kubectl().run(["label", "node", "alpha", "site=north"])?;
    field.kubectl().run(["cordon", "alpha"])?;
    wait_for("the station to say why alpha is not free", PATIENCE, || {
        let status = field.skein(&["status", "-o", "json"])?;
        let vehicles = status["vehicles"].as_array().into_iter().flatten();
        let alpha = vehicles.into_iter().find(|vehicle| vehicle["node"] == "alpha");
        let message = alpha.and_then(|alpha| alpha["message"].as_str()).unwrap_or_default();
        ensure!(message.starts_with("this node is cordoned"), "{status}");
        Ok(())
    })?;
    field.wait_inventory("alpha: NodeCordoned; bravo: Free")?;
    field.kubectl().run(["delete", "vehicles", "--all"])?;
    field.wait_inventory("alpha: NodeCordoned; bravo: Free")?;
    let deleted = field.kubectl().json(["get", "node", "bravo"])?;
    field.kubectl().run(["delete", "node", "bravo"])?;
    wait_for("node bravo to come back", PATIENCE, || {
        let node = field.kubectl().read("/api/v1/nodes/bravo")?;
        ensure!(
            node["metadata"]["uid"] != deleted["metadata"]["uid"],
            "it is the old one"
        );
        Ok(())
    })?;
    field.wait_readiness("bravo", "True", "AgentConnected")?;
    let mine = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "mine"}});
    field.kubectl().apply(&mine.to_string())?;

    // An agent that stays away is reported on its Node, and on no other.
    field.agent.take().unwrap().stop(PATIENCE)?;
    field.wait_readiness("bravo", "Unknown", "AgentGone")?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    assert!(
        field.readiness("mine").is_err(),
        "a Node of somebody else is not touched"
    );
    field.end_up()?;
    field.start_up(&["alpha"])?;
    field.start_agent("bravo")?;
    field.wait_readiness("bravo", "True", "AgentConnected")?;
    let alpha = field.kubectl().json(["get", "node", "alpha"])?;
    assert_eq!(alpha["metadata"]["labels"]["site"], "north");
    assert_eq!(alpha["spec"]["unschedulable"], true);
    field.end_up().map(drop)
}

#[test]
fn a_companion_that_has_seen_a_higher_leadership_is_led_from_here_all_the_same() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha", "charlie"], "px4")?;
    // It has flown in a cluster before, whose coordinator had been started 56 times.
    field.remember(&json!({
        "layout": 1, "node": "charlie", "fence": {"held": null, "highest_term": 57}, "record": {"uid": null, "stage": "Fresh"},
    }))?;
    field.start_up(&["alpha"])?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    field.fly(2, 10.0)?;
    field.wait_in_air(&["alpha"])?;
    let since = wire::now();
    field.start_agent("charlie")?;
    field.wait_in_air(&["alpha", "charlie"])?;
    field.wait_ready("alpha")?;
    assert!(field.wire("alpha").flew_without_a_break_since(since));
    assert_eq!(field.wire("alpha").commands_since(since), []);
    assert!(field.up()?.stderr().contains("deposed: an agent has received term 57"));
    field.kubectl().run(["delete", "swarm", "alpha"])?;
    field.wait_in_air(&[])?;
    field.end_up().map(drop)
}

#[test]
fn only_enrolled_agents_get_in_and_one_that_is_revoked_is_out() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha", "bravo"], "px4")?;
    field.start_up(&["alpha"])?;
    field.start_agent("bravo")?;
    for node in ["alpha", "bravo"] {
        field.wait_readiness(node, "True", "AgentConnected")?;
    }
    for server in ["http", "https"].map(|scheme| format!("{scheme}://{}", field.listen())) {
        let stranger = field.stranger(&server)?;
        ensure!(!stranger.status.success(), "{server} answers everybody");
    }
    let said = field.skein_says(&["enroll", "--revoke", "bravo"])?;
    ensure!(said.contains("1 certificate of bravo counts no more"), "{said}");
    let agent = field.agent.take().unwrap();
    agent.wait_for_line(PATIENCE, |line| line.contains("no coordinator, retrying for ever"))?;
    field.wait_readiness("bravo", "Unknown", "AgentGone")?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    agent.stop(PATIENCE)?;

    // Enrolled again, it is admitted again, and the station itself needed no restart.
    std::fs::remove_dir_all(field.enrolled("bravo")?)?;
    field.start_agent("bravo")?;
    field.wait_readiness("bravo", "True", "AgentConnected")?;
    field.end_up().map(drop)
}

#[test]
fn a_second_station_on_the_same_folder_is_turned_away() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha"], "px4")?;
    field.start_up(&[])?;
    let second = field.station(&[])?.start()?;
    let status = second.wait_for_exit(PATIENCE)?;
    assert_eq!(status.code(), Some(1));
    let said = second.stderr();
    assert!(said.contains("another `skein up` is using the data folder"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    field.end_up().map(drop)
}

#[test]
fn a_station_is_not_paused_by_ctrl_z() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha"], "px4")?;
    field.start_up(&["alpha"])?;
    field.up()?.signal(Signal::SIGTSTP)?;
    field
        .up()?
        .wait_for_line(PATIENCE, |line| line.starts_with("Not paused: nothing would take care"))?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    field.end_up().map(drop)
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_says_what_becomes_of_the_vehicles() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha"], "ardupilot")?;
    field.start_up(&["alpha"])?;
    // Too high to be on the ground before the second one.
    field.fly(1, 120.0)?;
    field.wait_in_air(&["alpha"])?;
    let up = field.up.take().unwrap();
    up.signal(Signal::SIGINT)?;
    up.wait_for_line(PATIENCE, |line| line.starts_with("Asked to end: the vehicles"))?;
    let status = wait_for("it to end at once", PATIENCE, || {
        let status = up.exit_status()?;
        if status.is_none() {
            up.signal(Signal::SIGINT)?;
        }
        status.ok_or_else(|| anyhow::anyhow!("it runs"))
    })?;
    assert_eq!(status.code(), Some(130));
    assert!(
        up.stderr()
            .contains("ended at once. Vehicles that are in the air go on by themselves")
    );
    assert!(!field.wire("alpha").said().down(), "it was not waited for");
    Ok(())
}

#[test]
fn a_station_has_what_an_agent_has_and_shows_its_fleet_and_an_example() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha"], "px4")?;
    let flights = field.data().with_file_name("flights");
    let metrics = format!("127.0.0.1:{}", testkit::ports::free_tcp_port()?);
    let guests = format!("tcp:127.0.0.1:{}", testkit::ports::free_tcp_port()?);
    let folder = flights.display().to_string();
    let flags = [
        ["--flight-log-dir", &folder],
        ["--metrics-listen", &metrics],
        ["--gcs-listen", &guests],
    ];
    field.start_up_with(&["alpha"], flags.as_flattened())?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    std::net::TcpStream::connect(guests.trim_start_matches("tcp:"))?;
    let example = field.data().join("example-swarm.yaml").display().to_string();
    ensure!(
        field.up()?.stdout().contains(&format!("kubectl apply -f {example}")),
        "{}",
        field.up()?.stdout()
    );
    field.kubectl().run(["apply", "-f", &example])?;
    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    field
        .kubectl()
        .run(["wait", "--for=condition=Ready", "swarm/example", &timeout])?;
    field.up()?.wait_for_line(PATIENCE, |line| line.contains("-> Flying"))?;
    let scrape = http_get(&metrics, "/metrics")?;
    ensure!(scrape.contains("skein_"), "{scrape}");
    ensure!(std::fs::read_dir(&flights)?.count() > 0, "no flight log");
    field.end_up().map(drop)
}

#[test]
fn a_station_in_a_terminal_serves_the_map_to_one_browser_and_else_to_nobody() -> anyhow::Result<()> {
    let scratch = Scratch::new("skein-up-map-")?;
    let program = testkit::launch::workspace_binary("skein")?;
    let mut command = terminal::command(&program, &scratch.folder("home")?);
    command.args([
        "up",
        "--listen",
        "127.0.0.1:0",
        "--api-listen",
        "127.0.0.1:0",
        "--data-dir",
    ]);
    command.arg(scratch.path().join("data"));
    let mut screen = terminal::Screen::run(command, (250, 40))?;
    let shown = screen.wait_for(&["Skein is up.", "The map, live", "a line for each change"])?;
    let address = shown
        .split("http://")
        .find(|rest| rest.contains("token="))
        .context(shown.clone())?;
    let address = address.split_whitespace().next().context("no address")?;
    let (host, token) = address.split_once("/#token=").context("no token")?;
    let answers = || http_enter(host, token);
    let first = answers()?;
    ensure!(
        first.starts_with("HTTP/1.1 200") && first.contains("\"session\""),
        "{first}"
    );
    let second = answers()?;
    ensure!(second.starts_with("HTTP/1.1 403"), "{second}");
    screen.signal(Signal::SIGINT)?;
    let status = screen.wait_for_end()?;
    ensure!(status.success(), "{status}: {}", screen.text());

    let mut field = Field::with(&[], "px4")?;
    field.start_up(&[])?;
    let said = field.end_up()?;
    ensure!(!said.contains("token="), "{said}");
    Ok(())
}

fn http_get(address: &str, path: &str) -> anyhow::Result<String> {
    http_ask(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"),
    )
}

fn http_enter(address: &str, token: &str) -> anyhow::Result<String> {
    let body = format!("{{\"token\": \"{token}\"}}");
    let request = format!(
        "POST /api/session HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    http_ask(address, &request)
}

fn http_ask(address: &str, request: &str) -> anyhow::Result<String> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn a_node_whose_autopilot_was_never_heard_is_not_ready_and_says_what_to_check() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha"], "px4")?;
    let ghost = format!("ghost=udp-listen:127.0.0.1:{}", testkit::ports::free_udp_port()?);
    field.start_up_with(&["alpha"], &["--node", &ghost])?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    field.wait_readiness("ghost", "False", "AutopilotSilent")?;
    let said = field.skein_says(&["status"])?;
    ensure!(said.contains("no autopilot has been heard yet"), "{said}");
    field.end_up().map(drop)
}

#[test]
fn ctrl_c_lands_the_vehicles_of_a_demo_and_leaves_nothing_behind() -> anyhow::Result<()> {
    let scratch = Scratch::new("skein-demo-test-")?;
    let (wires, temporary) = (scratch.folder("wire")?, scratch.folder("tmp")?);
    let demo = Launch::workspace("skein")?
        .args(["demo", "--drones", "2", "--speedup", "10", "--wire-log"])
        .arg(&wires)
        .env("TMPDIR", &temporary)
        .start()?;
    demo.wait_for_line(PATIENCE, |line| line.contains("all 2 hold"))?;
    demo.wait_for_line(PATIENCE, |line| line.contains("export KUBECONFIG="))?;
    let wires = ["drone-1", "drone-2"].map(|name| Wire(wires.join(format!("{name}.tlog"))));
    assert!(wires.iter().all(|wire| wire.said().in_air()));
    demo.signal(Signal::SIGINT)?;
    let status = demo.wait_for_exit(PATIENCE)?;
    assert!(status.success(), "{}", demo.tail());
    assert!(wires.iter().all(|wire| wire.said().down() && wire.arms() == 1));
    assert_eq!(
        demo.stdout().matches("touched down never").count(),
        0,
        "{}",
        demo.stdout()
    );
    assert_eq!(std::fs::read_dir(temporary)?.count(), 0, "the folder is left");
    Ok(())
}

#[test]
fn a_demo_that_runs_once_flies_lands_sums_up_and_ends() -> anyhow::Result<()> {
    let demo = Launch::workspace("skein")?
        .args(["demo", "--once", "--drones", "3", "--speedup", "10"])
        .start()?;
    let status = demo.wait_for_exit(PATIENCE)?;
    assert!(status.success(), "{}", demo.tail());
    let said = demo.stdout();
    for drone in [
        "drone-1  ArduPilot  ready",
        "drone-2  PX4        ready",
        "drone-3  ArduPilot  ready",
    ] {
        assert!(said.contains(drone), "{said}");
    }
    assert!(said.contains("touched down") && !said.contains("never"), "{said}");
    Ok(())
}

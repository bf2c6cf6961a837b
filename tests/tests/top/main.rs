//! `skein top` on an emulated terminal ([`avt`]). A vehicle's own messages on the wire show whether it flies.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

mod scripted;

use anyhow::{Context, ensure};
use nix::sys::signal::Signal;
use proto::v1::ground_request::Target;
use scripted::{Coordinator, fleet};
use skein_tests::field::Field;
use skein_tests::terminal::{PATIENCE, Screen, command, detached};
use skein_tests::wire;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use testkit::control_plane::workspace_root;
use testkit::launch::workspace_binary;
use testkit::wait_for;

const SIZES: [(u16, u16); 3] = [(80, 24), (60, 16), (132, 43)];

/// Name, keys, text on the screen at last, and keys to get back.
const SCREENS: &[(&str, &str, &str, &str)] = &[
    ("drones", "1", "[1 Drones]", ""),
    ("swarms", "2", "[2 Swarms]", ""),
    ("vehicles", "3", "[3 Vehicles]", ""),
    ("missions", "4", "[4 Missions]", ""),
    ("map", "5", "north up", ""),
    ("help", "1?", "Keys", "q"),
    ("details", "1d", "Conditions", "q"),
    ("confirm", "1g", "It concerns this one:", "n"),
    ("sorted", "1B", "BATTERY↑", ""),
    ("filtered", "1/pending\r", "/pending", ""),
];

fn top_command(home: &Path, args: &[&str]) -> anyhow::Result<Command> {
    let mut command = command(&workspace_binary("skein")?, home);
    command.arg("top").args(args);
    Ok(command)
}

fn top(coordinator: &Coordinator, home: &Path, size: (u16, u16)) -> anyhow::Result<Screen> {
    let screen = Screen::run(top_command(home, &["--server", &coordinator.url()])?, size)?;
    // A narrow terminal cuts the line off behind this.
    screen.wait_for(&["live  5 Drones: 3 flying, 1 not flying, 1 unknown; 1 idle"])?;
    Ok(screen)
}

fn without_port(text: &str, coordinator: &Coordinator) -> String {
    text.replace(&coordinator.url(), "http://127.0.0.1:PORT")
}

fn all_unknown(text: &str, drones: usize) -> bool {
    let row = |line: &&str| line.starts_with(['>', ' ']) && line.contains(" alpha-");
    let rows: Vec<&str> = text.lines().filter(row).collect();
    rows.len() == drones && rows.iter().all(|row| row.contains("unknown"))
}

fn golden(name: &str, (columns, rows): (u16, u16)) -> PathBuf {
    workspace_root().join(format!("tests/tests/top/screens/{columns}x{rows}-{name}.txt"))
}

#[test]
fn each_screen_is_the_one_that_is_kept_at_three_sizes() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let coordinator = Coordinator::start(fleet())?;
    let generate = std::env::var_os("SKEIN_GENERATE").is_some();
    for size in SIZES {
        let screen = top(&coordinator, home.path(), size)?;
        for (name, keys, wanted, back) in SCREENS {
            screen.press(keys)?;
            let shown = screen.wait_for(&[wanted])?;
            let path = golden(name, size);
            if generate {
                std::fs::create_dir_all(path.parent().context("no folder")?)?;
                std::fs::write(&path, without_port(&shown, &coordinator) + "\n")?;
            }
            let kept = std::fs::read_to_string(&path)
                .with_context(|| format!("{}: SKEIN_GENERATE=1 writes it", path.display()))?;
            screen.wait_until(
                &format!("{name} at {size:?} to be as in {}:\n{kept}", path.display()),
                |text| without_port(text, &coordinator) + "\n" == kept,
            )?;
            screen.press(back)?;
            screen.wait_until("nothing to lie over the list", |text| {
                !text.contains("Esc: back") && !text.contains("do nothing")
            })?;
        }
        screen.press("q")?;
    }
    Ok(())
}

#[test]
fn a_storm_of_sizes_ends_with_the_screen_of_the_last_one() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let coordinator = Coordinator::start(fleet())?;
    let mut screen = top(&coordinator, home.path(), (80, 24))?;
    let before = screen.text();
    let mut random = 1_u32;
    for round in 0..300 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let of = |most: u32, bits: u32| u16::try_from((random >> bits) % most + 1).unwrap_or(1);
        screen.resize((of(200, 8), of(70, 16)))?;
        if round % 50 == 0 {
            screen.press(["5", "1", "3", "1g", "n", "1"][round / 50])?;
        }
        std::thread::sleep(Duration::from_millis(u64::from(random >> 29)));
    }
    screen.resize((80, 24))?;
    screen.wait_until(&format!("the same screen as before:\n{before}"), |text| text == before)?;
    screen.press("\x03")?;
    ensure!(screen.wait_for_end()?.success());
    ensure!(screen.is_as_before()? && !screen.is_second());
    Ok(())
}

#[test]
fn each_key_that_comes_with_a_change_of_the_size_is_read_at_once() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let coordinator = Coordinator::start(fleet())?;
    let screen = top(&coordinator, home.path(), (80, 24))?;
    for round in 0..100_u16 {
        let (key, shown) = [("2", "[2 Swarms]"), ("1", "[1 Drones]")][usize::from(round % 2)];
        screen.resize((80 + round % 7, 24))?;
        screen.press(key)?;
        screen.resize((80 + round % 5, 24))?;
        screen.wait_for(&[shown])?;
    }
    Ok(())
}

#[test]
fn keys_are_read_where_dev_tty_cannot_be_opened() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let coordinator = Coordinator::start(fleet())?;
    let mut command = detached(&workspace_binary("skein")?, home.path());
    command.args(["top", "--server", &coordinator.url()]);
    let mut screen = Screen::run(command, (80, 24))?;
    screen.wait_for(&["live  5 Drones"])?;
    screen.press("2")?;
    screen.wait_for(&["[2 Swarms]"])?;
    screen.press("q")?;
    ensure!(screen.wait_for_end()?.success() && screen.is_as_before()?);
    Ok(())
}

#[test]
fn a_coordinator_that_dies_is_missed_at_once_and_found_again() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let coordinator = Coordinator::start(fleet())?;
    let address = coordinator.address;
    let screen = top(&coordinator, home.path(), (80, 24))?;
    let died = Instant::now();
    drop(coordinator);
    let lost = screen.wait_for(&["NOT CONNECTED, all below is from", "was Flying"])?;
    ensure!(
        died.elapsed() < Duration::from_secs(5),
        "after {:?}:\n{lost}",
        died.elapsed()
    );
    // Any knowledge of flight is stale after five seconds.
    screen.wait_until("nothing to be said to fly", |text| all_unknown(text, 3))?;
    screen.wait_until("the age of the figures", |text| text.contains("s ago)"))?;
    // Orders are not kept for later.
    screen.press("gy")?;
    screen.wait_for(&["NOT GIVEN: cannot reach the coordinator"])?;
    screen.press("\r")?;
    let coordinator = Coordinator::at(address, fleet())?;
    let back = screen.wait_for(&["live  5 Drones: 3 flying", "alpha-1"])?;
    ensure!(!back.contains("was ") && !back.contains("ago)"), "{back}");
    ensure!(
        coordinator.script.orders.lock().unwrap().is_empty(),
        "an order came late"
    );
    // A silent coordinator counts as none.
    coordinator.script.silent.store(true, Ordering::SeqCst);
    screen.wait_for(&["NOTHING RECEIVED for", "was Flying"])?;
    coordinator.script.silent.store(false, Ordering::SeqCst);
    screen.wait_for(&["live  5 Drones: 3 flying"])?;
    Ok(())
}

#[test]
fn an_order_is_given_once_to_whom_the_question_named() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let coordinator = Coordinator::start(fleet())?;
    let mut screen = top(&coordinator, home.path(), (80, 24))?;
    screen.press("g")?;
    screen.wait_for(&[
        "ground Drone field/alpha-1?",
        "field/alpha-1 on pi-1: Flying, flying, 20.0m",
    ])?;
    screen.press("\r")?;
    screen.press("n")?;
    screen.wait_for(&["nothing was ordered"])?;
    screen.press(":ground all\r")?;
    screen.wait_for(&["ground ALL Swarms and Drones", "It concerns these 5:"])?;
    screen.press("y")?;
    screen.wait_for(&["Ground order given to all Swarms and Drones: 1 Drone, 1 connected agent"])?;
    screen.press("\r2")?;
    screen.wait_for(&["[2 Swarms]"])?;
    screen.press("jr")?;
    screen.wait_for(&["release Swarm field/bravo?", "field/bravo-4", "field/bravo-9"])?;
    // A person who confirms and quits at once, before the answer comes, has ordered.
    let kept_back = coordinator.script.answers.blocking_lock();
    screen.press("yq")?;
    screen.wait_for(&["waiting for the answer to what was ordered"])?;
    drop(kept_back);
    ensure!(screen.wait_for_end()?.success());
    screen.wait_for(&["No ground order holds Swarm field/bravo any more"])?;
    let orders = coordinator.script.orders.lock().unwrap().clone();
    let of: Vec<String> = orders
        .iter()
        .map(|(verb, target)| match target {
            Target::Swarm(swarm) => format!("{verb} {}/{}", swarm.namespace, swarm.name),
            Target::All(_) => format!("{verb} all"),
            other => format!("{verb} {other:?}"),
        })
        .collect();
    ensure!(of == ["ground all", "release field/bravo"], "{of:?}");
    Ok(())
}

#[test]
fn the_terminal_is_given_back_whichever_way_it_ends() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let coordinator = Coordinator::start(fleet())?;
    type End<'a> = &'a dyn Fn(&Screen) -> anyhow::Result<()>;
    let ends: [(&str, End<'_>); 6] = [
        ("q", &|screen| screen.press("q")),
        ("Ctrl-C", &|screen| screen.press("\x03")),
        (":q", &|screen| screen.press(":q\r")),
        ("SIGTERM", &|screen| screen.signal(Signal::SIGTERM)),
        ("SIGINT", &|screen| screen.signal(Signal::SIGINT)),
        ("SIGHUP", &|screen| screen.signal(Signal::SIGHUP)),
    ];
    for (name, end) in ends {
        let mut screen = top(&coordinator, home.path(), (80, 24))?;
        ensure!(
            screen.is_second() && !screen.is_as_before()?,
            "{name}: it draws on the first screen"
        );
        end(&screen)?;
        let status = screen.wait_for_end()?;
        ensure!(status.success(), "{name}: {status}");
        ensure!(screen.is_as_before()?, "{name}: the terminal's mode is not as before");
        screen.wait_until("the first screen", |text| !text.contains("skein top"))?;
        ensure!(
            !screen.is_second() && screen.raw().contains("\x1b[?25h"),
            "{name}: the cursor is hidden"
        );
    }
    Ok(())
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_takes_it_back() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let coordinator = Coordinator::start(fleet())?;
    let mut shell = command(Path::new("bash"), home.path());
    let script = "\"$0\" top --server \"$1\"; echo \"stopped with $?\"; read -r line; echo \"read $line\"; fg; echo \"ended with $?\"; read -r line";
    shell
        .args(["-m", "-c", script])
        .arg(workspace_binary("skein")?)
        .arg(coordinator.url());
    let screen = Screen::run(shell, (80, 24))?;
    screen.wait_for(&["live  5 Drones"])?;
    screen.press("\x1a")?;
    screen.wait_for(&["stopped with 148"])?;
    ensure!(!screen.is_second(), "the shell is on the second screen");
    wait_for("the mode of the shell", PATIENCE, || {
        ensure!(screen.is_as_before()?, "it is another");
        Ok(())
    })?;
    screen.press("a word\r")?;
    screen.wait_for(&["live  5 Drones", "> "])?;
    ensure!(screen.is_second());
    screen.press("q")?;
    screen.wait_for(&["read a word", "ended with 0"])?;
    Ok(())
}

#[test]
fn a_terminal_that_takes_nothing_keeps_neither_the_coordinator_nor_the_end_waiting() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let coordinator = Coordinator::start(fleet())?;
    let mut screen = top(&coordinator, home.path(), (200, 60))?;
    screen.read(false);
    // Each key and each size is a screen to be written, until no more of them fit in between.
    for round in 0..200_u16 {
        screen.resize((100 + round % 90, 30 + round % 30))?;
        screen.press(["1", "5"][usize::from(round % 2)])?;
        std::thread::sleep(Duration::from_millis(10));
    }
    let before = coordinator.script.sent.load(Ordering::SeqCst);
    wait_for("ten more messages to be taken", PATIENCE, || {
        let taken = coordinator.script.sent.load(Ordering::SeqCst) - before;
        ensure!(taken >= 10, "{taken}");
        Ok(())
    })?;
    screen.signal(Signal::SIGTERM)?;
    let begun = Instant::now();
    let status = screen.wait_for_end()?;
    ensure!(begun.elapsed() < Duration::from_secs(10), "after {:?}", begun.elapsed());
    ensure!(status.success() || status.code() == Some(130), "{status}");
    ensure!(screen.is_as_before()?, "the terminal's mode is not as before");
    Ok(())
}

#[test]
fn colors_are_left_out_where_they_are_not_wanted_and_never_are_more_than_sixteen() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let coordinator = Coordinator::start(fleet())?;
    let url = coordinator.url();
    let mut shown = Vec::new();
    let colors = regex::Regex::new(r"\x1b\[(?:3[0-8]|4[0-8]|9[0-7])[;m\d]*")?;
    let sixteen = regex::Regex::new(r"^\x1b\[38;5;(?:\d|1[0-5])(?:;49)?m$")?;
    for no_color in ["", "1"] {
        let mut command = top_command(home.path(), &["--server", &url])?;
        command.env("NO_COLOR", no_color).env("TERM", "xterm-16color");
        let screen = Screen::run(command, (80, 24))?;
        let text = screen.wait_for(&["live  5 Drones", "alpha-1"])?;
        let raw = screen.raw();
        let found: Vec<&str> = colors.find_iter(&raw).map(|found| found.as_str()).collect();
        ensure!(found.iter().all(|color| sixteen.is_match(color)), "{found:?}");
        ensure!(found.is_empty() == (no_color == "1"), "NO_COLOR={no_color}: {found:?}");
        shown.push(text);
    }
    ensure!(shown[0] == shown[1], "the words differ:\n{}\n{}", shown[0], shown[1]);
    Ok(())
}

#[test]
fn where_no_terminal_is_the_error_says_what_to_do() -> anyhow::Result<()> {
    let mut command = Command::new(workspace_binary("skein")?);
    command.args(["top", "--server", "http://127.0.0.1:1"]);
    let output = testkit::run::output(command, None, PATIENCE)?;
    let text = String::from_utf8(output.stderr)?;
    ensure!(
        output.status.code() == Some(2) && output.stdout.is_empty(),
        "{}: {text}",
        output.status
    );
    ensure!(
        text.contains("needs a terminal") && text.contains("skein watch") && text.contains("ssh -t"),
        "{text}"
    );
    let home = tempfile::tempdir()?;
    let mut screen = Screen::run(top_command(home.path(), &["--server", "http://127.0.0.1:1"])?, (80, 24))?;
    ensure!(screen.wait_for_end()?.code() == Some(3));
    screen.wait_for(&["skein: cannot reach the coordinator at http://127.0.0.1:1"])?;
    ensure!(
        !screen.raw().contains("\x1b[?1049h"),
        "the terminal was taken for nothing"
    );
    Ok(())
}

#[test]
fn each_order_of_the_k9s_plugins_is_one_that_skein_takes() -> anyhow::Result<()> {
    let text = std::fs::read_to_string(workspace_root().join("deploy/k9s/plugins.yaml"))?;
    let file: serde_json::Value = serde_saphyr::from_str(&text)?;
    let plugins = file["plugins"].as_object().context("no plugins")?;
    let home = tempfile::tempdir()?;
    let mut keys = std::collections::BTreeSet::new();
    for (name, plugin) in plugins {
        for scope in plugin["scopes"].as_array().context("no scopes")? {
            let key = format!("{} in {scope}", plugin["shortCut"]);
            ensure!(keys.insert(key.clone()), "{name}: {key} is taken");
        }
        let script = plugin["args"][1].as_str().context("no script")?;
        let order = script.split([';', '|']).next().unwrap_or_default().trim();
        let is_order = !order.starts_with("kubectl skein top ");
        ensure!(
            (plugin["confirm"] == true) == is_order,
            "{name}: k9s has to ask before orders"
        );
        // k9s puts the values in before the shell reads it.
        let mut order = order.to_owned();
        for (variable, value) in [("$NAMESPACE", "field"), ("$NAME", "alpha"), ("$COL-NODE", "pi-1")] {
            order = order.replace(variable, value);
        }
        let server = "--server http://127.0.0.1:1";
        let order = order
            .replace("--context \"$CONTEXT\"", server)
            .replace("kubectl skein", "exec \"$0\"");
        ensure!(!order.contains('$') || order.contains("\"$0\""), "{name}: {order}");
        let mut shell = command(Path::new("/bin/sh"), home.path());
        shell.args(["-c", &order]).arg(workspace_binary("skein")?);
        let mut screen = Screen::run(shell, (80, 24))?;
        let status = screen.wait_for_end()?;
        ensure!(
            status.code() == Some(3),
            "{name}: {order}: {status}:\n{}",
            screen.text()
        );
        screen.wait_for(&["cannot reach the coordinator"])?;
    }
    ensure!(plugins.len() == 8, "{}", plugins.len());
    Ok(())
}

#[test]
fn vehicles_land_and_fly_by_orders_of_the_view_and_a_killed_station_is_found_again() -> anyhow::Result<()> {
    let vehicles = ["alpha", "bravo"];
    let mut field = Field::with(&vehicles, "mixed")?;
    field.start_up(&vehicles)?;
    field.fly(2, 10.0)?;
    field.wait_ready("alpha")?;
    field.wait_in_air(&vehicles)?;
    let home = tempfile::tempdir()?;
    let data = field.data().display().to_string();
    let mut screen = Screen::run(top_command(home.path(), &["--station", &data])?, (80, 24))?;
    screen.wait_for(&["live  2 Drones: 2 flying, 0 not flying, 0 unknown"])?;

    screen.press("2")?;
    screen.wait_until(
        "the Swarm with what is desired, live counts and its condition",
        |text| {
            let line = text.lines().find(|line| line.starts_with('>')).unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            words.starts_with(&[">", "alpha", "2"]) && line.contains("no") && line.contains("yes")
        },
    )?;
    screen.press("3")?;
    screen.wait_for(&["ServesDrone"])?;
    screen.press("1d")?;
    screen.press("\x1b[F")?;
    screen.wait_for(&["ago Normal"])?;
    screen.press("q")?;

    screen.press("2g")?;
    screen.wait_for(&[
        "ground Swarm default/alpha?",
        "It concerns these 2:",
        "on alpha: Flying",
        "on bravo: Flying",
    ])?;
    screen.press("y")?;
    screen.wait_for(&["Ground order given to Swarm default/alpha: 2 Drones, 2 connected agents"])?;
    field.wait_in_air(&[])?;
    screen.press("\r")?;
    screen.wait_for(&["live  2 Drones: 0 flying, 2 not flying, 0 unknown"])?;
    screen.wait_until("the Swarm to be grounded", |text| {
        let line = text.lines().find(|line| line.starts_with('>')).unwrap_or_default();
        line.contains("yes") && line.contains("no")
    })?;

    screen.press("r")?;
    screen.wait_for(&["release Swarm default/alpha?", "TAKE OFF again"])?;
    screen.press("y")?;
    field.wait_in_air(&vehicles)?;
    screen.press("\r1")?;
    screen.wait_for(&["live  2 Drones: 2 flying"])?;
    screen.wait_until("both to have arrived at their altitude", |text| {
        let row = |line: &&str| line.starts_with(['>', ' ']) && line.contains(" alpha-");
        text.lines().filter(row).filter(|line| line.contains("Flying")).count() == 2
    })?;

    let since = wire::now();
    field.kill_up()?;
    screen.wait_for(&["NOT CONNECTED, all below is from", "was Flying"])?;
    screen.wait_until("nothing to be said to fly", |text| all_unknown(text, 2))?;
    field.start_up(&vehicles)?;
    screen.wait_for(&["live  2 Drones: 2 flying"])?;
    screen.press("d")?;
    screen.press("\x1b[F")?;
    screen.wait_for(&["ago Normal"])?;
    for vehicle in vehicles {
        ensure!(
            field.wire(vehicle).flew_without_a_break_since(since),
            "{vehicle} left its hold"
        );
    }
    screen.press("qq")?;
    ensure!(screen.wait_for_end()?.success() && screen.is_as_before()?);
    field.kubectl().run(["delete", "swarm", "alpha"])?;
    field.wait_in_air(&[])?;
    field.end_up().map(drop)
}

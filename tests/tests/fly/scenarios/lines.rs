//! Lines that are cut, lossy, delayed, or too slow.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::MavMessage;
use serde_json::json;
use testkit::autopilots::Stack;

use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::objects::{condition, is};
use crate::relay::{Fault, Way};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "line-cut",
        "a line that is cut for 10 s: Unknown within 5 s, nothing sent afterwards, Ready again",
        |field, figures| cut(field, figures, &[Way::ToAgent, Way::ToAutopilot]),
    )
    .short(),
    Scenario::new(
        "deaf",
        "the agent receives nothing for 10 s: Unknown within 5 s, nothing sent, Ready again",
        |field, figures| cut(field, figures, &[Way::ToAgent]),
    ),
    Scenario::new(
        "mute",
        "nothing of the agent arrives for 15 s while the altitude changes: flown to once it does",
        mute,
    ),
    Scenario::new(
        "unanswered-landing",
        "an order to land that does not arrive: reported as sent and unanswered, not as a landing; obeyed once it arrives (C9)",
        unanswered_landing,
    ),
    Scenario::new(
        "not-heard",
        "a vehicle in the air that is not heard: old figures have their age or are not shown, nothing counts it as landed (C12)",
        not_heard,
    )
    .real_time(),
    Scenario::new(
        "loss-40",
        "40 % of all frames lost in both directions: takes off, changes altitude, lands, one arm",
        loss,
    )
    .real_time(),
    Scenario::new(
        "baud-57600",
        "a line of 57,600 baud: Ready without a break for a minute, few requests",
        slow,
    )
    .with(|_| Setup {
        baud: Some(57_600),
        ..Setup::default()
    })
    .real_time(),
    Scenario::new(
        "signing",
        "a signed line: every frame of the agent is signed, it flies and lands",
        signing,
    ),
];

const NODE: &str = NODES[0];
const START: f64 = 10.0;
const KEY: [u8; 32] = [0x5A; 32];

fn cut(field: &mut Field, figures: &mut Figures, ways: &[Way]) -> anyhow::Result<()> {
    field.take_off(START)?;
    let since = now();
    field.fault(NODE, ways, Fault::CUT);
    field.wait("the Drone to be no longer Ready", 0, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        ensure!(!is(&drone, "Ready") && !is(&drone, "Flying"), "{}", drone["status"]);
        Ok(())
    })?;
    figures.took_at_most("Unknown after", since, now(), 5.0)?;
    std::thread::sleep(Duration::from_secs(10));
    let healed = now();
    field.fault(NODE, ways, Fault::NONE);
    field.wait_ready(NODE)?;
    figures.took_at_most("Ready again after", healed, now(), 10.0)?;
    let record = field.record(NODE);
    let sent = record.orders_since(since);
    ensure!(sent.is_empty(), "it was sent {sent:?}");
    ensure!(record.flew_without_a_break_since(since), "it came down");
    Ok(())
}

fn set_height(field: &Field, meters: f64) -> anyhow::Result<()> {
    let patch = json!({"spec": {"template": {"spec": {"takeoffAltitudeMeters": meters}}}}).to_string();
    field
        .kubectl()
        .run(["patch", "swarm", SWARM, "--type=merge", "-p", &patch])
        .map(drop)
}

fn mute(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(START)?;
    let since = now();
    field.fault(NODE, &[Way::ToAutopilot], Fault::CUT);
    set_height(field, 20.0)?;
    std::thread::sleep(Duration::from_secs(15));
    let drone = field.objects().of(NODE).context("there is no Drone")?;
    ensure!(
        !is(&drone, "Ready"),
        "Ready at {:?} m, 20 m are asked for",
        field.record(NODE).height()
    );
    let healed = now();
    field.fault(NODE, &[Way::ToAutopilot], Fault::NONE);
    field.wait_in_air(&[NODE], 20.0)?;
    figures.took("at its altitude after", healed, now());
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent == ["DO_REPOSITION"], "it was sent {sent:?}");
    Ok(())
}

fn unanswered_landing(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(START)?;
    let since = now();
    field.fault(NODE, &[Way::ToAutopilot], Fault::CUT);
    let said = field.skein(&["ground", SWARM])?;
    ensure!(
        said.contains("1 vehicle in the air, ordered to land"),
        "`skein ground` said {said}"
    );
    let message = field.wait("the unanswered order on the Drone", 30, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        let ready = condition(&drone, "Ready");
        let message = ready["message"].as_str().unwrap_or_default().to_owned();
        ensure!(message.contains("it has not answered"), "{}", drone["status"]);
        Ok(message)
    })?;
    figures.note(message);
    let phases = field.objects().phases_since(NODE, since);
    ensure!(
        !phases.iter().any(|phase| phase == "Landing" || phase == "Grounded"),
        "it holds and its Drone went through {phases:?}"
    );
    ensure!(field.record(NODE).said().in_air(), "{:?}", field.record(NODE).said());
    let healed = now();
    field.fault(NODE, &[Way::ToAutopilot], Fault::NONE);
    field.wait_down(NODE)?;
    let sent = field.record(NODE).orders_since(healed);
    ensure!(sent.iter().all(|command| command == "NAV_LAND"), "it was sent {sent:?}");
    Ok(())
}

fn not_heard(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(START)?;
    field.fault(NODE, &[Way::ToAgent], Fault::CUT);
    field.wait("the Drone to be Unknown", 0, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        ensure!(drone["status"]["phase"] == "Unknown", "{}", drone["status"]);
        Ok(())
    })?;
    let line = field.wait("what is old to be reported as old", 0, || {
        let swarm = field.kubectl().run(["get", "swarm", SWARM, "-o", "json"])?;
        let swarm: serde_json::Value = serde_json::from_str(&swarm)?;
        let (ready, unknown) = (condition(&swarm, "Ready"), &swarm["status"]["unknownDrones"]);
        ensure!(
            ready["status"] != "True" && *unknown == 1,
            "the Swarm counts {unknown} unknown and is {ready}"
        );
        let table = field.skein(&["status"])?;
        let line = table.lines().find(|line| line.contains(NODE));
        let line = line.with_context(|| format!("it is not listed: {table}"))?;
        // Such as "80% (24s ago)".
        let figures_are_old = !line.contains('%') || line.contains(" ago)");
        ensure!(figures_are_old, "a figure without its age: {line}");
        Ok(line.to_owned())
    })?;
    let node = field.kubectl().run(["get", "drones", "-o", "wide"])?;
    figures.note(line.split_whitespace().collect::<Vec<_>>().join(" "));
    ensure!(node.contains("Unknown"), "{node}");
    let healed = now();
    field.fault(NODE, &[Way::ToAgent], Fault::NONE);
    field.wait_ready(NODE)?;
    figures.took("Ready again after", healed, now());
    Ok(())
}

fn loss(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let fault = Fault {
        loss: 0.4,
        ..Fault::NONE
    };
    field.fault(NODE, &[Way::ToAgent, Way::ToAutopilot], fault);
    field.fly(1, START)?;
    field.wait_in_air(&[NODE], START)?;
    set_height(field, 18.0)?;
    field.wait_in_air(&[NODE], 18.0)?;
    field.kubectl().run(["delete", "swarm", SWARM, "--wait=false"])?;
    field.wait_down(NODE)?;
    let record = field.record(NODE);
    let sent = record.orders_since(0);
    figures.note(format!("{} commands arrived", sent.len()));
    let arms = record.arms()?;
    // The vehicle's answer may be lost: a second command then finds it armed.
    ensure!(arms == 1, "it armed {arms} times; it was sent {sent:?}");
    Ok(())
}

/// Messages that request others: COMMAND_LONG is 76, COMMAND_INT 75, PARAM_REQUEST_READ 20.
fn requests(field: &Field) -> u64 {
    let record = field.record(NODE);
    [75, 76, 20].map(|id| record.passed_to_autopilot(id)).iter().sum()
}

fn requested(field: &Field, since: u64) -> BTreeMap<String, usize> {
    let mut often = BTreeMap::new();
    for (_, message) in field.record(NODE).sent_since(since) {
        let what = match message {
            MavMessage::COMMAND_LONG(long) => format!("{:?} {}", long.command, long.param1),
            MavMessage::COMMAND_INT(int) => format!("{:?} {}", int.command, int.param1),
            MavMessage::PARAM_REQUEST_READ(read) => read.param_id.to_str().unwrap_or_default().to_owned(),
            _ => continue,
        };
        *often.entry(what).or_default() += 1;
    }
    often
}

fn slow(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(START)?;
    std::thread::sleep(Duration::from_secs(15));
    let (since, before) = (now(), requests(field));
    let [_, bytes] = field.record(NODE).passed_to_agent();
    std::thread::sleep(Duration::from_secs(60));
    let asked = requests(field) - before;
    let carried = (field.record(NODE).passed_to_agent()[1] - bytes) / 60;
    let unready = field
        .objects()
        .of_since(NODE, since)
        .iter()
        .filter(|(_, drone)| !is(drone, "Ready"))
        .count();
    figures.note(format!("{carried} bytes/s"));
    figures.note(format!("{asked} requests in 60 s"));
    figures.note(format!("not Ready {unready} times"));
    let phases = field.objects().phases_since(NODE, since);
    ensure!(
        unready == 0,
        "it was not Ready {unready} times in 60 s; phases {phases:?}"
    );
    ensure!(
        asked <= 12,
        "{asked} requests in 60 s of hold: {:?}",
        requested(field, since)
    );
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "in the hold it was sent {sent:?}");
    let stack = field.stack;
    let since = now();
    set_height(field, 20.0)?;
    field.wait_in_air(&[NODE], 20.0)?;
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent == ["DO_REPOSITION"], "{} was sent {sent:?}", Stack::name(stack));
    Ok(())
}

fn is_on_its_card(field: &Field) -> anyhow::Result<()> {
    let card = field.vehicle(NODE).autopilot.folder();
    let file = card.join("mavlink/mavlink-signing-key.bin");
    field.wait("PX4 to keep the key", 0, || {
        // The key, and the time stamp of its beginning.
        let kept = std::fs::read(&file).unwrap_or_default();
        ensure!(
            kept.starts_with(&KEY),
            "it has none: until 1.17 it takes a key by USB only, if it can sign at all"
        );
        Ok(())
    })
}

fn signing(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.kill_agent(NODE);
    let key = field.write_secret("signing-key", &KEY)?;
    field.vehicle(NODE).pilot.set_up_signing(KEY)?;
    if field.stack == Stack::Px4 {
        is_on_its_card(field)?;
    }
    field.more_agent_arguments(["--signing-key".to_owned(), key.display().to_string()]);
    std::thread::sleep(Duration::from_secs(1));
    let before = field.record(NODE).unsigned();
    field.start_agent(NODE)?;
    field.take_off(START)?;
    field.kubectl().run(["delete", "swarm", SWARM, "--wait=false"])?;
    field.wait_down(NODE)?;
    let unsigned = field.record(NODE).unsigned() - before;
    figures.note(format!("{unsigned} unsigned frames"));
    ensure!(unsigned == 0, "the agent sent {unsigned} frames unsigned");
    Ok(())
}

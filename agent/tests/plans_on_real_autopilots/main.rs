//! Plans on unmodified autopilots: flown, interrupted, resumed, replaced, and refused, with a scripted coordinator.
//! Without an autopilot (see tests/README.md) each test prints `skipped:` and passes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

use agent::uplink::FromUplink;
use agent_testkit::on_real_autopilots::{Agent, HERE, Station, autopilots, say, url};
use link::Tap;
use link::raw::Direction;
use model::alarm::Cause;
use model::assignment::{Desired, GroundedWhy};
use model::failsafe::{Diversion, Diverted};
use model::geo::{offset, shifted};
use model::plan::item::{self, Item};
use model::plan::{FlightPlan, PlanState};
use model::report::{Activity, HandsOff, Report};
use model::units::{AltitudeAboveHome, SystemId};
use model::vehicle::FlightTruth;
use std::path::Path;
use std::time::Duration;
use testkit::autopilots::{Autopilot, Stack};

const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};
const WAIT: Desired = Desired::Grounded {
    why: GroundedWhy::Waiting,
};

async fn begin(autopilot: &Autopilot, dir: &Path) -> Agent {
    let agent = Agent::start(autopilot, dir, Some(SystemId(254)));
    agent.tell(FromUplink::Opened).await;
    agent
}

fn ours(tap: &mut Tap) -> Vec<u32> {
    let mut ours = Vec::new();
    while let Some(frame) = tap.try_recv() {
        if frame.from == Direction::Us && frame.message_id != 0 {
            ours.push(frame.message_id);
        }
    }
    ours
}

fn place(east: f64, north: f64, hold: f64) -> Item {
    let at = shifted(HERE, east, north);
    let (x, y) = (Some(at.latitude_deg), Some(at.longitude_deg));
    Item {
        command: item::NAV_WAYPOINT,
        frame: item::FRAME_GLOBAL_RELATIVE_ALT,
        params: [Some(hold), Some(0.0), Some(0.0), None, x, y, Some(15.0)],
        goes_on: true,
    }
}

const fn action(command: u16, params: [f64; 3]) -> Item {
    let [a, b, c] = params;
    Item {
        command,
        frame: item::FRAME_MISSION,
        params: [Some(a), Some(b), Some(c), Some(0.0), Some(0.0), Some(0.0), Some(0.0)],
        goes_on: true,
    }
}

fn plan() -> FlightPlan {
    let items = vec![
        action(item::DO_CHANGE_SPEED, [1.0, 4.0, -1.0]),
        place(0.0, 40.0, 0.0),
        action(item::DO_SET_CAM_TRIGG_DIST, [5.0, 0.0, 1.0]),
        place(50.0, 40.0, 2.0),
        place(50.0, 0.0, 3.0),
        place(30.0, 20.0, 0.0),
    ];
    FlightPlan::new(model::ids::Term(3), items).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes in real time; see the long runs of tests/README.md"]
async fn a_plan_is_flown_taken_over_gone_on_with_and_finished() {
    for autopilot in autopilots() {
        let stack = autopilot.stack();
        let dir = tempfile::tempdir().unwrap();
        let agent = begin(&autopilot, dir.path()).await;
        let mut tap = agent.wire.tap(100_000);
        let plan = plan();
        agent.tell(FromUplink::Plan(plan.clone())).await;
        agent.order(1, WAIT, &plan, 0).await;
        let took = agent.until("ready", 90, |r| r.plan.state == PlanState::Ready).await;
        say(&format!(
            "{stack}: on the autopilot and judged {took:.1} s after the agent came to one that booted"
        ));
        agent.order(2, FLY, &plan, 0).await;
        let took = agent.until("on its plan", 120, |r| r.plan.flying).await;
        say(&format!("{stack}: armed, up and on its plan after {took:.1} s"));
        agent.until("on the second leg", 60, |r| r.plan.reached.has(2)).await;
        let report = agent.report().unwrap();
        assert_eq!(report.plan.reached.ranges(), [(0, 2)], "{stack}");

        let mut station = Station::open(url(stack, autopilot.ground_link()), autopilot.system()).await;
        station.takes_over(stack).await;
        let let_go = |why: HandsOff| move |r: &Report| r.activity == Activity::HandsOff(why);
        let took = agent.until("let go", 10, let_go(HandsOff::OtherMode)).await;
        say(&format!("{stack}: let go {took:.1} s after a pilot took over"));
        ours(&mut tap);
        station.gives_back(stack).await;
        agent.until("left to us", 10, let_go(HandsOff::TakenOver)).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let sent = ours(&mut tap);
        let moves = [41, 44, 73, 11, 75].iter().any(|id| sent.contains(id));
        assert!(!moves, "{stack}: nobody has said resume: {sent:?}");
        agent.order(3, FLY, &plan, 1).await;
        let took = agent.until("on its plan again", 60, |r| r.plan.flying).await;
        say(&format!(
            "{stack}: what was left uploaded in the air and gone on with {took:.1} s after the resume"
        ));
        let took = agent.until("finished", 150, |r| r.plan.finished).await;
        let end = agent.until("holding", 15, |r| r.activity == Activity::Holding).await;
        let report = agent.report().unwrap();
        let (east, north) = offset(shifted(HERE, 30.0, 20.0), report.position.unwrap().at);
        say(&format!(
            "{stack}: finished after {took:.1} s more, held {end:.1} s later, {:.1} m from its last place, in {}",
            east.hypot(north),
            report.mode.clone().unwrap_or_default()
        ));
        assert_eq!((report.takeovers, report.plan.reached.count()), (1, 6), "{stack}");

        agent.order(4, WAIT, &plan, 1).await;
        agent.until("landed", 90, |r| r.truth == FlightTruth::Disarmed).await;
        agent.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes in real time; see the long runs of tests/README.md"]
async fn others_missions_are_not_flown_as_ours_and_a_refusal_is_told_in_its_words() {
    for autopilot in autopilots() {
        let stack = autopilot.stack();
        let dir = tempfile::tempdir().unwrap();
        let agent = begin(&autopilot, dir.path()).await;
        let plan = plan();
        let refused = |r: &Report| matches!(r.plan.state, PlanState::Refused(_));
        agent.until("home", 90, |r| r.home.is_some()).await;
        let mut station = Station::open(url(stack, autopilot.ground_link()), autopilot.system()).await;

        let mut items = plan.items.clone();
        match stack {
            // SET_CAMERA_MODE
            Stack::ArduPilot => items.push(action(530, [0.0, 1.0, 0.0])),
            Stack::Px4 => items.push(Item {
                command: 18,
                ..plan.items[1]
            }),
        }
        let bad = FlightPlan::new(plan.term, items).unwrap();
        agent.tell(FromUplink::Plan(bad.clone())).await;
        agent.order(1, WAIT, &bad, 0).await;
        agent.until("refused", 60, refused).await;
        say(&format!("{stack}: {:?}", agent.report().unwrap().plan.state));
        let other = FlightPlan::new(plan.term, plan.items[..5].to_vec()).unwrap();
        agent.tell(FromUplink::Plan(other.clone())).await;
        agent.order(3, WAIT, &other, 0).await;
        agent.until("ready", 60, |r| r.plan.state == PlanState::Ready).await;
        agent.order(4, FLY, &other, 0).await;
        agent
            .until("past the first place", 180, |r| r.plan.reached.has(1))
            .await;
        station.upload_mission(stack, &[(0.0, 60.0), (60.0, 60.0)]).await;
        let took = agent.until("let go", 60, |r| r.takeovers == 1).await;
        let before = agent.report().unwrap().plan;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let after = agent.report().unwrap().plan;
        assert!(!after.flying && after.reached == before.reached, "{stack}: {after:?}");
        say(&format!(
            "{stack}: a mission of somebody else noticed {took:.1} s after its upload, {:?}",
            after.reached
        ));
        agent.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes in real time; see the long runs of tests/README.md"]
async fn a_fence_drawn_across_the_plan_is_told_as_what_the_autopilot_left_it_for() {
    // An ArduCopter flies on up to the fence: `cargo xtask fly fence-mission`.
    for autopilot in autopilots().filter(|autopilot| autopilot.stack() == Stack::Px4) {
        let dir = tempfile::tempdir().unwrap();
        let agent = begin(&autopilot, dir.path()).await;
        let mut tap = agent.wire.tap(100_000);
        let plan = plan();
        agent.tell(FromUplink::Plan(plan.clone())).await;
        agent.order(1, FLY, &plan, 0).await;
        agent
            .until("past the first place", 180, |r| r.plan.reached.has(1))
            .await;
        let mut station = Station::open(url(Stack::Px4, autopilot.ground_link()), autopilot.system()).await;
        ours(&mut tap);
        station.upload_square(45.0).await;
        let of_the_fence = |d: &Diversion| d.why == Diverted::Autopilot(Cause::Fence) && d.words.contains("loitering");
        let took = agent
            .until("let go", 10, |r| {
                matches!(r.activity, Activity::HandsOff(_)) && r.diversion.as_ref().is_some_and(of_the_fence)
            })
            .await;
        say(&format!(
            "PX4: let go {took:.1} s after the fence, {:?}",
            agent.report().unwrap().diversion
        ));
        tokio::time::sleep(Duration::from_secs(10)).await;
        let sent = ours(&mut tap);
        let moves = [41, 44, 73, 11, 75].iter().any(|id| sent.contains(id));
        assert!(!moves, "nobody has said resume: {sent:?}");

        agent.order(2, FLY, &plan, 1).await;
        let in_its_words =
            |r: &Report| matches!(&r.plan.state, PlanState::Refused(words) if words.contains("Geofence violation"));
        agent.until("refused", 60, in_its_words).await;
        station.upload_square(80.0).await;
        let took = agent.until("on its plan again", 120, |r| r.plan.flying).await;
        say(&format!("PX4: on its plan {took:.1} s after a wider fence"));
        agent.until("finished", 150, |r| r.plan.finished).await;
        agent.order(3, WAIT, &plan, 1).await;
        agent.until("landed", 90, |r| r.truth == FlightTruth::Disarmed).await;
        agent.kill().await;
    }
}

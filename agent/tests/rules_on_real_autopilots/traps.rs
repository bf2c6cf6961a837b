//! Traps past the compiler of fences: an exclusion over home, several inclusions, a circle before a polygon, and a
//! parameter that counts only after a reboot.

use super::{Agent, HERE, autopilots, hole, parameters, rules, say, square, url};
use agent_testkit::on_real_autopilots::Station;
use model::geo::shifted;
use model::rules::{DeviationWhy, FenceState, Outline, Shape, Side};
use model::units::Meters;
use std::time::Instant;
use testkit::autopilots::Stack;

fn over_home() -> Shape {
    Shape {
        side: Side::Outside,
        outline: Outline::Circle {
            center: shifted(HERE, 3.0, 0.0),
            radius: Meters(15.0),
        },
    }
}

fn of_fence(text: &str) -> bool {
    ["breaching", "violat"]
        .iter()
        .any(|words| text.to_lowercase().contains(words))
}

/// PX4 accepts a fence and leaves out the shapes that do not allow home; ArduPilot takes all, and does not arm.
async fn is_a_trap(agent: &Agent, station: &mut Station, stack: Stack, name: &str, shapes: Vec<Shape>) {
    agent.give(rules(name, shapes, parameters(stack))).await;
    let words = match stack {
        Stack::Px4 => {
            agent
                .until_rules(name, 30, |rules| {
                    matches!(&rules.fence, FenceState::Refused(words) if words.contains("doesn't contain Home"))
                })
                .await;
            format!("{:?}", agent.rules().unwrap().fence)
        }
        Stack::ArduPilot => {
            agent.until_in_force(name).await;
            station
                .try_to_arm(of_fence)
                .await
                .expect("it arms outside of its fence")
        }
    };
    say(&format!("{stack}: {name}: {words}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes in real time; see the long runs of tests/README.md"]
async fn what_no_compiled_fence_holds_is_a_trap_on_the_real_one_and_is_named() {
    for mut autopilot in autopilots() {
        let stack = autopilot.stack();
        let dir = tempfile::tempdir().unwrap();
        let agent = Agent::start(&autopilot, dir.path(), None);
        agent
            .give(rules("good", vec![square(60.0, 0.0), hole()], parameters(stack)))
            .await;
        agent.until_in_force("good").await;
        let mut station = Station::open(url(stack, autopilot.ground_link()), autopilot.system()).await;
        assert_eq!(
            station.try_to_arm(of_fence).await,
            None,
            "{stack}: a good fence prevents nothing"
        );

        let over = vec![square(60.0, 0.0), over_home()];
        is_a_trap(&agent, &mut station, stack, "an exclusion over home", over).await;
        let beside = || vec![square(60.0, 0.0), square(40.0, 90.0)];
        is_a_trap(&agent, &mut station, stack, "two inclusions, home in one", beside()).await;
        if stack == Stack::ArduPilot {
            // Bit 1: any of them is enough. Skein intersects inclusions itself, so that it does not matter.
            station.set_float("FENCE_OPTIONS", 2.0).await;
            // It takes a moment until it judges again.
            assert_eq!(station.try_to_arm(|_| false).await, None);
            say(&format!("{stack}: the same with bit 1 of FENCE_OPTIONS: it arms"));
            station.set_float("FENCE_OPTIONS", 0.0).await;
        }

        agent
            .give(rules(
                "circle first",
                vec![hole(), square(60.0, 0.0)],
                parameters(stack),
            ))
            .await;
        let began = Instant::now();
        agent
            .until_rules("circle first", 30, |rules| {
                let held = rules.held.as_ref().is_some_and(|held| held.0 == "circle first");
                held && (rules.in_force || matches!(&rules.fence, FenceState::Refused(_)))
            })
            .await;
        let armed = station.try_to_arm(of_fence).await;
        say(&format!(
            "{stack}: a circle before a polygon: {:?} after {:.1} s, arming: {armed:?}",
            agent.rules().unwrap().fence,
            began.elapsed().as_secs_f64()
        ));

        let (name, value) = match stack {
            Stack::ArduPilot => ("BRD_RTC_TZ_MIN", 60.0),
            Stack::Px4 => ("BAT1_CAPACITY", 5000.0),
        };
        agent.give(rules("reboot", vec![], &[(name, value)])).await;
        agent
            .until_rules("the reboot to be asked for", 60, |rules| {
                let mut all = rules.deviations.iter();
                !rules.in_force && all.any(|d| d.name == name && d.why == DeviationWhy::NeedsReboot)
            })
            .await;
        // PX4 writes its parameters to its disk after a while.
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        autopilot.power_off();
        autopilot.power_on().unwrap();
        let took = agent.until_in_force("reboot").await;
        say(&format!(
            "{stack}: {name} is in force {:.1} s after the power is back",
            took.as_secs_f64()
        ));
        agent.kill().await;
    }
}

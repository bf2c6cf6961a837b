//! Somebody moves home while the vehicle flies its plan.

use super::*;
use agent_testkit::line::STEP_MS;

fn lower_home(down_m: f64) -> sitl::model::Wgs84 {
    sitl::model::Wgs84 {
        amsl_m: HOME.amsl_m - down_m,
        ..HOME
    }
}

#[test]
fn a_plan_above_home_stops_when_home_is_lowered_and_goes_on_once_it_is_set_back() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.until("on the second leg", 90, |line| progress(line).reached.has(2));
        line.vehicle.move_home(lower_home(30.0));
        line.until("stopped", 10, |line| !progress(line).flying);
        let mut lowest = f64::MAX;
        for _ in 0..60_000 / STEP_MS {
            line.step();
            lowest = lowest.min(line.vehicle.truth().height_m);
        }
        assert!(
            lowest > 8.0,
            "{autopilot:?}: it sank to {lowest} m, where its plan has 15 m"
        );
        let stopped = report(&line);
        let PlanState::Refused(words) = &stopped.plan.state else {
            panic!("{autopilot:?}: {stopped:?}");
        };
        assert!(words.contains("30 m lower") || words.contains("29 m lower"), "{words}");
        let shift = stopped.home_shift.unwrap();
        assert!(
            (shift.up_m + 30.0).abs() < 4.0 && shift.over_ground_m() < 1.0,
            "{shift:?}"
        );
        assert_eq!(
            (stopped.takeovers, stopped.activity),
            (0, Activity::Holding),
            "{autopilot:?}"
        );
        line.vehicle.move_home(HOME);
        line.until("finished", 240, |line| progress(line).finished);
        assert_eq!(report(&line).home_shift, None, "{autopilot:?}");
    }
}

#[test]
fn a_home_that_is_moved_over_ground_is_reported_and_stops_no_plan() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.until("on the second leg", 90, |line| progress(line).reached.has(2));
        let place = sitl::model::Wgs84 {
            lat_deg: HOME.lat_deg + 64.0 / 111_195.0,
            ..HOME
        };
        line.vehicle.move_home(place);
        line.until("reported", 30, |line| report(line).home_shift.is_some());
        let shift = report(&line).home_shift.unwrap();
        assert_eq!(shift.to_string(), "64 m north", "{autopilot:?}");
        assert!(progress(&line).flying, "{autopilot:?}");
        line.until("finished", 240, |line| progress(line).finished);
    }
}

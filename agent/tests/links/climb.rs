//! A coordinator stops a vehicle in its climb after the takeoff, for another that comes into its way.

use super::home::{place, route};
use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::line::{HOME, Line};
use model::ids::NodeName;
use model::report::Activity;
use model::time::Moment;
use sitl::model::{Autopilot, VehicleConfig};

#[test]
fn a_climb_that_is_stopped_ends_there_and_goes_on_by_another_route() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let pilot = Pilot::new(NodeName::parse("pine").unwrap(), State::default(), Moment::default());
        let mut line = Line::new(pilot, VehicleConfig::new(autopilot, 7, HOME));
        let report = |line: &Line| line.pilot.report(line.now());
        line.pass(60);
        line.order(&route(1, vec![place(0.0, 0.0), place(0.0, 40.0)]));
        line.until("8 m up", 120, |line| line.vehicle.truth().height_m > 8.0);
        assert_eq!(report(&line).activity, Activity::TakingOff, "{autopilot:?}");
        line.order(&route(2, vec![place(0.0, 8.0), place(0.0, 18.0)]));
        line.until("its hold", 60, |line| report(line).activity == Activity::Holding);
        for _ in 0..500 {
            line.step();
            let up = line.vehicle.truth().height_m;
            assert!(up > 8.0 && up < 20.0, "{autopilot:?}: {up} m");
        }
        line.order(&route(3, vec![place(0.0, 18.0), place(0.0, 40.0)]));
        line.until("40 m up", 60, |line| line.vehicle.truth().height_m > 39.0);
        assert_eq!(report(&line).takeovers, 0, "{autopilot:?}");
    }
}

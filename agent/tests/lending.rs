//! A vehicle that a program flies: what the pilot lets pass, when it takes the vehicle back, what it leaves to a pilot.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use agent::outgoing::Outgoing;
use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::alone;
use agent_testkit::orders::assignment;
use fleet::flight::lending::Program;
use link::dialect::{
    COMMAND_ACK_DATA, EXTENDED_SYS_STATE_DATA, GLOBAL_POSITION_INT_DATA, MavAutopilot, MavCmd, MavLandedState,
    MavMessage, MavModeFlag, MavResult,
};
use model::assignment::{Assignment, Desired, GroundedWhy, Order};
use model::geo::shifted;
use model::ids::Term;
use model::lent::{Lent, Room, USUAL_LEASE, WhyBack};
use model::route_order::{OrderNumber, RouteOrder, Waypoint};
use model::time::Moment;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Meters, Wgs84};
use std::time::Duration;

const STATION: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};
const SEA: f64 = 488.0;
const UP: f64 = 20.0;
const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(UP),
};
const STOP: MavCmd = MavCmd::MAV_CMD_DO_REPOSITION;
const LAND: MavCmd = MavCmd::MAV_CMD_NAV_LAND;

/// HEARTBEAT.custom_mode of a stack: Skein's hold, programs, a pilot.
struct Stack {
    autopilot: MavAutopilot,
    holds: u32,
    programs: u32,
    pilots: u32,
}

const ARDUPILOT: Stack = Stack {
    autopilot: MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
    holds: 4,
    programs: 4,
    pilots: 5,
};
const PX4: Stack = Stack {
    autopilot: MavAutopilot::MAV_AUTOPILOT_PX4,
    holds: 0x0304_0000,
    programs: 0x0006_0000,
    pilots: 0x0003_0000,
};

/// The vehicle is in the air on its station, 4 s after the beginning.
struct World {
    stack: Stack,
    pilot: Pilot,
    ms: u64,
}

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

const fn number(count: u64) -> OrderNumber {
    OrderNumber { term: Term(3), count }
}

fn lent() -> Assignment {
    let end = Waypoint {
        at: STATION,
        amsl: AltitudeAmsl(SEA + UP),
    };
    Assignment {
        routed: true,
        route: Some(RouteOrder {
            number: number(7),
            places: vec![end],
            room: Some(Room {
                radius: Meters(40.0),
                below: Meters(10.0),
                above: Meters(10.0),
                lease: USUAL_LEASE,
            }),
        }),
        ..assignment(1, FLY)
    }
}

impl World {
    fn new(stack: Stack) -> Self {
        let pilot = alone::pilot_with(State::default(), Moment::default());
        let holds = stack.holds;
        let mut world = Self { stack, pilot, ms: 0 };
        for _ in 0..40 {
            world.flies(holds, 0.0, 0.0);
            world.passes();
        }
        world.pilot.uplink_opened(at(world.ms));
        world.ordered(&lent());
        world
    }

    fn ordered(&mut self, assignment: &Assignment) {
        let order = Order::Assigned(assignment.clone());
        alone::take(&mut self.pilot, &order, at(self.ms));
    }

    fn receive(&mut self, message: MavMessage) {
        alone::receive(&mut self.pilot, message, at(self.ms));
    }

    /// `north` of its station, meters; `speed`, meters per second.
    fn flies(&mut self, custom_mode: u32, north: f64, speed: f64) {
        let armed = MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED;
        let beat = alone::beat(self.stack.autopilot, custom_mode, armed);
        self.receive(MavMessage::HEARTBEAT(beat));
        self.is_there(north, speed);
    }

    fn is_there(&mut self, north: f64, speed: f64) {
        let landed = EXTENDED_SYS_STATE_DATA {
            landed_state: MavLandedState::MAV_LANDED_STATE_IN_AIR,
            ..EXTENDED_SYS_STATE_DATA::default()
        };
        let place = shifted(STATION, 0.0, north);
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a place on the Earth, and a speed in cm/s"
        )]
        let (e7, cm) = (|degrees: f64| (degrees * 1e7).round() as i32, (speed * 100.0) as i16);
        let position = GLOBAL_POSITION_INT_DATA {
            time_boot_ms: u32::try_from(self.ms).unwrap() + 60_000,
            lat: e7(place.latitude_deg),
            lon: e7(place.longitude_deg),
            alt: 508_000,
            relative_alt: 20_000,
            vx: cm,
            hdg: 0,
            ..GLOBAL_POSITION_INT_DATA::default()
        };
        self.receive(MavMessage::EXTENDED_SYS_STATE(landed));
        self.receive(MavMessage::GLOBAL_POSITION_INT(position));
    }

    /// Everything that is written now; then 0.1 s passes.
    fn passes(&mut self) -> Vec<Outgoing> {
        let all = alone::written(&mut self.pilot, at(self.ms));
        self.ms += 100;
        all
    }

    fn program_says(&mut self, set_point: bool) {
        let now = Some(at(self.ms));
        self.pilot.hear_program(Program {
            heard: now,
            set_point: now.filter(|_| set_point),
            ..Program::default()
        });
    }

    fn flown(&mut self, north: f64, speed: f64) {
        for _ in 0..10 {
            self.program_says(true);
            self.flies(self.stack.programs, north, speed);
            let sent = commands(&self.passes(), &[STOP, LAND]);
            assert_eq!(sent, [], "{north} m, {speed} m/s");
        }
        assert_eq!(self.shown(), Some(Lent::Flies));
        assert!(self.pilot.passes_program());
    }

    fn shown(&self) -> Option<Lent> {
        self.pilot.report(at(self.ms)).route.lent
    }

    fn has_room(&self) -> bool {
        let order = self.pilot.report(at(self.ms)).route.order;
        order.is_some_and(|order| order.room.is_some())
    }

    fn accepts_stop(&mut self) {
        self.receive(MavMessage::COMMAND_ACK(COMMAND_ACK_DATA {
            command: STOP,
            result: MavResult::MAV_RESULT_ACCEPTED,
            ..COMMAND_ACK_DATA::default()
        }));
    }

    /// Agrees to stop, holds `north` meters north of its station for 4 s; returns how often it is ordered to once more.
    fn stops(&mut self, north: f64) -> usize {
        self.accepts_stop();
        let mut stops = 0;
        for _ in 0..40 {
            self.flies(self.stack.holds, north, 0.0);
            let sent = commands(&self.passes(), &[STOP]).len();
            if sent > 0 {
                self.accepts_stop();
            }
            stops += sent;
        }
        stops
    }

    fn restarted(&mut self) {
        let state = self.pilot.state().clone();
        self.pilot = alone::pilot_with(state, at(self.ms));
    }

    fn takeovers(&self) -> u32 {
        self.pilot.report(at(self.ms)).takeovers
    }
}

fn commands(out: &[Outgoing], wanted: &[MavCmd]) -> Vec<MavCmd> {
    out.iter()
        .filter_map(alone::command)
        .filter(|command| wanted.contains(command))
        .collect()
}

#[test]
fn a_program_flies_and_its_vehicle_is_stopped_where_it_is_when_it_falls_silent() {
    for stack in [ARDUPILOT, PX4] {
        let mut w = World::new(stack);
        assert_eq!((w.shown(), w.pilot.passes_program()), (None, true));
        let volume = w.pilot.program_volume();
        assert_eq!(volume.map(|volume| volume.route), lent().route);
        w.flown(10.0, 3.0);
        let programs = w.stack.programs;
        let mut stopped = None;
        for _ in 0..35 {
            w.flies(programs, 12.0, 0.5);
            let sent = w.passes();
            if !commands(&sent, &[STOP]).is_empty() {
                stopped = Some(sent);
                break;
            }
        }
        let sent = stopped.unwrap();
        let to = sent.iter().find_map(|out| match &out.message {
            MavMessage::COMMAND_INT(m) if m.command == STOP => Some(f64::from(m.x) / 1e7),
            _ => None,
        });
        let here = shifted(STATION, 0.0, 12.0).latitude_deg;
        assert!((to.unwrap() - here).abs() < 1e-6, "where it is");
        assert!(!w.pilot.passes_program() && w.pilot.program_volume().is_none());
        assert_eq!(w.shown(), Some(Lent::TakenBack(WhyBack::LeaseSilent)));
        assert!(w.has_room(), "until what comes late has come");
        w.stops(12.0);
        assert_eq!(w.pilot.report(at(w.ms)).route.order, None, "its airspace is let go of");
        assert_eq!(w.takeovers(), 0);
        // A known order lends nothing again.
        w.ordered(&lent());
        w.program_says(true);
        w.flies(w.stack.holds, 12.0, 0.0);
        w.passes();
        assert!(!w.pilot.passes_program());
    }
}

/// A stop takes a PX4 out of any mode, so it waits until that is known to be of now; HEARTBEATs are lost meanwhile.
#[test]
fn the_mode_that_a_stop_waits_for_is_asked_for() {
    let mut w = World::new(PX4);
    w.flown(0.0, 0.0);
    let mut sent = Vec::new();
    for tenths in 0..25 {
        if tenths < 8 {
            w.program_says(true);
        }
        w.is_there(0.0, 0.0);
        sent.extend(w.passes());
    }
    assert!(matches!(w.shown(), Some(Lent::TakenBack(_))), "{:?}", w.shown());
    let asks = |out: &&Outgoing| match &out.message {
        MavMessage::COMMAND_LONG(m) => m.command == MavCmd::MAV_CMD_REQUEST_MESSAGE && m.param1 < 0.5,
        _ => false,
    };
    assert_eq!(
        (commands(&sent, &[STOP]), sent.iter().filter(asks).count()),
        (vec![], 1)
    );
    w.flies(PX4.programs, 0.0, 0.0);
    assert_eq!(commands(&w.passes(), &[STOP]), [STOP]);
}

#[test]
fn one_that_would_leave_is_stopped_and_so_again_once_what_comes_late_has_come() {
    let mut w = World::new(ARDUPILOT);
    w.flown(10.0, 3.0);
    w.program_says(true);
    w.flies(w.stack.programs, 33.0, 6.0);
    assert_eq!(commands(&w.passes(), &[STOP]), [STOP]);
    assert_eq!(w.shown(), Some(Lent::TakenBack(WhyBack::LeftVolume)));
    assert_eq!(w.stops(36.0), 1, "once more, and then it holds");
}

#[test]
fn the_airspace_of_one_that_is_taken_back_is_its_own_until_it_has_stopped() {
    for stack in [ARDUPILOT, PX4] {
        let mut w = World::new(stack);
        w.flown(0.0, 3.0);
        w.program_says(true);
        w.flies(w.stack.programs, 20.0, 8.0);
        assert_eq!(commands(&w.passes(), &[STOP]), [STOP]);
        let reported = w.pilot.report(at(w.ms)).route;
        assert_eq!((reported.order, reported.next), (lent().route, Some(1)));
        for _ in 0..20 {
            w.accepts_stop();
            w.flies(w.stack.holds, 30.0, 2.0);
            w.passes();
            assert!(w.has_room());
        }
        w.stops(33.0);
        assert_eq!(w.pilot.report(at(w.ms)).route.order, None);
    }
    let mut w = World::new(PX4);
    w.flown(0.0, 3.0);
    w.program_says(true);
    w.flies(w.stack.programs, 20.0, 8.0);
    w.passes();
    w.flies(w.stack.pilots, 21.0, 8.0);
    assert!(!w.has_room(), "a pilot has it, and it may be anywhere");
}

#[test]
fn an_agent_that_ends_before_its_vehicle_has_stopped_stops_it_in_its_next_life() {
    for stack in [ARDUPILOT, PX4] {
        let mut w = World::new(stack);
        w.flown(10.0, 3.0);
        w.program_says(true);
        w.flies(w.stack.programs, 33.0, 6.0);
        assert_eq!(w.shown(), Some(Lent::TakenBack(WhyBack::LeftVolume)));
        w.restarted();
        let mut sent = Vec::new();
        for _ in 0..40 {
            w.flies(w.stack.programs, 35.0, 1.5);
            sent.extend(commands(&w.passes(), &[STOP, LAND]));
            assert!(w.has_room());
        }
        assert!(sent.contains(&STOP) && !sent.contains(&LAND), "{sent:?}");
        assert_eq!(w.takeovers(), 0);
    }
}

#[test]
fn a_ground_order_lands_it_out_of_the_hands_of_its_program() {
    for stack in [ARDUPILOT, PX4] {
        let mut w = World::new(stack);
        w.flown(10.0, 3.0);
        let grounded = Desired::Grounded {
            why: GroundedWhy::Ordered,
        };
        w.ordered(&assignment(2, grounded));
        w.program_says(true);
        w.flies(w.stack.programs, 10.0, 3.0);
        assert_eq!(commands(&w.passes(), &[STOP, LAND]), [LAND]);
        assert!(!w.pilot.passes_program());
        assert_eq!(w.takeovers(), 0);
    }
}

#[test]
fn a_pilots_mode_is_a_takeover_and_so_is_offboard_without_airspace_for_a_program() {
    for stack in [ARDUPILOT, PX4] {
        let mut w = World::new(stack);
        w.flown(10.0, 3.0);
        for _ in 0..20 {
            w.program_says(true);
            w.flies(w.stack.pilots, 10.0, 3.0);
            assert_eq!(commands(&w.passes(), &[STOP, LAND]), []);
            assert!(!w.pilot.passes_program());
        }
        assert_eq!(w.takeovers(), 1);
        assert_eq!(w.pilot.report(at(w.ms)).route.order, None);
    }
    let mut w = World::new(PX4);
    w.ordered(&Assignment {
        generation: 2,
        routed: false,
        route: None,
        ..lent()
    });
    for _ in 0..20 {
        w.program_says(true);
        w.flies(w.stack.programs, 0.0, 0.0);
        assert_eq!(commands(&w.passes(), &[STOP, LAND]), []);
    }
    assert_eq!((w.takeovers(), w.shown()), (1, None));
}

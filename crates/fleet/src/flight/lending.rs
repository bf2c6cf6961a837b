//! When a program may fly a vehicle in its airspace, and when the agent takes the vehicle back.
//!
//! Owns: [`Lending`], who flies a vehicle that has a [`model::lent::Room`]. Must not: grant one, or pass a frame. A vehicle that is taken back
//! stops, and is granted a way from there like any other.
//!
//!   nobody --the program is heard--> the program --silent, or it would leave, or recalled--> taken back: the room is let go of
//!
//! A pilot's mode ends it as it ends a route: that is seen by the mode, and nothing is sent.

use model::assignment::{Assignment, Desired, OnCoordinatorLoss};
use model::battery_level::Level;
use model::lent::{Room, WhyBack};
use model::route_order::{OrderNumber, RouteOrder, Waypoint};
use model::time::{Moment, Sighting};
use model::vehicle::{Airborne, FlightTruth, Mode, Vehicle};
use std::time::Duration;

/// In OFFBOARD set-points come at least this often: PX4 fails over by itself after a second without (COM_OF_LOSS_T).
pub const SET_POINTS_WITHIN: Duration = Duration::from_millis(500);

/// A position that is older than this is none.
const POSITION_WITHIN: Duration = Duration::from_millis(1500);

/// From the decision to stop until the vehicle brakes, seconds.
const FOLLOWS_S: f64 = 0.7;

/// Vehicles slow down by this much at least, over ground and upright, meters per second for each second.
const BRAKES: (f64, f64) = (2.0, 1.5);

/// It gets faster by no more than this from its last position until it brakes, over ground and upright, meters per second for each second, where
/// no velocity is asked for: a PX4 follows one as hard as it can.
const GAINS: (f64, f64) = (2.5, 1.0);

/// No autopilot makes it faster by more than this, meters per second for each second: half upright, or falling.
const HARDEST: f64 = 10.0;

/// What its estimate of where it is sways, over ground and upright, meters.
const SPARE_M: (f64, f64) = (2.0, 1.0);

/// A vehicle has stopped when it flies no faster than this, over ground and upright, meters per second: as claims have it
/// (`fleet::airspace`).
const STOPPED_M_S: f64 = 1.0;

/// What the agent has heard of the program that may fly its vehicle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Program {
    /// When the last sign of life came.
    pub heard: Option<Moment>,
    /// When the last set-point came.
    pub set_point: Option<Moment>,
    /// The fastest that set-points have asked for lately, over ground and upright, meters per second.
    pub asked: (f64, f64),
}

/// What must be known.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub vehicle: &'a Vehicle,
    pub held: Option<&'a Assignment>,
    pub program: Program,
    /// How full the battery is, and whether it was near the reserve in this flight.
    pub battery: Level,
    pub near_reserve: bool,
    /// Whether a leader confirms the assignment now.
    pub led: bool,
    /// How long the agent has had no contact with the coordinator.
    pub uplink_silent: Duration,
    pub terminating: bool,
    pub now: Moment,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whether what the program sends to move the vehicle is passed on.
    pub passes: bool,
    /// The vehicle is to be taken back now, and why.
    pub taken_back: Option<WhyBack>,
}

/// Who flies a vehicle that has airspace for a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lending {
    /// The route with the airspace that the program flies in.
    flies_in: Option<OrderNumber>,
}

impl Question<'_> {
    fn route(&self) -> Option<(&RouteOrder, Room)> {
        let route = self.held?.route.as_ref()?;
        Some((route, route.room?))
    }

    /// Whether it is to be in its room at all.
    fn is_wanted(&self, number: OrderNumber) -> bool {
        let wanted = self.held.is_some_and(|held| {
            matches!(held.desired, Desired::Flying { .. }) && held.routed && held.plan.is_none() && number > held.void
        });
        wanted && !self.terminating && !self.near_reserve && self.battery < Level::Low && !self.acts_alone()
    }

    /// Whether the agent acts by itself, as the coordinator is lost: a program that goes on asking for its mode would undo that.
    fn acts_alone(&self) -> bool {
        self.held.is_some_and(|held| match held.failsafe.on_coordinator_loss {
            OnCoordinatorLoss::Continue => false,
            OnCoordinatorLoss::Hold | OnCoordinatorLoss::Return | OnCoordinatorLoss::Land => {
                self.uplink_silent >= held.failsafe.after
            }
        })
    }

    /// Where it is, if that is known.
    fn here(&self) -> Option<(Waypoint, Duration)> {
        let position = self.vehicle.position.as_ref()?;
        let fresh = position.fresh(self.now, POSITION_WITHIN)?;
        let here = Waypoint {
            at: fresh.at,
            amsl: fresh.amsl,
        };
        Some((here, self.now.since(position.at)))
    }

    /// Whether it can be stopped in the room of `route`, as it flies now; not where that is not known.
    fn can_stop_in(&self, route: &RouteOrder) -> bool {
        let fresh = |of: &Option<Sighting<f64>>| {
            let of = of.as_ref().and_then(|of| of.fresh(self.now, POSITION_WITHIN));
            of.map(|speed| speed.abs())
        };
        let speeds = fresh(&self.vehicle.over_ground_m_s).zip(fresh(&self.vehicle.sink_m_s));
        let Some(((here, age), (over_ground, upright))) = self.here().zip(speeds) else {
            return false;
        };
        // Set-points of the program count from the last position until the stop does.
        let until_brakes = FOLLOWS_S + age.as_secs_f64();
        let stops = |speed: f64, asked: f64, gains: f64, brakes: f64| {
            // What is no number is as fast as it can be.
            let asked = asked.min(speed + HARDEST * until_brakes);
            let gained = speed + gains * until_brakes;
            let fastest = gained.max(asked);
            f64::max((speed + gained) / 2.0, asked) * until_brakes + fastest * fastest / (2.0 * brakes)
        };
        let asked = self.program.asked;
        let over_ground = stops(over_ground, asked.0, GAINS.0, BRAKES.0) + SPARE_M.0;
        let upright = stops(upright, asked.1, GAINS.1, BRAKES.1) + SPARE_M.1;
        let Some((wide, high)) = route.depth(&here) else {
            return false;
        };
        wide >= over_ground && high >= upright
    }
}

/// Whether a vehicle that was taken back may still fly on in the airspace that it had: it is Skein's to stop, and was not observed to have
/// stopped. `to_stop`: whether it is still ordered to.
pub fn flies_on(vehicle: &Vehicle, to_stop: bool, now: Moment) -> bool {
    let moves = |speed: &Option<Sighting<f64>>| {
        let speed = speed.as_ref().and_then(|speed| speed.fresh(now, POSITION_WITHIN));
        speed.is_none_or(|speed| speed.abs() > STOPPED_M_S)
    };
    match (vehicle.truth(now), vehicle.mode(now)) {
        (FlightTruth::Disarmed | FlightTruth::ArmedOnGround, _) => false,
        (FlightTruth::Unknown(_), _) | (FlightTruth::Airborne(_), None) => true,
        (FlightTruth::Airborne(_), Some(Mode::Station)) => {
            to_stop || vehicle.is_in_lent_offboard() || moves(&vehicle.over_ground_m_s) || moves(&vehicle.sink_m_s)
        }
        // It lands, returns, or is somebody else's: its mode says so.
        (FlightTruth::Airborne(_), Some(_)) => false,
    }
}

impl Lending {
    /// Whether a program flies the vehicle.
    pub const fn flies(&self) -> bool {
        self.flies_in.is_some()
    }

    /// Takes in what is known now.
    pub fn observe(&mut self, q: &Question<'_>) -> Verdict {
        let flown = self.flies_in.take();
        let Some((route, room)) = q.route() else {
            return Verdict::default();
        };
        let flown = flown.is_some_and(|number| number == route.number);
        let Some(center) = route.end() else {
            return Verdict::default();
        };
        let back = |why| Verdict {
            passes: false,
            taken_back: Some(why),
        };
        match (q.vehicle.truth(q.now), q.vehicle.mode(q.now)) {
            (FlightTruth::Airborne(Airborne::InAir | Airborne::TakingOff), Some(Mode::Station)) => {}
            // Somebody else flies it, or it lands: that is seen by its mode.
            (FlightTruth::Airborne(_) | FlightTruth::Disarmed | FlightTruth::ArmedOnGround, Some(_)) => {
                return Verdict::default();
            }
            (FlightTruth::Unknown(_), _) | (_, None) if flown => return back(WhyBack::LeftVolume),
            (FlightTruth::Unknown(_), _) | (_, None) => return Verdict::default(),
        }
        let heard = |last: Option<Moment>, within: Duration| last.is_some_and(|at| q.now.since(at) <= within);
        let offboard = q.vehicle.is_in_lent_offboard();
        if !q.is_wanted(route.number) {
            return back(WhyBack::Recalled);
        }
        let inside = q.can_stop_in(route);
        let alive = heard(q.program.heard, room.lease);
        if flown {
            if !inside {
                return back(WhyBack::LeftVolume);
            }
            if !alive || (offboard && !heard(q.program.set_point, SET_POINTS_WITHIN)) {
                return back(WhyBack::LeaseSilent);
            }
        } else {
            // A program flew it in the life before of this agent, or somebody moves it who has no lease.
            let stays = q.here().is_none_or(|(here, _)| center.is_about(&here));
            let begins = alive && inside && q.led && stays;
            // What it has said so far was passed on, and moves the vehicle.
            if alive && !inside {
                return back(WhyBack::LeftVolume);
            }
            if !begins && (offboard || !stays) {
                return back(WhyBack::LeaseSilent);
            }
            if !begins {
                return Verdict {
                    passes: inside && q.led,
                    taken_back: None,
                };
            }
        }
        self.flies_in = Some(route.number);
        Verdict {
            passes: true,
            taken_back: None,
        }
    }
}

#[cfg(test)]
mod tests;

//! When a program may fly a vehicle in its airspace, and when the agent takes the vehicle back.
//!
//! Owns: [`Lending`], who flies a vehicle with a [`model::lent::Room`]. Must not: grant one, or pass a frame. A vehicle that is taken back
//! stops, and is granted a way from there like any other.
//!
//!   nobody --the program is heard--> the program --silent, or it would leave, or recalled--> taken back: the room is let go of
//!
//! A pilot's mode ends a loan as it ends a route: the mode shows it, and nothing is sent.

use model::assignment::{Assignment, Desired, OnCoordinatorLoss};
use model::battery_level::Level;
use model::lent::{Room, WhyBack};
use model::route_order::{OrderNumber, RouteOrder, Waypoint};
use model::time::{Moment, Sighting};
use model::vehicle::{Airborne, FlightTruth, Mode, Vehicle};
use std::time::Duration;

/// Longest interval of set-points in OFFBOARD: PX4 fails over by itself after a second without (COM_OF_LOSS_T).
pub const SET_POINTS_WITHIN: Duration = Duration::from_millis(500);

/// Age limit of a position.
const POSITION_WITHIN: Duration = Duration::from_millis(1500);

/// From the decision to stop until the vehicle brakes.
const REACTION_S: f64 = 0.7;

/// Least deceleration over ground and upright.
const MIN_BRAKING_M_S2: (f64, f64) = (2.0, 1.5);

/// Largest acceleration from the last position until it brakes, over ground and upright, m/s², unless a velocity is requested: a PX4
/// follows one as hard as it can.
const GAINS_M_S2: (f64, f64) = (2.5, 1.0);

/// Largest acceleration by any autopilot: half upright, or falling.
const MAX_ACCELERATION_M_S2: f64 = 10.0;

/// Noise of its position estimate over ground and upright.
const POSITION_NOISE_M: (f64, f64) = (2.0, 1.0);

/// Speed of a stopped vehicle over ground and upright, meters per second: the same as for claims (`fleet::airspace`).
const STOPPED_M_S: f64 = 1.0;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Program {
    /// Last sign of life.
    pub heard: Option<Moment>,
    pub set_point: Option<Moment>,
    /// The fastest recent request, over ground and upright, meters per second.
    pub asked: (f64, f64),
}

#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub vehicle: &'a Vehicle,
    pub held: Option<&'a Assignment>,
    pub program: Program,
    /// Battery level, and whether it was near the reserve in this flight.
    pub battery: Level,
    pub near_reserve: bool,
    /// Whether a leader confirms the assignment now.
    pub led: bool,
    pub uplink_silent: Duration,
    pub terminating: bool,
    pub now: Moment,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the program's commands that move the vehicle are passed on.
    pub passes: bool,
    /// To be taken back now.
    pub taken_back: Option<WhyBack>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lending {
    /// The route whose room the program flies in.
    flies_in: Option<OrderNumber>,
}

impl Question<'_> {
    fn route(&self) -> Option<(&RouteOrder, Room)> {
        let route = self.held?.route.as_ref()?;
        Some((route, route.room?))
    }

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

    fn here(&self) -> Option<(Waypoint, Duration)> {
        let position = self.vehicle.position.as_ref()?;
        let fresh = position.fresh(self.now, POSITION_WITHIN)?;
        let here = Waypoint {
            at: fresh.at,
            amsl: fresh.amsl,
        };
        Some((here, self.now.since(position.at)))
    }

    /// Whether it can stop inside the room of `route`, as it flies now; `false` when not known.
    fn can_stop_in(&self, route: &RouteOrder) -> bool {
        let fresh = |of: &Option<Sighting<f64>>| {
            let of = of.as_ref().and_then(|of| of.fresh(self.now, POSITION_WITHIN));
            of.map(|speed| speed.abs())
        };
        let speeds = fresh(&self.vehicle.over_ground_m_s).zip(fresh(&self.vehicle.sink_m_s));
        let Some(((here, age), (over_ground, upright))) = self.here().zip(speeds) else {
            return false;
        };
        // The program's set-points count from the last position until the stop does.
        let until_brakes = REACTION_S + age.as_secs_f64();
        let stops = |speed: f64, asked: f64, gains: f64, brakes: f64| {
            // NaN counts as the fastest.
            let asked = asked.min(speed + MAX_ACCELERATION_M_S2 * until_brakes);
            let gained = speed + gains * until_brakes;
            let fastest = gained.max(asked);
            f64::max((speed + gained) / 2.0, asked) * until_brakes + fastest * fastest / (2.0 * brakes)
        };
        let asked = self.program.asked;
        let over_ground = stops(over_ground, asked.0, GAINS_M_S2.0, MIN_BRAKING_M_S2.0) + POSITION_NOISE_M.0;
        let upright = stops(upright, asked.1, GAINS_M_S2.1, MIN_BRAKING_M_S2.1) + POSITION_NOISE_M.1;
        let Some((wide, high)) = route.depth(&here) else {
            return false;
        };
        wide >= over_ground && high >= upright
    }
}

/// Whether a vehicle that was taken back may still fly on in its former airspace: it is Skein's to stop, and was not observed to have
/// stopped.
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
        // Its mode shows a landing, a return, or somebody else.
        (FlightTruth::Airborne(_), Some(_)) => false,
    }
}

impl Lending {
    pub const fn flies(&self) -> bool {
        self.flies_in.is_some()
    }

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
            // Its mode shows a landing, or somebody else.
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
            // A program flew it in an earlier life of this agent, or somebody without a lease moves it.
            let stays = q.here().is_none_or(|(here, _)| center.is_about(&here));
            let begins = alive && inside && q.led && stays;
            // Its set-points so far were passed on, and move the vehicle.
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

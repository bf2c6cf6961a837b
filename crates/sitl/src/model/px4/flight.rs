//! PX4's flight of a multicopter, one step at a time: takeoff ramp, hold, landing, return, and falling.

use crate::model::airframe::{Airframe, Demand};
use crate::model::geo::Neu;
use crate::model::params::Params;

/// Time from spun-up motors to "takeoff detected".
const DETECT_S: f64 = 0.9;
/// Time from "takeoff detected" to lift-off.
const RAMP_S: f64 = 2.2;
const REACHED_M: f64 = 0.5;
/// NAV_MC_ALT_RAD: below its target, where a takeoff in the air is done.
const TAKEOFF_RADIUS_M: f64 = 0.8;
const THERE_M: f64 = 0.7;
/// NAV_MC_ALT_RAD.
pub(super) const NEAR_HEIGHT_M: f64 = 0.8;
/// Lower than this a takeoff goes over the ground first.
const LOW_M: f64 = 1.0;
const LAND_DETECT_S: f64 = 5.7;
/// Descends faster than MPC_Z_V_AUTO_DN high up, slower than MPC_LAND_SPEED near the ground (recorded).
const FAST_SHARE: f64 = 1.05;
const SLOW_SHARE: f64 = 0.93;
const HOME_REACHED_M: f64 = 1.5;
/// Flown share of the configured speeds (recorded).
const CRUISE_SHARE: f64 = 0.78;
const CLIMB_SHARE: f64 = 0.8;
/// Acceleration and braking over ground (recorded).
const GROUND_ACCEL_M_S2: f64 = 1.4;
/// Vertical speed per meter of missing altitude.
const HEIGHT_GAIN: f64 = 0.45;
/// A more distant takeoff never leaves the ground.
pub(super) const TOO_FAR_M: f64 = 5_000.0;

/// A target this low is below the ground: on the way it lands.
const BELOW_GROUND_M: f64 = -0.5;

/// PLD_SRCH_ALT and PLD_SRCH_TOUT, and the stop before (recorded: 12.2 s in all).
const SEARCH_HEIGHT_M: f64 = 10.0;
const SEARCH_S: f64 = 10.0;
const STOPS_S: f64 = 2.2;

/// Three motors out of four: it sinks fast and drifts to a stop.
const TUMBLE: Demand = Demand {
    climb_m_s: -6.0,
    climb_accel_m_s2: 6.0,
    towards: None,
    speed_m_s: 0.0,
    accel_m_s2: 1.0,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Flight {
    Landed,
    /// Still landed until `detected_s`.
    Spooling {
        detected_s: f64,
        to: Neu,
    },
    /// The thrust ramps up until `lifts_s`, then it climbs.
    TakingOff {
        lifts_s: f64,
        to: Neu,
    },
    /// Takeoff requested in the air.
    Rising {
        from: Neu,
        to: Neu,
    },
    Holding {
        at: Neu,
    },
    /// At its place up to the altitude of the item that it flies to first.
    ClimbingFirst {
        at: Neu,
        to: Neu,
    },
    /// Precision landing without a beacon in sight: it stops, then searches at an altitude of its own until `ends_s`.
    Searching {
        ends_s: f64,
    },
    Landing {
        touched_s: Option<f64>,
    },
    ReturnClimb {
        up_m: f64,
    },
    ReturnHome {
        up_m: f64,
    },
    /// Holds above home before it lands (RTL_LAND_DELAY), for good without `until_s`.
    ReturnHover {
        up_m: f64,
        until_s: Option<f64>,
    },
    /// OFFBOARD; `touched_s` while the set-points keep it on the ground.
    Steered {
        steer: Steer,
        touched_s: Option<f64>,
    },
    Falling,
    Tumbling,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Steer {
    To(Neu),
    /// Velocity, meters a second.
    At(Neu),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Nothing,
    TakeoffDetected,
    /// Ends a takeoff: the mode becomes Hold.
    HeightReached,
    ReturnLands,
    LandingDetected,
}

impl Flight {
    /// `None`: it never lifts off.
    pub(super) fn take_off(airframe: &Airframe, params: &Params, to: Neu, armed_s: f64, now_s: f64) -> Option<Self> {
        let near = airframe.position.ground_distance(to) <= TOO_FAR_M;
        let spun_up_s = armed_s + f64::from(params.get("COM_SPOOLUP_TIME"));
        near.then(|| Self::Spooling {
            detected_s: now_s.max(spun_up_s) + DETECT_S,
            to,
        })
    }

    /// The present altitude near home, else a cone around home between two altitudes.
    pub(super) fn return_height(airframe: &Airframe, params: &Params, home: Neu) -> f64 {
        let distance = airframe.position.ground_distance(home);
        if distance <= f64::from(params.get("RTL_MIN_DIST")) {
            return airframe.position.up;
        }
        let cone = distance.max(f64::from(params.get("RTL_DESCEND_ALT")));
        cone.min(f64::from(params.get("RTL_RETURN_ALT")))
            .max(airframe.position.up)
    }

    pub(super) const fn search(now_s: f64) -> Self {
        Self::Searching {
            ends_s: now_s + STOPS_S + SEARCH_S,
        }
    }

    pub(super) fn stop(airframe: &Airframe) -> Self {
        Self::Holding {
            at: airframe.stopping_point(GROUND_ACCEL_M_S2),
        }
    }

    pub(super) fn steered(steer: Steer) -> Self {
        Self::Steered { steer, touched_s: None }
    }

    pub(super) fn landed(self) -> bool {
        matches!(self, Self::Landed | Self::Spooling { .. })
    }

    pub(super) fn landed_state(self) -> u8 {
        match self {
            Self::Landed | Self::Spooling { .. } => 1,
            Self::TakingOff { .. } => 3,
            Self::Landing { .. } => 4,
            Self::Rising { .. }
            | Self::Holding { .. }
            | Self::ClimbingFirst { .. }
            | Self::Searching { .. }
            | Self::ReturnClimb { .. }
            | Self::ReturnHome { .. }
            | Self::ReturnHover { .. }
            | Self::Steered { .. }
            | Self::Falling
            | Self::Tumbling => 2,
        }
    }

    pub(super) fn step(
        &mut self,
        airframe: &mut Airframe,
        (params, cruise_m_s): (&Params, Option<f64>),
        home: Neu,
        now_s: f64,
        dt_s: f64,
    ) -> Outcome {
        match *self {
            Self::Landed => airframe.rest(),
            Self::Spooling { detected_s, to } => {
                airframe.rest();
                if now_s >= detected_s {
                    *self = Self::TakingOff {
                        lifts_s: now_s + RAMP_S,
                        to,
                    };
                    return Outcome::TakeoffDetected;
                }
            }
            Self::TakingOff { lifts_s, to } => {
                if now_s < lifts_s {
                    airframe.rest();
                    return Outcome::Nothing;
                }
                return self.rise(airframe, to, (params, cruise_m_s), (0.6, THERE_M), dt_s);
            }
            // Only its altitude counts, and it climbs along a straight line; low over the ground it goes there first.
            Self::Rising { from, to } => {
                let low = from.up < LOW_M;
                let part = if low { 0.0 } else { TAKEOFF_RADIUS_M / (to.up - from.up) };
                let done_m = (from.ground_distance(to) * part.clamp(0.0, 1.0)).max(THERE_M);
                return self.rise(airframe, to, (params, cruise_m_s), (1.0, done_m), dt_s);
            }
            Self::Holding { at } => {
                hold(airframe, at, (params, cruise_m_s), dt_s);
                if airframe.on_ground() && at.up < BELOW_GROUND_M {
                    *self = Self::steered(Steer::To(at));
                }
            }
            Self::ClimbingFirst { at, to } => {
                let top = Neu { up: to.up, ..at };
                hold(airframe, top, (params, cruise_m_s), dt_s);
                if to.up - airframe.position.up < NEAR_HEIGHT_M {
                    *self = Self::Holding { at: to };
                }
            }
            Self::Searching { ends_s } => {
                let up = if now_s < ends_s - SEARCH_S {
                    airframe.position.up
                } else {
                    SEARCH_HEIGHT_M
                };
                let at = Neu {
                    up,
                    ..airframe.stopping_point(GROUND_ACCEL_M_S2)
                };
                hold(airframe, at, (params, cruise_m_s), dt_s);
                if now_s >= ends_s {
                    *self = Self::Landing { touched_s: None };
                }
            }
            Self::Landing { touched_s } => return self.descend(airframe, params, touched_s, now_s, dt_s),
            Self::ReturnClimb { up_m } => {
                let at = Neu {
                    up: up_m,
                    ..airframe.position
                };
                hold(airframe, at, (params, cruise_m_s), dt_s);
                if up_m - airframe.position.up < REACHED_M {
                    *self = Self::ReturnHome { up_m };
                }
            }
            Self::ReturnHome { up_m } => {
                hold(airframe, Neu { up: up_m, ..home }, (params, cruise_m_s), dt_s);
                if airframe.position.ground_distance(home) < HOME_REACHED_M {
                    let delay_s = f64::from(params.get("RTL_LAND_DELAY"));
                    if delay_s == 0.0 {
                        *self = Self::Landing { touched_s: None };
                        return Outcome::ReturnLands;
                    }
                    *self = Self::ReturnHover {
                        up_m: up_m.min(home.up + f64::from(params.get("RTL_DESCEND_ALT"))),
                        until_s: (delay_s > 0.0).then_some(now_s + delay_s),
                    };
                }
            }
            Self::ReturnHover { up_m, until_s } => {
                hold(airframe, Neu { up: up_m, ..home }, (params, cruise_m_s), dt_s);
                if until_s.is_some_and(|until_s| now_s >= until_s) {
                    *self = Self::Landing { touched_s: None };
                    return Outcome::ReturnLands;
                }
            }
            Self::Steered { steer, touched_s } => {
                match steer {
                    Steer::To(at) => hold(airframe, at, (params, cruise_m_s), dt_s),
                    Steer::At(velocity) => drift(airframe, velocity, params, dt_s),
                }
                let touched_s = airframe.on_ground().then_some(touched_s.unwrap_or(now_s));
                *self = Self::Steered { steer, touched_s };
                if touched_s.is_some_and(|at| now_s >= at + LAND_DETECT_S) {
                    *self = Self::Landed;
                    return Outcome::LandingDetected;
                }
            }
            Self::Falling => {
                airframe.fall(dt_s);
                if airframe.on_ground() {
                    *self = Self::Landed;
                    return Outcome::LandingDetected;
                }
            }
            Self::Tumbling => {
                airframe.fly(TUMBLE, dt_s);
                if airframe.on_ground() {
                    *self = Self::Landed;
                    return Outcome::LandingDetected;
                }
            }
        }
        Outcome::Nothing
    }

    fn rise(
        &mut self,
        airframe: &mut Airframe,
        to: Neu,
        (params, cruise_m_s): (&Params, Option<f64>),
        (accel, done_m): (f64, f64),
        dt_s: f64,
    ) -> Outcome {
        let limit = f64::from(params.get("MPC_TKO_SPEED"));
        let rest = to.up - airframe.position.up;
        let speed = (2.0 * 0.6 * rest.max(0.0)).sqrt().clamp(0.3, limit);
        airframe.fly(
            Demand {
                climb_m_s: speed,
                climb_accel_m_s2: accel,
                ..over_ground(to, params, cruise_m_s)
            },
            dt_s,
        );
        if rest < REACHED_M && airframe.position.ground_distance(to) < done_m {
            *self = Self::Holding { at: to };
            return Outcome::HeightReached;
        }
        Outcome::Nothing
    }

    fn descend(
        &mut self,
        airframe: &mut Airframe,
        params: &Params,
        touched_s: Option<f64>,
        now_s: f64,
        dt_s: f64,
    ) -> Outcome {
        if let Some(at) = touched_s {
            airframe.rest();
            if now_s >= at + LAND_DETECT_S {
                *self = Self::Landed;
                return Outcome::LandingDetected;
            }
            return Outcome::Nothing;
        }
        let param = |name: &str| f64::from(params.get(name));
        let (slow, fast) = (
            SLOW_SHARE * param("MPC_LAND_SPEED"),
            FAST_SHARE * param("MPC_Z_V_AUTO_DN"),
        );
        let (low, high) = (param("MPC_LAND_ALT2"), param("MPC_LAND_ALT1"));
        let share = ((airframe.position.up - low) / (high - low).max(0.1)).clamp(0.0, 1.0);
        let demand = Demand {
            climb_m_s: -(slow + (fast - slow) * share),
            climb_accel_m_s2: 1.0,
            towards: None,
            speed_m_s: 0.0,
            accel_m_s2: 3.0,
        };
        airframe.fly(demand, dt_s);
        if airframe.on_ground() {
            *self = Self::Landing { touched_s: Some(now_s) };
        }
        Outcome::Nothing
    }
}

/// Gentle acceleration, below the commanded speed, else MPC_XY_CRUISE (recorded: 3.9 m/s of 5).
fn over_ground(to: Neu, params: &Params, cruise_m_s: Option<f64>) -> Demand {
    Demand {
        climb_m_s: 0.0,
        climb_accel_m_s2: 1.5,
        towards: Some(to),
        speed_m_s: CRUISE_SHARE * cruise_m_s.unwrap_or(f64::from(params.get("MPC_XY_CRUISE"))),
        accel_m_s2: GROUND_ACCEL_M_S2,
    }
}

fn drift(airframe: &mut Airframe, velocity: Neu, params: &Params, dt_s: f64) {
    const FAR_S: f64 = 1000.0;
    let towards = Neu {
        north: airframe.position.north + velocity.north * FAR_S,
        east: airframe.position.east + velocity.east * FAR_S,
        up: airframe.position.up,
    };
    let (up, down) = (params.get("MPC_Z_V_AUTO_UP"), params.get("MPC_Z_V_AUTO_DN"));
    airframe.fly(
        Demand {
            climb_m_s: velocity.up.clamp(-f64::from(down), f64::from(up)),
            climb_accel_m_s2: 1.5,
            towards: Some(towards),
            speed_m_s: velocity.north.hypot(velocity.east),
            accel_m_s2: GROUND_ACCEL_M_S2,
        },
        dt_s,
    );
}

/// Sinks to the ground with running motors: it never rests there by itself.
fn hold(airframe: &mut Airframe, at: Neu, (params, cruise_m_s): (&Params, Option<f64>), dt_s: f64) {
    let rest = at.up - airframe.position.up;
    let limit = f64::from(params.get(if rest > 0.0 {
        "MPC_Z_V_AUTO_UP"
    } else {
        "MPC_Z_V_AUTO_DN"
    }));
    let speed = (rest.abs() * HEIGHT_GAIN).min(limit * CLIMB_SHARE);
    airframe.fly(
        Demand {
            climb_m_s: speed.copysign(rest),
            ..over_ground(at, params, cruise_m_s)
        },
        dt_s,
    );
}

//! ArduCopter's flight, one step at a time: takeoff, guided flight, landing, return, and falling.

use crate::model::airframe::{Airframe, Demand};
use crate::model::geo::Neu;
use crate::model::params::Params;

/// Time from arming to the earliest takeoff.
const ARMING_DELAY_S: f64 = 2.3;
/// Time after arming in which LAND on the ground does not disarm.
pub(super) const MOTORS_HELD_S: f64 = 2.0;
const SPOOL_UP_S: f64 = 1.0;
/// Hover before a failsafe's landing, so that a pilot may take over.
pub(super) const FAILSAFE_PAUSE_S: f64 = 4.0;
/// Delay in LAND and RTL.
const LANDED_AFTER_TOUCH_S: f64 = 1.5;
const DISARM_AFTER_TOUCH_S: f64 = 2.08;
const LANDED_AFTER_FALL_S: f64 = 2.0;
/// Landed sooner by this if it is on the ground at the order to land.
const FELT_EARLIER_S: f64 = 0.5;
const CLIMB_ACCEL_M_S2: f64 = 1.0;
const LAND_BRAKES_M_S2: f64 = 0.5;
const SLOW_BEFORE_LOW_M: f64 = 0.25;
const STICK_SINK_M_S: f64 = 2.4;
/// Faster, a return first settles at its altitude.
const MOVING_M_S: f64 = 1.0;
const SETTLES_S: f64 = 6.0;
/// Duration of a tilt that counts as a crash.
const CRASH_NOTICED_S: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sink {
    Steadily,
    /// Steadily, but it stays in flight on the ground.
    Circling,
    Falling,
}

/// Commanded for the present mode, meters a second; `None`: as the parameters say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Speeds {
    pub(super) over_ground: Option<f64>,
    pub(super) up: Option<f64>,
    pub(super) down: Option<f64>,
}

impl Speeds {
    fn of(ordered: Option<f64>, params: &Params, name: &str) -> f64 {
        ordered.unwrap_or(f64::from(params.get(name)) / 100.0)
    }

    fn ground(self, params: &Params) -> f64 {
        Self::of(self.over_ground, params, "WPNAV_SPEED")
    }

    fn climb(self, params: &Params) -> f64 {
        Self::of(self.up, params, "WPNAV_SPEED_UP")
    }

    fn descent(self, params: &Params) -> f64 {
        Self::of(self.down, params, "WPNAV_SPEED_DN")
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Flight {
    Landed,
    /// Still landed until `begins_s`.
    Spooling {
        begins_s: f64,
        to_up_m: f64,
    },
    Hopping {
        from_s: f64,
        until_s: f64,
    },
    Climbing {
        to_up_m: f64,
    },
    Guided {
        target: Neu,
    },
    /// Meters a second, as limited by the fence, until the set-point is too old.
    Steered {
        wanted: Neu,
        allowed: Neu,
        until_s: f64,
    },
    Landing {
        from_s: f64,
        touched_s: Option<f64>,
    },
    ReturnClimb {
        to_up_m: f64,
        until_s: f64,
    },
    ReturnHome {
        up_m: f64,
    },
    ReturnLoiter {
        until_s: f64,
        up_m: f64,
    },
    /// Holds above home for good (RTL_ALT_FINAL).
    ReturnHover {
        up_m: f64,
    },
    Sinking {
        how: Sink,
        touched_s: Option<f64>,
    },
    Falling,
    /// A motor failed: it cannot hold its altitude; `down_s` once it is on the ground.
    Crashing {
        down_s: Option<f64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Nothing,
    /// Millimeters a second.
    HitGround(u32),
    /// Landing in an automatic mode: motors go off.
    LandedForGood,
    /// Tilted on the ground for a while: motors go off.
    Crashed,
}

impl Flight {
    pub(super) fn take_off(now_s: f64, armed_s: f64, to_up_m: f64) -> Self {
        Self::Spooling {
            begins_s: now_s.max(armed_s + ARMING_DELAY_S) + SPOOL_UP_S,
            to_up_m,
        }
    }

    pub(super) fn land(from_s: f64) -> Self {
        Self::Landing {
            from_s,
            touched_s: None,
        }
    }

    /// Climbs no higher than the cone around `home` at the airframe's place.
    pub(super) fn go_home(airframe: &Airframe, params: &Params, home: Neu, now_s: f64) -> Self {
        const LEAST_SLOPE: f64 = 0.5;
        let here = airframe.position;
        let slope = f64::from(params.get("RTL_CONE_SLOPE"));
        let cone_m = if slope >= LEAST_SLOPE {
            here.ground_distance(home) * slope
        } else {
            f64::INFINITY
        };
        let least_m = here.up + f64::from(params.get("RTL_CLIMB_MIN")).max(0.0) / 100.0;
        let to_up_m = (f64::from(params.get("RTL_ALT")) / 100.0).min(cone_m).max(least_m);
        let moving = airframe.velocity.up.abs() > MOVING_M_S;
        Self::ReturnClimb {
            to_up_m,
            until_s: now_s + if moving { SETTLES_S } else { 0.0 },
        }
    }

    /// MAV_LANDED_STATE.
    pub(super) fn landed_state(self, landed_now: bool) -> u8 {
        match self {
            _ if landed_now => 1,
            Self::Climbing { .. } => 3,
            Self::Landing { .. } => 4,
            _ => 2,
        }
    }

    pub(super) fn landed(self, now_s: f64) -> bool {
        match self {
            Self::Landed | Self::Spooling { .. } => true,
            Self::Hopping { from_s, .. } => now_s < from_s,
            Self::Landing {
                touched_s: Some(at), ..
            } => now_s >= at + LANDED_AFTER_TOUCH_S,
            _ => false,
        }
    }

    /// `home` is the target of RTL.
    pub(super) fn step(
        &mut self,
        airframe: &mut Airframe,
        (params, speeds): (&Params, Speeds),
        home: Neu,
        now_s: f64,
        dt_s: f64,
    ) -> Outcome {
        match *self {
            Self::Landed => airframe.rest(),
            Self::Spooling { begins_s, to_up_m } => {
                airframe.rest();
                if now_s >= begins_s {
                    *self = Self::Climbing { to_up_m };
                }
            }
            Self::Hopping { until_s, .. } => {
                airframe.rest();
                if now_s >= until_s {
                    *self = Self::Landed;
                }
            }
            Self::Climbing { to_up_m } => {
                let spot = airframe.position;
                climb(airframe, to_up_m, None, (params, speeds), dt_s);
                if to_up_m - airframe.position.up < 0.05 {
                    *self = Self::Guided {
                        target: Neu { up: to_up_m, ..spot },
                    };
                }
            }
            Self::Guided { target } => climb(airframe, target.up, Some(target), (params, speeds), dt_s),
            Self::Steered { allowed, until_s, .. } => {
                drift(airframe, allowed, (params, speeds), dt_s);
                if now_s >= until_s {
                    *self = Self::Guided {
                        target: airframe.stopping_point(accel(params)),
                    };
                }
            }
            Self::Landing { from_s, .. } if now_s < from_s && !airframe.on_ground() => {
                climb(airframe, airframe.position.up, None, (params, speeds), dt_s);
            }
            Self::Landing { touched_s, .. } => {
                return self.descend(airframe, (params, speeds), touched_s, now_s, dt_s);
            }
            Self::ReturnClimb { to_up_m, until_s } => {
                climb(airframe, to_up_m, None, (params, speeds), dt_s);
                if to_up_m - airframe.position.up < 0.3 && now_s >= until_s {
                    *self = Self::ReturnHome { up_m: to_up_m };
                }
            }
            Self::ReturnHome { up_m } => {
                climb(airframe, up_m, Some(home), (params, speeds), dt_s);
                if airframe.position.ground_distance(home) < 0.3 {
                    let until_s = now_s + f64::from(params.get("RTL_LOIT_TIME")) / 1000.0;
                    *self = Self::ReturnLoiter { until_s, up_m };
                }
            }
            Self::ReturnLoiter { until_s, up_m } => {
                climb(airframe, up_m, Some(home), (params, speeds), dt_s);
                let final_m = f64::from(params.get("RTL_ALT_FINAL")) / 100.0;
                if now_s >= until_s {
                    *self = match final_m > 0.0 {
                        true => Self::ReturnHover {
                            up_m: home.up + final_m,
                        },
                        false => Self::land(now_s),
                    };
                }
            }
            Self::ReturnHover { up_m } => climb(airframe, up_m, Some(home), (params, speeds), dt_s),
            Self::Sinking { how, touched_s } => return self.sink(airframe, (how, touched_s), now_s, dt_s),
            Self::Crashing { down_s: Some(at) } => {
                airframe.rest();
                if now_s >= at + CRASH_NOTICED_S {
                    *self = Self::Landed;
                    return Outcome::Crashed;
                }
            }
            Self::Crashing { down_s: None } => {
                let speed = airframe.velocity.up.abs();
                airframe.fall(dt_s);
                if airframe.on_ground() {
                    *self = Self::Crashing { down_s: Some(now_s) };
                    return Outcome::HitGround((speed * 1000.0) as u32);
                }
            }
            Self::Falling => {
                airframe.fall(dt_s);
                if airframe.on_ground() {
                    *self = Self::Landed;
                }
            }
        }
        Outcome::Nothing
    }

    fn descend(
        &mut self,
        airframe: &mut Airframe,
        (params, speeds): (&Params, Speeds),
        touched_s: Option<f64>,
        now_s: f64,
        dt_s: f64,
    ) -> Outcome {
        if let Some(at) = touched_s {
            airframe.rest();
            if now_s >= at + DISARM_AFTER_TOUCH_S {
                *self = Self::Landed;
                return Outcome::LandedForGood;
            }
            return Outcome::Nothing;
        }
        if airframe.on_ground() {
            // Already on the ground in another mode: detected at once.
            *self = Self::Landing {
                from_s: now_s,
                touched_s: Some(now_s - FELT_EARLIER_S),
            };
            return Outcome::Nothing;
        }
        let slow = f64::from(params.get("LAND_SPEED")) / 100.0;
        let fast = speeds.descent(params);
        // It brakes gently, and is slow shortly above the low altitude.
        let above_low = airframe.position.up - f64::from(params.get("LAND_ALT_LOW")) / 100.0 - SLOW_BEFORE_LOW_M;
        let speed = if above_low > 0.0 {
            let braking = 2.0 * LAND_BRAKES_M_S2 * above_low;
            (slow * slow + braking).sqrt().clamp(slow, fast.max(slow))
        } else {
            slow
        };
        let demand = Demand {
            climb_m_s: -speed,
            climb_accel_m_s2: 1.0,
            towards: None,
            speed_m_s: 0.0,
            accel_m_s2: 2.5,
        };
        let speed_before = airframe.velocity.up.abs();
        airframe.fly(demand, dt_s);
        if airframe.on_ground() {
            *self = Self::Landing {
                from_s: now_s,
                touched_s: Some(now_s),
            };
            return Outcome::HitGround((speed_before * 1000.0) as u32);
        }
        Outcome::Nothing
    }

    fn sink(
        &mut self,
        airframe: &mut Airframe,
        (how, touched_s): (Sink, Option<f64>),
        now_s: f64,
        dt_s: f64,
    ) -> Outcome {
        if let Some(at) = touched_s {
            airframe.rest();
            let landed_after_s = match how {
                Sink::Steadily => LANDED_AFTER_TOUCH_S,
                Sink::Falling => LANDED_AFTER_FALL_S,
                Sink::Circling => f64::INFINITY,
            };
            if now_s >= at + landed_after_s {
                *self = Self::Landed;
            }
            return Outcome::Nothing;
        }
        let demand = Demand {
            climb_m_s: -STICK_SINK_M_S,
            climb_accel_m_s2: 1.5,
            towards: None,
            speed_m_s: 0.0,
            accel_m_s2: 2.5,
        };
        let speed_before = airframe.velocity.up.abs();
        if how == Sink::Falling {
            airframe.fall(dt_s);
        } else {
            airframe.fly(demand, dt_s);
        }
        if airframe.on_ground() {
            *self = Self::Sinking {
                how,
                touched_s: Some(now_s),
            };
            return Outcome::HitGround((speed_before * 1000.0) as u32);
        }
        Outcome::Nothing
    }
}

/// The real one limits jerk too, with the effect of about 0.7 of the acceleration.
fn accel(params: &Params) -> f64 {
    f64::from(params.get("WPNAV_ACCEL")) / 100.0 * 0.7
}

fn drift(airframe: &mut Airframe, velocity: Neu, (params, speeds): (&Params, Speeds), dt_s: f64) {
    const FAR_S: f64 = 1000.0;
    let towards = Neu {
        north: airframe.position.north + velocity.north * FAR_S,
        east: airframe.position.east + velocity.east * FAR_S,
        up: airframe.position.up,
    };
    airframe.fly(
        Demand {
            climb_m_s: velocity.up.clamp(-speeds.descent(params), speeds.climb(params)),
            climb_accel_m_s2: CLIMB_ACCEL_M_S2,
            towards: Some(towards),
            speed_m_s: velocity.north.hypot(velocity.east).min(speeds.ground(params)),
            accel_m_s2: accel(params),
        },
        dt_s,
    );
}

fn climb(airframe: &mut Airframe, to_up_m: f64, towards: Option<Neu>, (params, speeds): (&Params, Speeds), dt_s: f64) {
    let rest = to_up_m - airframe.position.up;
    let limit = if rest > 0.0 {
        speeds.climb(params)
    } else {
        speeds.descent(params)
    };
    let speed = (2.0 * 0.56 * rest.abs()).sqrt().min(rest.abs() * 3.0).min(limit);
    airframe.fly(
        Demand {
            climb_m_s: speed.copysign(rest),
            climb_accel_m_s2: CLIMB_ACCEL_M_S2,
            towards,
            speed_m_s: speeds.ground(params),
            accel_m_s2: accel(params),
        },
        dt_s,
    );
}

//! Point mass that follows speed demands within acceleration limits, above flat ground at altitude 0.

use super::geo::Neu;

const GRAVITY_M_S2: f64 = 9.8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Up positive.
    pub climb_m_s: f64,
    pub climb_accel_m_s2: f64,
    /// Over ground; `None` stops.
    pub towards: Option<Neu>,
    pub speed_m_s: f64,
    pub accel_m_s2: f64,
}

/// Meters from the place of boot, up from the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Airframe {
    pub position: Neu,
    pub velocity: Neu,
    /// Clockwise from north, 0 to 360.
    pub heading_deg: f64,
    turns_to_deg: f64,
    /// Wind in the air: meters a second for each second, which power can work against, and meters a second besides.
    pushed: Neu,
    shaken: Neu,
}

/// Wind that leaning can hold, beside the flight.
const LEANS_M_S2: f64 = 4.0;
const TURNS_DEG_S: f64 = 45.0;
/// No turn to a nearer place.
const TURNS_FOR_M: f64 = 2.0;

impl Airframe {
    pub fn rest(&mut self) {
        self.position.up = 0.0;
        self.velocity = Neu::default();
    }

    pub fn blown(&mut self, pushed: Neu, shaken: Neu) {
        (self.pushed, self.shaken) = (pushed, shaken);
    }

    fn drift(&mut self, held_m_s2: f64, dt_s: f64) {
        if !self.on_ground() {
            let push = self.pushed.north.hypot(self.pushed.east);
            let rest = if push > held_m_s2 { 1.0 - held_m_s2 / push } else { 0.0 };
            self.velocity.north += self.pushed.north * rest * dt_s;
            self.velocity.east += self.pushed.east * rest * dt_s;
            self.position.north += self.shaken.north * dt_s;
            self.position.east += self.shaken.east * dt_s;
        }
    }

    pub fn turn_to(&mut self, heading_deg: f64) {
        self.turns_to_deg = heading_deg.rem_euclid(360.0);
    }

    pub fn look_to(&mut self, place: Neu) {
        if self.position.ground_distance(place) >= TURNS_FOR_M {
            let (north, east) = (place.north - self.position.north, place.east - self.position.east);
            self.turn_to(east.atan2(north).to_degrees());
        }
    }

    pub fn on_ground(&self) -> bool {
        self.position.up <= 0.0
    }

    /// Where it stops if it brakes now, at its present altitude.
    pub fn stopping_point(&self, accel_m_s2: f64) -> Neu {
        let seconds = self.velocity.north.hypot(self.velocity.east) / (2.0 * accel_m_s2.max(0.01));
        Neu {
            north: self.position.north + self.velocity.north * seconds,
            east: self.position.east + self.velocity.east * seconds,
            up: self.position.up,
        }
    }

    pub fn fall(&mut self, dt_s: f64) {
        self.velocity.up -= GRAVITY_M_S2 * dt_s;
        self.drift(0.0, dt_s);
        self.advance(dt_s);
    }

    pub fn fly(&mut self, demand: Demand, dt_s: f64) {
        let to_climb = demand.climb_m_s - self.velocity.up;
        self.velocity.up += to_climb.clamp(-demand.climb_accel_m_s2 * dt_s, demand.climb_accel_m_s2 * dt_s);
        self.drift(LEANS_M_S2, dt_s);
        let (want_north, want_east) = self.wanted_ground_velocity(demand);
        let (north, east) = (want_north - self.velocity.north, want_east - self.velocity.east);
        let change = north.hypot(east);
        let scale = if change > 0.0 {
            (demand.accel_m_s2 * dt_s / change).min(1.0)
        } else {
            0.0
        };
        self.velocity.north += north * scale;
        self.velocity.east += east * scale;
        self.advance(dt_s);
    }

    fn wanted_ground_velocity(&self, demand: Demand) -> (f64, f64) {
        let Some(target) = demand.towards else {
            return (0.0, 0.0);
        };
        let distance = self.position.ground_distance(target);
        if distance < 0.02 {
            return (0.0, 0.0);
        }
        let braking = (2.0 * 0.5 * demand.accel_m_s2 * distance).sqrt().min(distance * 1.5);
        let speed = demand.speed_m_s.min(braking);
        let (north, east) = (target.north - self.position.north, target.east - self.position.east);
        (north / distance * speed, east / distance * speed)
    }

    fn advance(&mut self, dt_s: f64) {
        self.position.north += self.velocity.north * dt_s;
        self.position.east += self.velocity.east * dt_s;
        self.position.up += self.velocity.up * dt_s;
        let left = (self.turns_to_deg - self.heading_deg + 180.0).rem_euclid(360.0) - 180.0;
        let turn = left.clamp(-TURNS_DEG_S * dt_s, TURNS_DEG_S * dt_s);
        self.heading_deg = (self.heading_deg + turn).rem_euclid(360.0);
        if self.position.up <= 0.0 && self.velocity.up <= 0.0 {
            self.rest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_turns_the_shorter_way_and_not_for_a_place_that_is_near() {
        let mut airframe = Airframe {
            heading_deg: 350.0,
            ..Airframe::default()
        };
        airframe.turn_to(20.0);
        airframe.position.up = 10.0;
        airframe.advance(0.4);
        assert!((airframe.heading_deg - 8.0).abs() < 1e-9, "{airframe:?}");
        airframe.advance(1.0);
        assert!((airframe.heading_deg - 20.0).abs() < 1e-9, "{airframe:?}");
        airframe.look_to(Neu {
            north: -1.0,
            ..airframe.position
        });
        airframe.advance(9.0);
        assert!((airframe.heading_deg - 20.0).abs() < 1e-9, "{airframe:?}");
        airframe.look_to(Neu {
            north: 0.0,
            east: -30.0,
            up: 0.0,
        });
        airframe.advance(9.0);
        assert!((airframe.heading_deg - 270.0).abs() < 1e-9, "{airframe:?}");
    }

    #[test]
    fn a_wind_within_its_power_moves_a_vehicle_little_and_a_stronger_one_takes_it_along() {
        let held = |push: f64| {
            let at = Neu {
                up: 10.0,
                ..Neu::default()
            };
            let mut airframe = Airframe {
                position: at,
                ..Airframe::default()
            };
            airframe.blown(
                Neu {
                    east: push,
                    ..Neu::default()
                },
                Neu {
                    east: 0.4,
                    ..Neu::default()
                },
            );
            let demand = Demand {
                climb_m_s: 0.0,
                climb_accel_m_s2: 1.0,
                towards: Some(at),
                speed_m_s: 10.0,
                accel_m_s2: 2.5,
            };
            for _ in 0..50 * 10 {
                airframe.fly(demand, 0.02);
            }
            airframe.position.east
        };
        let (held, lost) = (held(2.0), held(8.0));
        assert!(held > 0.1 && held < 0.5, "{held}");
        assert!(lost > 20.0, "{lost}");
    }

    #[test]
    fn a_vehicle_stops_at_its_target_without_running_past_it_far() {
        let mut airframe = Airframe {
            position: Neu {
                up: 10.0,
                ..Neu::default()
            },
            ..Airframe::default()
        };
        let target = Neu {
            north: 30.0,
            east: 0.0,
            up: 10.0,
        };
        let demand = Demand {
            climb_m_s: 0.0,
            climb_accel_m_s2: 1.0,
            towards: Some(target),
            speed_m_s: 10.0,
            accel_m_s2: 2.5,
        };
        let mut furthest: f64 = 0.0;
        for _ in 0..800 {
            airframe.fly(demand, 0.02);
            furthest = furthest.max(airframe.position.north);
        }
        assert!((airframe.position.north - 30.0).abs() < 0.1, "{airframe:?}");
        assert!(furthest < 31.0, "{furthest}");
    }
}

//! Whether a vehicle that should hold is at its place, and whether it falls.
//!
//! Owns: [`Watch`], what is remembered of one flight for that, and [`Astray`], what is found. Must not: command anything: a finding is
//! reported at once and shown in the status. A vehicle that is late on the way to an altitude is for `fleet::planning::drone::height`.
//!
//!   Unwatched --at its altitude--> Holds --farther off than the tolerance for CONFIRMED_AFTER--> Astray --back within half of it--> Holds
//!   any --sinks faster than ordered--> Falls --holds its altitude again, or motors off--> Holds, Unwatched

use crate::time::{Moment, Sighting};
use crate::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use crate::vehicle::{FlightTruth, Mode, Position, TRUTH_STALE_AFTER, Vehicle};
use std::time::Duration;

/// Time that readings must show a deviation: one reading may be noise, and a gust passes.
const CONFIRMED_AFTER: Duration = Duration::from_millis(800);

/// Time that readings must show a fall: at 9.8 m/s² that is a second after the motors stopped.
const FALLS_FOR: Duration = Duration::from_millis(300);

/// Largest distance over ground from the place where it holds, meters.
pub const PLACE_TOLERANCE: f64 = 10.0;

/// Largest distance from the altitude that it holds, meters: altitudes and home drift by a meter or two.
pub const DRIFTS: f64 = 3.0;

/// Sink rate of a fall while it should hold or climb, meters per second.
const SINKS_WHILE_HOLDING: f64 = 3.0;

/// Sink rate of a fall in a descent, meters per second: autopilots land and return at 0.5 to 3 by default.
const SINKS_WHILE_DESCENDING: f64 = 6.0;

/// Meters: six, and less where that would be the ground.
pub fn height_tolerance(asked: AltitudeAboveHome) -> f64 {
    (asked.0 * 0.4).clamp(2.0, 6.0)
}

/// What a vehicle that should hold does instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Astray {
    /// It sank far faster than ordered, and has not held its altitude since.
    Fell {
        /// Altitude when that was found.
        from: AltitudeAboveHome,
    },
    Height {
        /// When that was found.
        at: AltitudeAboveHome,
    },
    Place {
        /// When that was found, meters.
        off: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    pub height: AltitudeAboveHome,
    /// Over ground; `None`: wherever it is once it is at its altitude.
    pub place: Option<Wgs84>,
    /// Whether it is on its way there along a route.
    pub moves: bool,
    /// Whether the agent may hold, climb or land it: nobody else is in command.
    pub ours: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Watch {
    /// The altitude that it has reached.
    height: Option<AltitudeAboveHome>,
    place: Option<Wgs84>,
    /// Then. DO_SET_HOME may move home in flight, which moves no vehicle that holds.
    amsl: Option<AltitudeAmsl>,
    falls_since: Option<Moment>,
    off_since: Option<Moment>,
    astray: Option<Astray>,
    last: Option<Moment>,
}

impl Watch {
    pub const fn astray(&self) -> Option<Astray> {
        self.astray
    }

    /// Whether it has reached `asked` since that was ordered.
    pub fn arrived(&self, asked: AltitudeAboveHome) -> bool {
        self.height.is_some_and(|height| same(height, asked))
    }

    /// Call it after every change.
    pub fn observe(&mut self, vehicle: &Vehicle, asked: Option<Asked>, now: Moment) {
        let flies = matches!(vehicle.truth(now), FlightTruth::Airborne(_));
        if vehicle.truth(now) == FlightTruth::Disarmed {
            *self = Self::default();
            return;
        }
        let Some(asked) = asked.filter(|asked| asked.ours) else {
            // Not checked while somebody else flies; a fall stays found.
            *self = Self {
                astray: self.astray.filter(|astray| matches!(astray, Astray::Fell { .. })),
                ..Self::default()
            };
            return;
        };
        // Unknown is not landed: what was found stays.
        if !flies {
            return;
        }
        let Some(reading) = vehicle.position.filter(|p| p.fresh(now, TRUTH_STALE_AFTER).is_some()) else {
            return;
        };
        if self.last == Some(reading.at) {
            return;
        }
        self.last = Some(reading.at);
        let mode = vehicle.mode(now);
        self.check_for_a_fall(vehicle, &reading, asked, mode);
        self.check_for_drift(&reading, asked, mode);
    }

    fn check_for_a_fall(&mut self, vehicle: &Vehicle, reading: &Sighting<Position>, asked: Asked, mode: Option<Mode>) {
        let limit = match mode {
            Some(Mode::Station | Mode::Takeoff) => SINKS_WHILE_HOLDING,
            Some(Mode::Land | Mode::Return | Mode::Mission | Mode::Foreign) | None => SINKS_WHILE_DESCENDING,
        };
        let sinks = vehicle.sink_m_s.filter(|s| s.at == reading.at).map_or(0.0, |s| s.value);
        // On its way to another altitude it may be ordered down.
        let under_way = mode == Some(Mode::Station) && !self.arrived(asked.height);
        if sinks < if under_way { SINKS_WHILE_DESCENDING } else { limit } {
            self.falls_since = None;
            return;
        }
        let since = *self.falls_since.get_or_insert(reading.at);
        if reading.at.since(since) >= FALLS_FOR && !matches!(self.astray, Some(Astray::Fell { .. })) {
            self.astray = Some(Astray::Fell {
                from: reading.value.above_home,
            });
        }
    }

    fn check_for_drift(&mut self, reading: &Sighting<Position>, asked: Asked, mode: Option<Mode>) {
        let at = reading.value;
        let tolerance = height_tolerance(asked.height);
        let above_home = (at.above_home.0 - asked.height.0).abs();
        if asked.moves {
            (self.height, self.place, self.amsl) = (None, None, None);
        }
        if mode != Some(Mode::Station) || asked.moves {
            self.off_since = None;
            return;
        }
        if !self.arrived(asked.height) {
            self.height = (above_home <= tolerance / 2.0).then_some(asked.height);
            if self.height.is_some() {
                self.amsl = Some(at.amsl);
                self.place = asked.place.or(self.place).or(Some(at.at));
                self.astray = self.astray.filter(|_| self.falls_since.is_some());
            }
            return;
        }
        let off_height = self
            .amsl
            .map_or(above_home, |amsl| above_home.min((at.amsl.0 - amsl.0).abs()));
        let off_place = self.place.map_or(0.0, |place| at.at.meters_to(place));
        let found = if off_height > tolerance {
            Some(Astray::Height { at: at.above_home })
        } else if off_place > PLACE_TOLERANCE {
            Some(Astray::Place { off: off_place })
        } else {
            None
        };
        match (found, self.astray) {
            // Reported once, not at each meter.
            (Some(_), Some(_)) => {}
            (Some(found), None) => {
                let since = *self.off_since.get_or_insert(reading.at);
                if reading.at.since(since) >= CONFIRMED_AFTER {
                    self.astray = Some(found);
                }
            }
            (None, Some(_)) if off_height <= tolerance / 2.0 && off_place <= PLACE_TOLERANCE / 2.0 => {
                self.off_since = None;
                if self.falls_since.is_none() {
                    self.astray = None;
                }
            }
            (None, _) => self.off_since = None,
        }
    }
}

fn same(one: AltitudeAboveHome, other: AltitudeAboveHome) -> bool {
    (one.0 - other.0).abs() < 0.05
}

#[cfg(test)]
mod tests;

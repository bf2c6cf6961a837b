//! Whether a vehicle that holds is where it was asked to hold, and whether it falls.
//!
//! Owns: [`Watch`], what is remembered of one flight for that, and [`Astray`], what is found. Must not: command anything: what is
//! found is reported at once, and shown in the status. A vehicle that is late on the way to a height is for
//! `fleet::planning::drone::height`.
//!
//!   Unwatched --at its height--> Holds --farther off than the tolerance for CONFIRMED_AFTER--> Astray --back within half of it--> Holds
//!   any --sinks faster than ordered--> Falls --holds its height again, or motors off--> Holds, Unwatched

use crate::time::{Moment, Sighting};
use crate::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use crate::vehicle::{FlightTruth, Mode, Position, TRUTH_STALE_AFTER, Vehicle};
use std::time::Duration;

/// A deviation counts once readings have shown it for this long: one reading may be noise, and a gust passes.
const CONFIRMED_AFTER: Duration = Duration::from_millis(800);

/// A fall counts once readings have shown it for this long: at 9.8 m/s² that is a second after the motors stopped.
const FALLS_FOR: Duration = Duration::from_millis(300);

/// Farther than this from the place where it held, meters over ground, a vehicle is not there.
pub const PLACE_TOLERANCE: f64 = 10.0;

/// A vehicle that is no farther than this from its height holds it, meters: heights drift by a meter or two, and home does too.
pub const DRIFTS: f64 = 3.0;

/// A vehicle that holds or climbs does not sink as fast as this, meters per second, unless it falls.
const SINKS_WHILE_HOLDING: f64 = 3.0;

/// No autopilot descends as fast as this by its usual settings, meters per second: they land and return at 0.5 to 3.
const SINKS_WHILE_DESCENDING: f64 = 6.0;

/// How far a vehicle may be from its height, meters: six, and less where that would be the ground.
pub fn height_tolerance(asked: AltitudeAboveHome) -> f64 {
    (asked.0 * 0.4).clamp(2.0, 6.0)
}

/// What a vehicle that should hold does instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Astray {
    /// It sinks far faster than ordered, or has done so and not held its height since.
    Fell {
        /// Height at which that was found.
        from: AltitudeAboveHome,
    },
    Height {
        /// Where it was when that was found.
        at: AltitudeAboveHome,
    },
    Place {
        /// How far it was from it when that was found, meters.
        off: f64,
    },
}

/// What the agent asks of the vehicle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// The height that the vehicle should hold.
    pub height: AltitudeAboveHome,
    /// The place over ground that it should hold; `None`: wherever it is once it is at its height.
    pub place: Option<Wgs84>,
    /// Whether it is on its way there along a route.
    pub moves: bool,
    /// Whether it is the agent's to hold, climb or land: nobody else is in command.
    pub ours: bool,
}

/// What is remembered of one vehicle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Watch {
    /// The height that it has reached.
    height: Option<AltitudeAboveHome>,
    place: Option<Wgs84>,
    /// Its altitude then. Home may be set again in flight (DO_SET_HOME), which moves no vehicle that holds.
    amsl: Option<AltitudeAmsl>,
    falls_since: Option<Moment>,
    off_since: Option<Moment>,
    astray: Option<Astray>,
    last: Option<Moment>,
}

impl Watch {
    /// What it does instead of holding, if it does.
    pub const fn astray(&self) -> Option<Astray> {
        self.astray
    }

    /// Whether it has been at its height since it was asked for it.
    pub fn arrived(&self, asked: AltitudeAboveHome) -> bool {
        self.height.is_some_and(|height| same(height, asked))
    }

    /// Takes in where the vehicle is and what is asked of it. Call it after every change.
    pub fn observe(&mut self, vehicle: &Vehicle, asked: Option<Asked>, now: Moment) {
        let flies = matches!(vehicle.truth(now), FlightTruth::Airborne(_));
        if vehicle.truth(now) == FlightTruth::Disarmed {
            *self = Self::default();
            return;
        }
        let Some(asked) = asked.filter(|asked| asked.ours) else {
            // Where somebody else flies it is not ours to check; that it fell stays true.
            *self = Self {
                astray: self.astray.filter(|astray| matches!(astray, Astray::Fell { .. })),
                ..Self::default()
            };
            return;
        };
        // Not known is not landed: what was found stays.
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
        // On its way to another height it may be ordered to go down.
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
            // It is reported once what it does, not at each meter.
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

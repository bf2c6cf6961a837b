//! Findings about the failsafes and the return of an autopilot, by the parameters that were read.

use crate::contact::{FAIL_OVER_TAKES, grace};
use fleet::flight::preflight::Findings;
use model::parameter_meaning::{Meaning, Name, names};
use model::vehicle::Autopilot;
use std::time::Duration;

/// Less than this, and a heartbeat or two that were lost on the line bring the vehicle home.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(4);
/// A return that climbs higher is hardly meant, meters above home.
const PLAUSIBLE_RETURN_M: f64 = 500.0;
/// The widest acceptance radius with which a route is flown as it is claimed, meters: PX4 cuts its corners by as much as it is told to.
const WIDEST_RADIUS_M: f64 = model::plan::ACCEPTANCE_RADIUS.0;
/// A float32 of 2 m may be read back a little above.
const RADIUS_ROUNDS_BY_M: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ours {
    pub heartbeat: bool,
    /// `spec.failsafe.coordinatorLossSeconds`.
    pub loss: Duration,
}

impl Default for Ours {
    fn default() -> Self {
        Self {
            heartbeat: false,
            loss: model::assignment::Failsafe::default().after,
        }
    }
}

pub(super) const READ: [Meaning; 18] = [
    Meaning::GroundStationLossAction,
    Meaning::LowBatteryAction,
    Meaning::GroundStationLossTime,
    Meaning::ReturnAltitude,
    Meaning::ReturnAltitudeType,
    Meaning::GroundStationLossExceptions,
    Meaning::LowBatteryVoltage,
    Meaning::LowBatteryCharge,
    Meaning::ReturnFinalAltitude,
    Meaning::ReturnHoverTime,
    Meaning::ReturnClimbMinimum,
    Meaning::ReturnType,
    Meaning::WaypointRadius,
    Meaning::RallyPoints,
    Meaning::CriticalBatteryAction,
    Meaning::RemoteControlLossAction,
    Meaning::FenceAction,
    Meaning::RemoteIdAction,
];

#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) name: &'static Name,
    pub(super) number: f64,
}

impl Stored {
    /// In the unit of its meaning.
    pub(super) fn value(&self) -> f64 {
        self.name.read(self.number)
    }

    /// "RTL_ALT is 1500 cm (15 m)".
    fn words(&self) -> String {
        format!("{} is {}", self.name.name, self.name.value_words(self.number))
    }

    fn set_to(&self, value: f64) -> f64 {
        self.name.write(value)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    Stored(Stored),
    Asked,
    /// No answer came, or the autopilot has none under any name, though every version that is known has.
    Unknown,
    /// The autopilot has none, as some versions.
    NotThere,
}

impl Known {
    const fn stored(self) -> Option<Stored> {
        match self {
            Self::Stored(stored) => Some(stored),
            Self::Asked | Self::Unknown | Self::NotThere => None,
        }
    }
}

#[derive(Debug)]
struct Action {
    /// The meaning of 0.
    off: &'static str,
    /// The values that hold the vehicle, land it where it is or bring it straight home.
    on: &'static [f64],
    /// The values that bring it down by a way that nobody else knows.
    detours: &'static [f64],
    /// The end of a sentence.
    remedy: &'static str,
}

const GROUND_STATION_OFF: &str = "the vehicle flies on when agent and ground station are gone";

const fn ground_station(autopilot: Autopilot) -> Action {
    match autopilot {
        Autopilot::ArduPilot => Action {
            off: GROUND_STATION_OFF,
            on: &[1.0, 5.0, 7.0],
            detours: &[3.0, 4.0, 6.0],
            remedy: "5 (land) or 1 (return), and run the agent with --gcs-heartbeat or a ground station",
        },
        Autopilot::Px4 => Action {
            off: GROUND_STATION_OFF,
            on: &[1.0, 2.0, 3.0],
            detours: &[],
            remedy: "3 (land) or 2 (return), and run the agent with --gcs-heartbeat or a ground station",
        },
    }
}

const fn low_battery(autopilot: Autopilot) -> Action {
    match autopilot {
        Autopilot::ArduPilot => Action {
            off: "the autopilot does nothing about a low battery",
            on: &[1.0, 2.0, 7.0],
            detours: &[3.0, 4.0, 6.0],
            remedy: "2 (return) or 1 (land)",
        },
        Autopilot::Px4 => Action {
            off: "the autopilot only warns of a low battery",
            on: &[1.0, 2.0, 3.0],
            detours: &[],
            remedy: "3 (return, then land) or 2 (land)",
        },
    }
}

impl Action {
    fn acts(&self, number: f64) -> bool {
        self.on.contains(&number) || self.detours.contains(&number)
    }

    fn finding(&self, stored: Stored) -> Option<String> {
        let (name, number, remedy) = (stored.name.name, stored.number, self.remedy);
        match number {
            0.0 => Some(format!("{name} is 0: {}; set it to {remedy}", self.off)),
            _ if self.on.contains(&number) => None,
            _ if self.detours.contains(&number) => Some(detour(name, number, remedy)),
            _ => Some(format!(
                "{name} is {number}, which is not known to bring the vehicle down in order; set it to {remedy}"
            )),
        }
    }
}

#[derive(Debug)]
struct Unexpected {
    /// The values that lead elsewhere than straight home, or back along the way that was flown.
    detours: &'static [f64],
    stops: &'static [f64],
    /// The end of a sentence.
    remedy: &'static str,
}

/// The actions of the failsafes that Skein does not require, by the values of each stack (read in the sources of ArduCopter 4.5 to 4.8 and
/// PX4 1.15 to 1.18).
const fn unexpected(autopilot: Autopilot, meaning: Meaning) -> Option<Unexpected> {
    Some(match (autopilot, meaning) {
        (Autopilot::ArduPilot, Meaning::CriticalBatteryAction) => Unexpected {
            detours: &[3.0, 4.0, 6.0],
            stops: &[5.0],
            remedy: "1 (land)",
        },
        (Autopilot::ArduPilot, Meaning::RemoteControlLossAction) => Unexpected {
            detours: &[4.0, 5.0, 6.0],
            stops: &[],
            remedy: "1 (return) or 3 (land)",
        },
        (Autopilot::ArduPilot, Meaning::FenceAction) => Unexpected {
            detours: &[3.0, 5.0],
            stops: &[],
            remedy: "1 (return) or 2 (land)",
        },
        (Autopilot::Px4, Meaning::RemoteControlLossAction) => Unexpected {
            detours: &[],
            stops: &[5.0, 6.0],
            remedy: "2 (return) or 3 (land)",
        },
        (Autopilot::Px4, Meaning::FenceAction) => Unexpected {
            detours: &[],
            stops: &[4.0],
            remedy: "3 (return) or 5 (land)",
        },
        _ => return None,
    })
}

impl Unexpected {
    fn finding(&self, stored: Stored) -> Option<String> {
        let (name, number, remedy) = (stored.name.name, stored.number, self.remedy);
        if self.stops.contains(&number) {
            return Some(format!(
                "{name} is {number}: it stops the motors in the air; set it to {remedy}"
            ));
        }
        let detours = self.detours.contains(&number);
        detours.then(|| detour(name, number, remedy))
    }
}

/// The finding of an action that brings the vehicle down by a way that nobody else knows.
fn detour(name: &str, number: f64, remedy: &str) -> String {
    format!(
        "{name} is {number}: the way home that it takes then is not the straight one, which is kept clear of others; set it to {remedy}"
    )
}

/// Cases in which PX4 (mission, hold) and ArduCopter (AUTO) fly on without their ground station, of those in which Skein flies.
const fn exceptions(autopilot: Autopilot) -> u32 {
    match autopilot {
        Autopilot::ArduPilot => 0b10,
        Autopilot::Px4 => 0b11,
    }
}

pub(super) fn judge(autopilot: Autopilot, ours: Ours, known: impl Fn(Meaning) -> Known) -> Findings {
    let there = |meaning: &Meaning| !names(autopilot, *meaning).is_empty();
    let all = || READ.into_iter().filter(there).map(|meaning| (meaning, known(meaning)));
    let stored = |meaning| known(meaning).stored();
    let acts = |meaning, action: Action| stored(meaning).is_some_and(|stored| action.acts(stored.number));
    let waits_for_station = acts(Meaning::GroundStationLossAction, ground_station(autopilot));
    let waits_for_battery = acts(Meaning::LowBatteryAction, low_battery(autopilot));
    let mut problems: Vec<String> = Vec::new();
    for (meaning, known) in all() {
        let Known::Stored(stored) = known else { continue };
        problems.extend(match meaning {
            Meaning::GroundStationLossAction => ground_station(autopilot).finding(stored),
            Meaning::LowBatteryAction => low_battery(autopilot).finding(stored),
            Meaning::GroundStationLossTime if waits_for_station => misfit(stored, ours),
            Meaning::GroundStationLossExceptions if waits_for_station => excepted(autopilot, stored),
            Meaning::ReturnAltitude => implausible(autopilot, stored),
            Meaning::WaypointRadius => wide(stored),
            Meaning::RemoteIdAction => acts_on_remote_id(stored),
            _ => match unexpected(autopilot, meaning) {
                Some(action) => action.finding(stored),
                None => of_return(meaning, stored),
            },
        });
    }
    let thresholds = [Meaning::LowBatteryVoltage, Meaning::LowBatteryCharge].map(stored);
    if let ([Some(voltage), Some(charge)], true) = (thresholds, waits_for_battery)
        && voltage.number <= 0.0
        && charge.number <= 0.0
    {
        problems.push(format!(
            "{} and {} are 0: the battery never counts as low, and the autopilot does nothing about it; set one of them",
            voltage.name.name, charge.name.name
        ));
    }
    problems.extend(unread(
        autopilot,
        all().map(|(meaning, known)| (meaning, matches!(known, Known::Unknown))),
    ));
    Findings {
        complete: all().all(|(_, known)| !matches!(known, Known::Asked)),
        problems,
    }
}

/// The values by which an action of a failsafe leads elsewhere than straight home.
const fn detours_of(autopilot: Autopilot, meaning: Meaning) -> &'static [f64] {
    match meaning {
        Meaning::GroundStationLossAction => ground_station(autopilot).detours,
        Meaning::LowBatteryAction => low_battery(autopilot).detours,
        _ => match unexpected(autopilot, meaning) {
            Some(action) => action.detours,
            None => &[],
        },
    }
}

/// Whether any other value than 0 leads a return elsewhere than straight home.
const fn is_of_return(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::ReturnType | Meaning::RallyPoints)
}

/// Whether it says if a failsafe or a return may lead elsewhere than straight home.
pub(super) const fn is_of_detours(autopilot: Autopilot, meaning: Meaning) -> bool {
    is_of_return(meaning) || !detours_of(autopilot, meaning).is_empty()
}

/// Whether a failsafe or a return may lead elsewhere than straight home; `None`: not all that says so is known.
pub(super) fn detours(autopilot: Autopilot, known: impl Fn(Meaning) -> Known) -> Option<bool> {
    let mut is_known = true;
    for meaning in READ.into_iter().filter(|meaning| is_of_detours(autopilot, *meaning)) {
        let leads = detours_of(autopilot, meaning);
        match known(meaning) {
            Known::Stored(stored)
                if (is_of_return(meaning) && stored.number != 0.0) || leads.contains(&stored.number) =>
            {
                return Some(true);
            }
            Known::Stored(_) | Known::NotThere => {}
            Known::Asked | Known::Unknown => is_known = false,
        }
    }
    is_known.then_some(false)
}

fn unread(autopilot: Autopilot, all: impl Iterator<Item = (Meaning, bool)>) -> Vec<String> {
    let unknown: Vec<Meaning> = all
        .filter(|(_, unknown)| *unknown)
        .map(|(meaning, _)| meaning)
        .collect();
    let either = |meaning: &Meaning| {
        let names = names(autopilot, *meaning).iter().map(|name| name.name);
        names.collect::<Vec<_>>().join(" or ")
    };
    let of_return = unknown.contains(&Meaning::ReturnAltitude).then(|| {
        format!(
            "{} could not be read: how high a return climbs is not known, and treated as the highest that it could be; check it with a \
             ground station",
            either(&Meaning::ReturnAltitude)
        )
    });
    let others = unknown.iter().filter(|meaning| **meaning != Meaning::ReturnAltitude);
    let others: Vec<String> = others.map(either).collect();
    let others = (!others.is_empty()).then(|| {
        format!(
            "{} could not be read, so it is not known whether the autopilot takes care of itself; check it with a ground station",
            others.join(", ")
        )
    });
    others.into_iter().chain(of_return).collect()
}

/// In which cases the failsafe for a lost ground station does nothing.
fn excepted(autopilot: Autopilot, stored: Stored) -> Option<String> {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates, and bits are whole and positive"
    )]
    let bits = stored.number as u32;
    let excepted = bits & exceptions(autopilot);
    (excepted != 0).then(|| {
        format!(
            "{} is {bits}: in missions{} the vehicle flies on when agent and ground station are gone; set it to {}",
            stored.name.name,
            if autopilot == Autopilot::Px4 {
                " or while it holds"
            } else {
                ""
            },
            bits & !excepted
        )
    })
}

fn implausible(autopilot: Autopilot, stored: Stored) -> Option<String> {
    let altitude = stored.value();
    let high = altitude > PLAUSIBLE_RETURN_M;
    if !high && altitude >= 0.0 {
        return None;
    }
    let unit = match autopilot {
        Autopilot::ArduPilot if high => "; its number is in meters from 4.7 and in centimeters before",
        Autopilot::ArduPilot | Autopilot::Px4 => "",
    };
    Some(format!(
        "{}, which is hardly meant as the altitude of a return{unit}; set it right",
        stored.words()
    ))
}

fn wide(stored: Stored) -> Option<String> {
    let fits = stored.value() <= WIDEST_RADIUS_M + RADIUS_ROUNDS_BY_M;
    (!fits).then(|| {
        format!(
            "{}: it leaves its way that far from a place, and {WIDEST_RADIUS_M} m are kept clear of others; set it to {} or less",
            stored.words(),
            stored.set_to(WIDEST_RADIUS_M)
        )
    })
}

/// The lowest COM_ARM_ODID that PX4 from 1.18 takes for a failsafe in flight.
const REMOTE_ID_IN_FLIGHT: f64 = 3.0;

fn acts_on_remote_id(stored: Stored) -> Option<String> {
    (stored.number >= REMOTE_ID_IN_FLIGHT).then(|| {
        format!(
            "{}: PX4 from 1.18 ends a flight by itself when its Remote ID fails in the air; set it to 2 (checked before arming)",
            stored.words()
        )
    })
}

const RALLY: &str = "a return may lead to a rally point rather than home, to which alone the way is kept clear of others; remove the rally points";

pub(super) fn rally_points() -> String {
    format!("the autopilot has rally points: {RALLY}")
}

/// A return that is another than the one that is kept clear of others, or ends in a hover.
fn of_return(meaning: Meaning, stored: Stored) -> Option<String> {
    let value = stored.value();
    let why = match meaning {
        Meaning::ReturnFinalAltitude if value > 0.0 => {
            "a return ends in a hover there until somebody lands it; set it to 0 (land)"
        }
        Meaning::ReturnHoverTime if value < 0.0 => {
            "a return ends in a hover until somebody lands it; set it to 0 or more (land)"
        }
        Meaning::ReturnAltitudeType if value != 0.0 => {
            "a return is flown above the terrain, which Skein does not know, so its altitude is treated as the highest that it could be; set \
             it to 0 (above home)"
        }
        Meaning::ReturnClimbMinimum if value > 0.0 => {
            "a return climbs by that at least, from wherever the vehicle is, so its altitude is treated as the highest that it could be; set \
             it to 0"
        }
        Meaning::RallyPoints if value > 0.0 => RALLY,
        Meaning::ReturnType if value != 0.0 => {
            "a return may lead elsewhere than straight home, which alone is kept clear of others; set it to 0"
        }
        _ => return None,
    };
    Some(format!("{}: {why}", stored.words()))
}

fn misfit(stored: Stored, ours: Ours) -> Option<String> {
    let (name, seconds) = (stored.name.name, stored.number);
    let Ok(timeout) = Duration::try_from_secs_f64(seconds) else {
        return Some(format!("{name} is {seconds}, which is no time; set it to 10"));
    };
    let (loss, grace) = (ours.loss.as_secs(), grace(ours.loss));
    if timeout > ours.loss {
        return Some(format!(
            "{name} is {seconds} s: without agent and ground station the vehicle flies on for longer than the {loss} s of \
             coordinatorLossSeconds; set it to {loss} or less"
        ));
    }
    if !ours.heartbeat {
        return None;
    }
    if timeout < SHORTEST_TIMEOUT {
        return Some(format!(
            "{name} is {seconds} s: a few heartbeats that are lost on the line bring the vehicle home; set it to {} or more",
            SHORTEST_TIMEOUT.as_secs()
        ));
    }
    if grace + timeout < FAIL_OVER_TAKES {
        let fail_over = FAIL_OVER_TAKES.as_secs();
        let enough = (FAIL_OVER_TAKES - grace).as_secs_f64().ceil();
        let remedy = if enough <= ours.loss.as_secs_f64() {
            format!(
                "set it to {enough} or more, or coordinatorLossSeconds to {}",
                fail_over * 4 / 3
            )
        } else {
            format!("set coordinatorLossSeconds to {}", fail_over * 4 / 3)
        };
        return Some(format!(
            "{name} is {seconds} s: with coordinatorLossSeconds {loss} a fail-over of coordinators, which may take {fail_over} s, \
             brings the vehicle home; {remedy}"
        ));
    }
    None
}

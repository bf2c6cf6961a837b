//! A report's content about airspace.

use super::plan_way::{self, PlanWay};
use super::{ABOVE_HOME, Desire, takes_off};
use crate::airspace::{Around, Doing, Margin, Observation, Route, ground_below};
use model::geo::{Frame, Local, NoPlace, offset};
use model::lent::Room;
use model::report::{Activity, Report};
use model::reported_flight::SoFar;
use model::time::Moment;
use model::units::AltitudeAboveHome;
use model::vehicle::{Airborne, FlightTruth, WhyUnknown};

/// `received`: less the [lateness](crate::planning::lateness) of the report.
pub fn position_time(report: &Report, received: Moment) -> Moment {
    let age = report
        .position_at
        .map_or(std::time::Duration::ZERO, |at| report.made.since(at));
    Moment::at(received.since_epoch().saturating_sub(age))
}

/// Whether a vehicle is in the air elsewhere than above its home, or it does not say where that is. One without a position does not say.
pub fn is_away(report: &Report) -> bool {
    let FlightTruth::Airborne(_) = report.truth else {
        return false;
    };
    report.position.is_some_and(|position| {
        report.home.is_none_or(|home| {
            let (east, north) = offset(home.at, position.at);
            east.hypot(north) > ABOVE_HOME.0
        })
    })
}

/// The height above home at which the agent that made this `report` holds an order to fly, if it says.
pub(super) fn ordered_height(report: &Report) -> Option<AltitudeAboveHome> {
    report.held.as_ref()?.height()
}

/// Whether a vehicle with a silent autopilot is not in the air by our order: its agent remembers no flight, and holds no order to fly. It
/// is switched off, where people have put it.
pub(super) fn never_flew(report: &Report) -> bool {
    let unheard = report.truth == FlightTruth::Unknown(WhyUnknown::NeverHeard);
    let ordered = report.held.as_ref().is_some_and(|held| !held.grounded);
    unheard && !ordered && report.so_far != SoFar::Flown
}

/// Modes that fly straight home at the return altitude and land, by their own names. SMART_RTL flies back along its track.
const RETURN_MODES: [&str; 3] = ["RTL", "AUTO_RTL", "AUTO.RTL"];

pub fn returns(report: &Report) -> bool {
    report.mode.as_deref().is_some_and(|mode| RETURN_MODES.contains(&mode))
}

/// Modes that land in place, by their own names.
const LAND_MODES: [&str; 3] = ["LAND", "AUTO.LAND", "AUTO.PRECLAND"];

pub fn descends(report: &Report) -> bool {
    report.mode.as_deref().is_some_and(|mode| LAND_MODES.contains(&mode))
}

/// Whether the autopilot of a vehicle in the air lands it where it is or at its home, by our order or not, and whether somebody else flies it, or
/// a failsafe that does not land it.
pub(super) fn hands(report: &Report) -> (bool, bool) {
    // A vehicle in the air without an order of ours: a person flies it, or it goes on with an order that its agent has lost.
    let is_unordered = report.held.is_none() && matches!(report.truth, FlightTruth::Airborne(_));
    match report.activity {
        Activity::Landing => (true, false),
        Activity::Failsafe | Activity::LowBattery => (descends(report), !descends(report)),
        Activity::HandsOff(_) => (false, true),
        _ => (false, is_unordered),
    }
}

/// Whether a vehicle is in the air and goes where none of our orders leads it: in other hands, or by a failsafe.
pub(super) fn goes_by_itself(report: &Report) -> bool {
    let (_, in_other_hands) = hands(report);
    let failsafe = matches!(report.activity, Activity::Failsafe | Activity::LowBattery);
    matches!(report.truth, FlightTruth::Airborne(_)) && (in_other_hands || failsafe)
}

/// The airspace of a program, as claims have it.
pub(super) const fn around(room: &Room) -> Around {
    Around {
        radius: room.radius.0,
        below: room.below.0,
        above: room.above.0,
    }
}

/// `None` when `report` does not say where the vehicle is or whether it flies. `desire`: a Drone that is to hold above its home climbs
/// there by itself.
pub fn observation(report: &Report, received: Moment, frame: &Frame, desire: Desire) -> Option<Observation> {
    observation_on_plan(report, received, frame, desire, None)
}

/// For a vehicle that is to fly, or still flies, a plan along this way.
pub(super) fn observation_on_plan(
    report: &Report,
    received: Moment,
    frame: &Frame,
    desire: Desire,
    plan: Option<PlanWay<'_>>,
) -> Option<Observation> {
    let position = report.position?;
    let at = frame.local(position.at, position.amsl).ok()?;
    let home_amsl = report
        .home
        .map_or(position.amsl.0 - position.above_home.0, |home| home.amsl.0);
    let home = report.home.and_then(|home| frame.local(home.at, home.amsl).ok());
    let upright = |to: f64| Route::through([at, at.at_height(to)]).ok();
    let ordered = report.route.order.as_ref().and_then(|order| {
        let places: Result<Vec<Local>, NoPlace> = order.places.iter().map(|p| frame.local(p.at, p.amsl)).collect();
        let route = Route::through(places.ok()?)
            .ok()?
            .with_room(order.room.as_ref().map(around));
        Some((route, report.route.next, order.places.len()))
    });
    let flies = report.held.as_ref().is_some_and(|held| !held.grounded);
    let climbs_to = match desire {
        // It goes to another altitude once its agent has the order.
        Desire::AboveHome(height) if flies => Some(home_amsl + ordered_height(report).unwrap_or(height).0),
        // Given a station while it climbs, it flies there from the altitude of its takeoff; called back, it climbs on until it has that order.
        Desire::At(_) | Desire::Home | Desire::Nothing if flies && takes_off(report) => {
            ordered_height(report).map(|height| home_amsl + height.0)
        }
        _ => None,
    };
    let (lands, in_other_hands) = hands(report);
    let on_plan = plan.filter(|plan| report.plan.held.as_ref() == Some(plan.digest));
    let is_granted = plan.is_some_and(|plan| plan.is_granted);
    // It was stopped on its way, or makes room, and the plan is not in its order.
    let is_on_route = report.route.order.is_some() && !plan_way::names_one(report);
    let doing = match report.truth {
        FlightTruth::Unknown(_) => return None,
        // Its own way, wherever it is on it: from the takeoff order until it holds at the end, or has let go of it.
        FlightTruth::Disarmed | FlightTruth::ArmedOnGround
            if flies && !in_other_hands && desire == Desire::Plan && on_plan.is_some() =>
        {
            let plan = on_plan?;
            let route = match plan.is_granted {
                true => plan.way.clone(),
                false => plan_way::from_ground(plan.way, at),
            };
            Doing::Flying { route }
        }
        // It takes off at any moment for a plan that is not known here. A vehicle whose agent remembers a flight has landed by itself, and
        // stays down.
        FlightTruth::Disarmed | FlightTruth::ArmedOnGround
            if !in_other_hands && plan_way::begins_unknown(report, plan) =>
        {
            Doing::Unplanned { in_air: false }
        }
        FlightTruth::Airborne(up)
            if !in_other_hands
                && !lands
                && up != Airborne::Landing
                && (report.plan.flying
                    || (desire == Desire::Plan
                        && !report.plan.ended
                        && !report.plan.finished
                        && !is_on_route
                        && (is_granted || takes_off(report) || plan_way::names_one(report)))) =>
        {
            match on_plan {
                Some(plan) if report.plan.flying || plan.is_granted || takes_off(report) => Doing::Flying {
                    route: plan.way.clone(),
                },
                None if report.plan.flying || plan_way::names_unknown(report, plan) => {
                    Doing::Unplanned { in_air: true }
                }
                // Its agent does not fly it yet, and is to ask before it does, from where the vehicle is.
                Some(_) | None => Doing::Other,
            }
        }
        FlightTruth::ArmedOnGround if in_other_hands => Doing::Other,
        FlightTruth::Disarmed | FlightTruth::ArmedOnGround => match (ordered, climbs_to.and_then(upright)) {
            (Some((route, Some(_), _)), _) if flies => Doing::Flying { route },
            (_, Some(way)) if flies => Doing::Upright { way },
            _ => Doing::Grounded,
        },
        FlightTruth::Airborne(up) if in_other_hands => {
            match home.map(|_| up == Airborne::Landing || descends(report)) {
                Some(true) => Doing::Descending,
                Some(false) if returns(report) => Doing::Returning,
                Some(false) | None => Doing::Other,
            }
        }
        FlightTruth::Airborne(up) if lands || up == Airborne::Landing => Doing::Upright {
            way: upright(home.map_or(home_amsl, |home| ground_below(at, home).up))?,
        },
        FlightTruth::Airborne(_) => match (ordered, climbs_to) {
            // A program may fly it anywhere in there, or its agent has taken it back and not seen it stop.
            (Some((route, _, _)), _) if route.room().is_some() => Doing::Flying { route },
            (Some((route, Some(next), places)), _) if next >= places => Doing::Holding { at: route.end() },
            (Some((route, Some(_), _)), _) => Doing::Flying { route },
            (Some((_, None, _)), _) => Doing::Other,
            (_, Some(up)) => {
                let above_home = home
                    .map(|home| home.at_height(up))
                    .filter(|hold| hold.over_ground(at) <= ABOVE_HOME.0 && (hold.up - at.up).abs() <= ABOVE_HOME.1);
                match above_home {
                    Some(at) => Doing::Holding { at },
                    None if (at.up - up).abs() <= ABOVE_HOME.1 => Doing::Holding { at },
                    None => Doing::Upright { way: upright(up)? },
                }
            }
            (_, None) => Doing::Holding { at },
        },
    };
    Some(Observation {
        heard: position_time(report, received),
        at,
        // A site knows more: the worst of the last seconds, and differences of homes.
        accuracy: Margin {
            horizontal: model::units::Meters(0.0),
            vertical: model::units::Meters(0.0),
        },
        order: report.route.last,
        doing,
    })
}

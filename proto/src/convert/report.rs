//! `Report`, what an agent says of its vehicle, to and from [`Report`]. Must not: turn what is unknown into a fact.

mod aircraft;
mod deviation;
mod inventory;
mod other_battery;

use super::order::altitude;
use super::rules::{LONGEST_DIGEST, at_most};
use super::{BadMessage, filled, known, within};
use crate::v1;
use model::accuracy::Accuracy;
use model::assignment::{Held, HeldDetails};
use model::ground::GroundOrderId;
use model::home_shift::HomeShift;
use model::ids::{DroneUid, NodeName, Term};
use model::inventory::Inventory;
use model::logs::upload::Uploads;
use model::plan::{PlanDigest, PlanReport};
use model::remote_id::RemoteIdReport;
use model::report::{Activity, HandsOff, LinkQuality, Report, RouteState};
use model::rules::{RulesDigest, RulesReport};
use model::time::Moment;
use model::units::{AltitudeAboveHome, AltitudeAmsl, ComponentId, Heading, Meters, Percent, SystemId, Volts};
use model::vehicle::{
    Airborne, ArmingReason, Autopilot, Battery, Charge, FlightTruth, HardwareUid, Identity, Position, ReasonClass,
    WhyUnknown,
};
use std::time::Duration;

/// An agent has a dozen or two; comparing thousands would take the coordinator as long as all other agents.
const MOST_TEXTS: usize = 64;

impl From<&Report> for v1::Report {
    fn from(r: &Report) -> Self {
        Self {
            link_alive: r.link_alive,
            identity: r.identity.as_ref().map(Into::into),
            truth: v1::FlightTruth::from(r.truth).into(),
            mode: r.mode.clone(),
            ready: r.ready,
            reasons: r.reasons.iter().map(Into::into).collect(),
            battery: r.battery.as_ref().map(Into::into),
            other_batteries: r.other_batteries.iter().map(Into::into).collect(),
            position: r.position.as_ref().map(Into::into),
            held: r.held.as_ref().map(Into::into),
            activity: v1::Activity::from(r.activity).into(),
            terminating: r.terminating,
            made_ms: ms(r.made),
            takeovers: r.takeovers,
            ground_latch: r.ground_latch.map_or(0, |id| id.0),
            warnings: r.warnings.clone(),
            so_far: v1::FlightSoFar::from(r.so_far).into(),
            link: r.link.map(|link| v1::LinkQuality {
                frames: link.frames,
                lost: link.lost,
                damaged: link.damaged,
            }),
            diversion: r.diversion.as_ref().map(Into::into),
            astray: r.astray.map(Into::into),
            owed: r.owed.as_ref().map(Into::into),
            others_flew: r.others_flew,
            battery_ms: r.battery_at.map(ms),
            position_ms: r.position_at.map(ms),
            route: (r.route != RouteState::default()).then(|| (&r.route).into()),
            home: r.home.as_ref().map(Into::into),
            return_altitude_above_home_m: r.return_height.map(|height| height.0),
            traffic: r.traffic.iter().map(Into::into).collect(),
            rules: (r.rules != RulesReport::default()).then(|| (&r.rules).into()),
            plan: (r.plan != PlanReport::default()).then(|| (&r.plan).into()),
            remote_id: (r.remote_id != RemoteIdReport::default()).then(|| (&r.remote_id).into()),
            heading_deg: r.heading.map(|heading| heading.0),
            accuracy: (r.accuracy != Accuracy::default()).then(|| v1::Accuracy {
                horizontal_m: r.accuracy.horizontal.map(|meters| meters.0),
                vertical_m: r.accuracy.vertical.map(|meters| meters.0),
            }),
            near_reserve: r.near_reserve,
            waypoint_radius_m: r.waypoint_radius.map(|radius| radius.0),
            detours: r.detours,
            home_shift: r.home_shift.map(|shift| v1::HomeShift {
                east_m: shift.east_m,
                north_m: shift.north_m,
                up_m: shift.up_m,
            }),
            uploads: r.uploads.map(|of| v1::LogUploads {
                waiting: of.waiting,
                waiting_bytes: of.waiting_bytes,
                uploaded: of.uploaded,
                failures: of.failures,
                removed_before: of.removed_before,
            }),
            inventory: (r.inventory != Inventory::default()).then(|| r.inventory.into()),
            stand_down: r.stand_down.as_ref().map(Into::into),
            link_fault: r.link_fault.clone(),
        }
    }
}

fn ms(moment: Moment) -> u64 {
    u64::try_from(moment.since_epoch().as_millis()).unwrap_or(u64::MAX)
}

const fn moment(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

/// The node's name came with the stream's Hello. Errors name the first bad field.
pub fn report(node: NodeName, r: v1::Report) -> Result<Report, BadMessage> {
    for (field, texts) in [("reasons", r.reasons.len()), ("warnings", r.warnings.len())] {
        if texts > MOST_TEXTS {
            return Err(BadMessage::OutOfRange {
                field,
                got: u32::try_from(texts).map_or(f64::INFINITY, f64::from),
                must: "at most 64 of them",
            });
        }
    }
    let so_far = r.so_far().into();
    Ok(Report {
        node,
        made: moment(r.made_ms),
        link_alive: r.link_alive,
        identity: r.identity.map(TryInto::try_into).transpose()?,
        inventory: r.inventory.map(Into::into).unwrap_or_default(),
        truth: known::<v1::FlightTruth>("truth", r.truth)?.into(),
        mode: r.mode,
        ready: r.ready,
        reasons: r.reasons.into_iter().map(Into::into).collect(),
        battery: r.battery.map(TryInto::try_into).transpose()?,
        battery_at: r.battery_ms.map(moment),
        other_batteries: other_battery::other_batteries(&r.other_batteries),
        position: r.position.map(TryInto::try_into).transpose()?,
        position_at: r.position_ms.map(moment),
        heading: (r.heading_deg)
            .map(|got| within("heading_deg", got, 0.0, 360.0, "from 0 to 360 degrees").map(Heading))
            .transpose()?,
        accuracy: r.accuracy.map(TryInto::try_into).transpose()?.unwrap_or_default(),
        held: r.held.map(TryInto::try_into).transpose()?,
        activity: known::<v1::Activity>("activity", r.activity)?.try_into()?,
        terminating: r.terminating,
        takeovers: r.takeovers,
        ground_latch: Some(GroundOrderId(r.ground_latch)).filter(|id| id.0 != 0),
        warnings: r.warnings,
        so_far,
        link: r.link.map(|link| LinkQuality {
            frames: link.frames,
            lost: link.lost,
            damaged: link.damaged,
        }),
        diversion: r.diversion.map(Into::into),
        astray: r.astray.and_then(deviation::astray),
        owed: r.owed.map(Into::into),
        others_flew: r.others_flew,
        stand_down: r.stand_down.map(TryInto::try_into).transpose()?,
        link_fault: r.link_fault.filter(|_| !r.link_alive),
        route: r.route.map(TryInto::try_into).transpose()?.unwrap_or_default(),
        // Without a home that can be one, nothing is known of where it would return to; all else counts.
        home: r.home.and_then(|home| home.try_into().ok()),
        near_reserve: r.near_reserve,
        home_shift: r.home_shift.map(TryInto::try_into).transpose()?,
        return_height: (r.return_altitude_above_home_m)
            .map(|height| {
                let field = "return_altitude_above_home_m";
                within(field, height, 0.0, f64::MAX, "0 m or more").map(AltitudeAboveHome)
            })
            .transpose()?,
        waypoint_radius: (r.waypoint_radius_m)
            .map(|radius| within("waypoint_radius_m", radius, 0.0, f64::MAX, "0 m or more").map(Meters))
            .transpose()?,
        detours: r.detours,
        traffic: aircraft::traffic(r.traffic)?,
        rules: r.rules.map(TryInto::try_into).transpose()?.unwrap_or_default(),
        plan: r.plan.map(TryInto::try_into).transpose()?.unwrap_or_default(),
        remote_id: r.remote_id.map(TryInto::try_into).transpose()?.unwrap_or_default(),
        uploads: r.uploads.map(|of| Uploads {
            waiting: of.waiting,
            waiting_bytes: of.waiting_bytes,
            uploaded: of.uploaded,
            failures: of.failures,
            removed_before: of.removed_before,
        }),
    })
}

impl From<&ArmingReason> for v1::ArmingReason {
    fn from(reason: &ArmingReason) -> Self {
        let class = match reason.class {
            ReasonClass::Unclear => v1::ReasonClass::Unspecified,
            ReasonClass::WillHeal => v1::ReasonClass::WillHeal,
            ReasonClass::NeedsHuman => v1::ReasonClass::NeedsHuman,
        };
        Self {
            text: reason.text.clone(),
            class: class.into(),
            code: reason.code,
            first_ms: ms(reason.first),
            last_ms: ms(reason.last),
        }
    }
}

impl From<v1::ArmingReason> for ArmingReason {
    /// A person has to check an unknown class.
    fn from(reason: v1::ArmingReason) -> Self {
        Self {
            class: match reason.class() {
                v1::ReasonClass::Unspecified => ReasonClass::Unclear,
                v1::ReasonClass::WillHeal => ReasonClass::WillHeal,
                v1::ReasonClass::NeedsHuman => ReasonClass::NeedsHuman,
            },
            text: reason.text,
            code: reason.code,
            first: moment(reason.first_ms),
            last: moment(reason.last_ms),
        }
    }
}

impl From<&Identity> for v1::Identity {
    fn from(i: &Identity) -> Self {
        let autopilot = match i.autopilot {
            Autopilot::ArduPilot => v1::Autopilot::Ardupilot,
            Autopilot::Px4 => v1::Autopilot::Px4,
        };
        Self {
            autopilot: autopilot.into(),
            system_id: i.system.0.into(),
            component_id: i.component.0.into(),
            firmware: i.firmware.clone().unwrap_or_default(),
            hardware_uid: i.hardware.map(|uid| uid.to_string()).unwrap_or_default(),
        }
    }
}

impl TryFrom<v1::Identity> for Identity {
    type Error = BadMessage;

    fn try_from(i: v1::Identity) -> Result<Self, BadMessage> {
        let field = "identity.autopilot";
        let autopilot = match known(field, i.autopilot)? {
            v1::Autopilot::Unspecified => return Err(BadMessage::Missing { field }),
            v1::Autopilot::Ardupilot => Autopilot::ArduPilot,
            v1::Autopilot::Px4 => Autopilot::Px4,
        };
        Ok(Self {
            autopilot,
            system: SystemId(mavlink_id("identity.system_id", i.system_id)?),
            component: ComponentId(mavlink_id("identity.component_id", i.component_id)?),
            firmware: Some(i.firmware).filter(|version| !version.is_empty()),
            hardware: HardwareUid::parse(&i.hardware_uid),
        })
    }
}

fn mavlink_id(field: &'static str, id: u32) -> Result<u8, BadMessage> {
    let out_of_range = BadMessage::OutOfRange {
        field,
        got: id.into(),
        must: "from 1 to 255",
    };
    u8::try_from(id).ok().filter(|&id| id != 0).ok_or(out_of_range)
}

impl From<FlightTruth> for v1::FlightTruth {
    fn from(truth: FlightTruth) -> Self {
        match truth {
            FlightTruth::Unknown(WhyUnknown::NeverHeard) => Self::UnknownNeverHeard,
            FlightTruth::Unknown(WhyUnknown::LinkLost) => Self::UnknownLinkLost,
            FlightTruth::Unknown(WhyUnknown::LandedStateUnknown) => Self::UnknownLandedState,
            FlightTruth::Unknown(WhyUnknown::Contradiction) => Self::UnknownContradiction,
            FlightTruth::Disarmed => Self::Disarmed,
            FlightTruth::ArmedOnGround => Self::ArmedOnGround,
            FlightTruth::Airborne(Airborne::TakingOff) => Self::TakingOff,
            FlightTruth::Airborne(Airborne::InAir) => Self::InAir,
            FlightTruth::Airborne(Airborne::Landing) => Self::Landing,
        }
    }
}

impl From<v1::FlightTruth> for FlightTruth {
    /// Unspecified does not say that the vehicle is on the ground.
    fn from(truth: v1::FlightTruth) -> Self {
        match truth {
            v1::FlightTruth::Unspecified | v1::FlightTruth::UnknownLandedState => {
                Self::Unknown(WhyUnknown::LandedStateUnknown)
            }
            v1::FlightTruth::UnknownNeverHeard => Self::Unknown(WhyUnknown::NeverHeard),
            v1::FlightTruth::UnknownLinkLost => Self::Unknown(WhyUnknown::LinkLost),
            v1::FlightTruth::UnknownContradiction => Self::Unknown(WhyUnknown::Contradiction),
            v1::FlightTruth::Disarmed => Self::Disarmed,
            v1::FlightTruth::ArmedOnGround => Self::ArmedOnGround,
            v1::FlightTruth::TakingOff => Self::Airborne(Airborne::TakingOff),
            v1::FlightTruth::InAir => Self::Airborne(Airborne::InAir),
            v1::FlightTruth::Landing => Self::Airborne(Airborne::Landing),
        }
    }
}

impl From<&Battery> for v1::Battery {
    fn from(b: &Battery) -> Self {
        Self {
            remaining_percent: b.remaining.map(|p| p.get().into()),
            volts: b.voltage.map(|Volts(volts)| volts),
        }
    }
}

impl TryFrom<v1::Battery> for Battery {
    type Error = BadMessage;

    fn try_from(b: v1::Battery) -> Result<Self, BadMessage> {
        let percent = |got: u32| {
            let must = "from 0 to 100 percent";
            let out_of_range = BadMessage::OutOfRange {
                field: "battery.remaining_percent",
                got: got.into(),
                must,
            };
            u8::try_from(got).ok().and_then(Percent::new).ok_or(out_of_range)
        };
        let volts = |got: f64| within("battery.volts", got, 0.0, f64::MAX, "a voltage, not below 0").map(Volts);
        Ok(Self {
            remaining: b.remaining_percent.map(percent).transpose()?,
            voltage: b.volts.map(volts).transpose()?,
            charge: Charge::Unknown,
        })
    }
}

impl TryFrom<v1::HomeShift> for HomeShift {
    type Error = BadMessage;

    fn try_from(shift: v1::HomeShift) -> Result<Self, BadMessage> {
        let finite = |field, got| within(field, got, f64::MIN, f64::MAX, "a number of meters");
        Ok(Self {
            east_m: finite("home_shift.east_m", shift.east_m)?,
            north_m: finite("home_shift.north_m", shift.north_m)?,
            up_m: finite("home_shift.up_m", shift.up_m)?,
        })
    }
}

impl From<&Position> for v1::Position {
    fn from(p: &Position) -> Self {
        Self {
            latitude_deg: p.at.latitude_deg,
            longitude_deg: p.at.longitude_deg,
            altitude_amsl_m: p.amsl.0,
            altitude_above_home_m: p.above_home.0,
        }
    }
}

impl TryFrom<v1::Position> for Position {
    type Error = BadMessage;

    fn try_from(p: v1::Position) -> Result<Self, BadMessage> {
        let finite = |field, got| within(field, got, f64::MIN, f64::MAX, "a number");
        let at = super::place(
            ("position.latitude_deg", p.latitude_deg),
            ("position.longitude_deg", p.longitude_deg),
        )?;
        Ok(Self {
            at,
            amsl: AltitudeAmsl(finite("position.altitude_amsl_m", p.altitude_amsl_m)?),
            above_home: AltitudeAboveHome(finite("position.altitude_above_home_m", p.altitude_above_home_m)?),
        })
    }
}

impl TryFrom<v1::Accuracy> for Accuracy {
    type Error = BadMessage;

    /// Refuses an accuracy that is no distance: as an unknown one it would hide how bad it is.
    fn try_from(a: v1::Accuracy) -> Result<Self, BadMessage> {
        let meters = |field, got| within(field, got, f64::MIN_POSITIVE, f64::MAX, "a distance, above 0 m").map(Meters);
        let read = |field, got: Option<f64>| got.map(|got| meters(field, got)).transpose();
        Ok(Self {
            horizontal: read("accuracy.horizontal_m", a.horizontal_m)?,
            vertical: read("accuracy.vertical_m", a.vertical_m)?,
        })
    }
}

impl From<&Held> for v1::Held {
    fn from(h: &Held) -> Self {
        Self {
            drone_uid: h.uid.0.clone(),
            term: h.term.0,
            generation: h.generation,
            grounded: h.grounded,
            settled: h.settled,
            details: h.details.as_ref().map(|details| v1::HeldDetails {
                routed: details.routed,
                rules: details
                    .rules
                    .as_ref()
                    .map(|digest| digest.0.clone())
                    .unwrap_or_default(),
                plan: details.plan.as_ref().map(|digest| digest.0.clone()).unwrap_or_default(),
                altitude_above_home_m: details.altitude.map(|altitude| altitude.0),
            }),
        }
    }
}

impl TryFrom<v1::Held> for Held {
    type Error = BadMessage;

    fn try_from(h: v1::Held) -> Result<Self, BadMessage> {
        Ok(Self {
            uid: DroneUid(filled("held.drone_uid", h.drone_uid)?),
            term: Term(h.term),
            generation: h.generation,
            grounded: h.grounded,
            settled: h.settled,
            details: h.details.map(HeldDetails::try_from).transpose()?,
        })
    }
}

impl TryFrom<v1::HeldDetails> for HeldDetails {
    type Error = BadMessage;

    fn try_from(details: v1::HeldDetails) -> Result<Self, BadMessage> {
        for (field, digest) in [
            ("held.details.rules", &details.rules),
            ("held.details.plan", &details.plan),
        ] {
            at_most(field, digest.len(), LONGEST_DIGEST, "at most 64 characters")?;
        }
        Ok(Self {
            routed: details.routed,
            rules: Some(details.rules).filter(|digest| !digest.is_empty()).map(RulesDigest),
            plan: Some(details.plan).filter(|digest| !digest.is_empty()).map(PlanDigest),
            altitude: details
                .altitude_above_home_m
                .map(|meters| altitude("held.details.altitude_above_home_m", meters))
                .transpose()?,
        })
    }
}

impl From<Activity> for v1::Activity {
    fn from(activity: Activity) -> Self {
        match activity {
            Activity::Idle => Self::Idle,
            Activity::Waiting => Self::Waiting,
            Activity::NotArmable => Self::NotArmable,
            Activity::Arming => Self::Arming,
            Activity::TakingOff => Self::TakingOff,
            Activity::Holding => Self::Holding,
            Activity::Moving => Self::Moving,
            Activity::Landing => Self::Landing,
            Activity::Failsafe => Self::Failsafe,
            Activity::LowBattery => Self::LowBattery,
            Activity::HandsOff(HandsOff::TakenOver) => Self::HandsOffTakenOver,
            Activity::HandsOff(HandsOff::OtherMode) => Self::HandsOffOtherMode,
            Activity::HandsOff(HandsOff::AnotherAirframe) => Self::HandsOffAnotherAirframe,
            Activity::HandsOff(HandsOff::ArmedByOther) => Self::HandsOffArmedByOther,
            Activity::HandsOff(HandsOff::FlightOver) => Self::HandsOffFlightOver,
            Activity::HandsOff(HandsOff::Killed) => Self::HandsOffKilled,
            Activity::HandsOff(HandsOff::AutopilotFailsafe) => Self::HandsOffAutopilotFailsafe,
        }
    }
}

impl TryFrom<v1::Activity> for Activity {
    type Error = BadMessage;

    fn try_from(activity: v1::Activity) -> Result<Self, BadMessage> {
        Ok(match activity {
            v1::Activity::Unspecified => return Err(BadMessage::Missing { field: "activity" }),
            v1::Activity::Idle => Self::Idle,
            v1::Activity::Waiting => Self::Waiting,
            v1::Activity::NotArmable => Self::NotArmable,
            v1::Activity::Arming => Self::Arming,
            v1::Activity::TakingOff => Self::TakingOff,
            v1::Activity::Holding => Self::Holding,
            v1::Activity::Moving => Self::Moving,
            v1::Activity::Landing => Self::Landing,
            v1::Activity::Failsafe => Self::Failsafe,
            v1::Activity::LowBattery => Self::LowBattery,
            v1::Activity::HandsOffTakenOver => Self::HandsOff(HandsOff::TakenOver),
            v1::Activity::HandsOffOtherMode => Self::HandsOff(HandsOff::OtherMode),
            v1::Activity::HandsOffAnotherAirframe => Self::HandsOff(HandsOff::AnotherAirframe),
            v1::Activity::HandsOffArmedByOther => Self::HandsOff(HandsOff::ArmedByOther),
            v1::Activity::HandsOffFlightOver => Self::HandsOff(HandsOff::FlightOver),
            v1::Activity::HandsOffKilled => Self::HandsOff(HandsOff::Killed),
            v1::Activity::HandsOffAutopilotFailsafe => Self::HandsOff(HandsOff::AutopilotFailsafe),
        })
    }
}

#[cfg(test)]
mod tests;

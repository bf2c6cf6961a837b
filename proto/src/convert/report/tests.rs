//! Reports over the wire, and refused ones.

use super::*;
use model::alarm::Cause;
use model::answer::{Answer, Owed};
use model::failsafe::{Diversion, Diverted};
use model::ids::DroneName;
use model::inventory::{BatteryWear, Board};
use model::monitored_battery::{Drives, OtherBattery};
use model::reported_flight::SoFar;
use model::stand_down::{Reported, StoodDown};
use model::takeover::Descent;
use model::traffic::{Aircraft, Altitude};
use model::units::Wgs84;
use model::whereabouts::Astray;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

fn truths() -> Vec<FlightTruth> {
    use WhyUnknown::{Contradiction, LandedStateUnknown, LinkLost, NeverHeard};
    let unknown = [NeverHeard, LinkLost, LandedStateUnknown, Contradiction].map(FlightTruth::Unknown);
    let airborne = [Airborne::TakingOff, Airborne::InAir, Airborne::Landing].map(FlightTruth::Airborne);
    [
        unknown.as_slice(),
        &[FlightTruth::Disarmed, FlightTruth::ArmedOnGround],
        &airborne,
    ]
    .concat()
}

fn stood_down(number: u32) -> StoodDown {
    use StoodDown::{AutopilotFailsafe, CoordinatorLoss, Killed, Landed, LowBattery, TakenOver};
    let all = [
        Killed,
        LowBattery,
        CoordinatorLoss,
        AutopilotFailsafe,
        TakenOver,
        Landed,
    ];
    all[number as usize % all.len()]
}

fn activities() -> Vec<Activity> {
    use Activity::{Arming, Failsafe, Holding, Idle, Landing, LowBattery, Moving, NotArmable, TakingOff, Waiting};
    let hands_off = [
        HandsOff::OtherMode,
        HandsOff::TakenOver,
        HandsOff::ArmedByOther,
        HandsOff::FlightOver,
        HandsOff::Killed,
        HandsOff::AutopilotFailsafe,
    ]
    .map(Activity::HandsOff);
    let own = [
        Idle, Waiting, NotArmable, Arming, TakingOff, Holding, Moving, Landing, Failsafe, LowBattery,
    ];
    [own.as_slice(), &hands_off].concat()
}

fn identity() -> impl Strategy<Value = Identity> {
    let autopilot = select(vec![Autopilot::ArduPilot, Autopilot::Px4]);
    let of_hardware =
        of((any::<u64>(), any::<[u8; 18]>()).prop_filter_map("no number", |(uid, uid2)| HardwareUid::of(uid, uid2)));
    (autopilot, 1..=255u8, 1..=255u8, of(".+"), of_hardware).prop_map(
        |(autopilot, system, component, firmware, hardware)| Identity {
            autopilot,
            system: SystemId(system),
            component: ComponentId(component),
            firmware,
            hardware,
        },
    )
}

fn battery() -> impl Strategy<Value = Battery> {
    (of((0..=100u8).prop_map(|p| Percent::new(p).unwrap())), of(0.0..1e4)).prop_map(|(remaining, volts)| Battery {
        remaining,
        voltage: volts.map(Volts),
        charge: Charge::Unknown,
    })
}

fn position() -> impl Strategy<Value = Position> {
    (-90.0..=90.0, -180.0..=180.0, -1e4..1e5, -1e4..1e5).prop_map(|(latitude_deg, longitude_deg, amsl, above)| {
        Position {
            at: Wgs84 {
                latitude_deg,
                longitude_deg,
            },
            amsl: AltitudeAmsl(amsl),
            above_home: AltitudeAboveHome(above),
        }
    })
}

fn held() -> impl Strategy<Value = Held> {
    (".+", any::<u64>(), any::<i64>(), any::<bool>(), any::<bool>()).prop_map(
        |(uid, term, generation, grounded, settled)| Held {
            uid: DroneUid(uid),
            term: Term(term),
            generation,
            grounded,
            settled,
            details: (generation % 3 != 0).then(|| HeldDetails {
                routed: settled,
                rules: grounded.then(|| RulesDigest(format!("{term:032x}"))),
                plan: (generation % 3 == 1).then(|| PlanDigest(format!("{term:032x}"))),
                altitude: settled.then_some(AltitudeAboveHome(25.0)),
            }),
        },
    )
}

fn diversions() -> Vec<Diverted> {
    let causes = Cause::ALL.map(Diverted::Autopilot);
    [causes.as_slice(), &[Diverted::LowBattery, Diverted::CoordinatorLoss]].concat()
}

fn astray() -> impl Strategy<Value = Astray> {
    (0..3u8, -1e4..1e4).prop_map(|(which, meters)| match which {
        0 => Astray::Fell {
            from: AltitudeAboveHome(meters),
        },
        1 => Astray::Height {
            at: AltitudeAboveHome(meters),
        },
        _ => Astray::Place { off: meters },
    })
}

fn owed() -> impl Strategy<Value = Owed> {
    let answers = vec![
        Answer::Awaited,
        Answer::Missing,
        Answer::Accepted,
        Answer::Refused("FAILED".into()),
    ];
    let descents = vec![Descent::Land, Descent::Return];
    (select(descents), any::<u32>(), any::<u32>(), select(answers)).prop_map(|(descent, times, since, answer)| Owed {
        descent,
        times,
        since: moment(since.into()),
        answer,
    })
}

fn reports() -> impl Strategy<Value = Report> {
    let vehicle = (
        of(identity()),
        select(truths()),
        of(".*"),
        of(battery()),
        of(position()),
        (of(any::<u32>()), of(any::<u32>()), of(any::<u16>())),
    );
    let classes = vec![ReasonClass::WillHeal, ReasonClass::NeedsHuman, ReasonClass::Unclear];
    let reason = (".*", select(classes), of(any::<u32>()), any::<u32>(), any::<u32>());
    let reason = reason.prop_map(|(text, class, code, first, last)| ArmingReason {
        text,
        class,
        code,
        first: moment(first.into()),
        last: moment(last.into()),
    });
    let reasons = prop::collection::vec(reason, 0..5);
    let kept = (
        any::<u32>(),
        select(vec![SoFar::Fresh, SoFar::Flown, SoFar::Over, SoFar::Killed]),
        of(1..=u64::MAX),
        prop::collection::vec(".*", 0..3),
        any::<u32>(),
        of(any::<(u64, u64, u64)>()),
    );
    let diversion = (select(diversions()), ".{0,300}").prop_map(|(why, words)| Diversion { why, words });
    let kept = (kept, (of(diversion), of(astray()), of(owed()), any::<bool>()));
    let route = (
        super::super::route::tests::states(),
        of(super::super::route::tests::waypoints()),
    );
    let route = (
        route,
        (
            prop::collection::vec(aircraft(), 0..=16),
            super::super::rules::tests::state(),
            super::super::plan::tests::state(),
            super::super::remote_id::tests::state(),
        ),
    );
    let agent = (of(held()), select(activities()), reasons, kept, route);
    (vehicle, agent, any::<(bool, bool, Option<bool>, Option<[u64; 5]>)>()).prop_map(|(vehicle, agent, flags)| {
        let (identity, truth, mode, battery, position, times) = vehicle;
        let (
            held,
            activity,
            reasons,
            (kept, (diversion, astray, owed, others_flew)),
            ((route, home), (traffic, rules, plan, remote_id)),
        ) = agent;
        let (takeovers, so_far, latch, warnings, made, link) = kept;
        let (link_alive, terminating, ready, uploads) = flags;
        Report {
            node: node(),
            link_alive,
            identity,
            truth,
            mode,
            ready,
            reasons,
            battery,
            other_batteries: times.2.map_or_else(Vec::new, |dm: u16| {
                let [id, left] = dm.to_be_bytes();
                let drives = [Drives::Avionics, Drives::Payload, Drives::LeftOut][usize::from(id % 3)];
                let remaining = Percent::new(left);
                vec![OtherBattery { id, drives, remaining }]
            }),
            battery_at: times.0.map(|ms: u32| moment(ms.into())),
            position,
            position_at: times.1.map(|ms: u32| moment(ms.into())),
            heading: times.2.map(|dm: u16| Heading(f64::from(dm % 3_600) / 10.0)),
            accuracy: Accuracy::of_meters(times.1.map_or(0.0, f64::from), times.2.map_or(0.0, f64::from)),
            held,
            activity,
            terminating,
            made: moment(made.into()),
            takeovers,
            so_far,
            ground_latch: latch.map(GroundOrderId),
            warnings,
            link: link.map(|(frames, lost, damaged)| LinkQuality { frames, lost, damaged }),
            diversion,
            astray,
            owed,
            others_flew,
            near_reserve: others_flew != terminating,
            stand_down: times.0.map(|number| Reported {
                number,
                why: stood_down(number),
                uid: DroneUid(format!("u-{made}")),
                name: DroneName {
                    namespace: "field".to_owned(),
                    name: format!("d-{made}"),
                },
            }),
            link_fault: (!link_alive).then(|| format!("serial device /dev/ttyACM{takeovers} is missing")),
            route,
            home,
            inventory: Inventory {
                board: Board::of(made, 0, u16::try_from(made % 7).unwrap_or_default()),
                wear: BatteryWear {
                    cycles: times.2,
                    health: Percent::new(u8::try_from(made % 100).unwrap_or_default()),
                },
            },
            home_shift: times.2.map(|dm: u16| HomeShift {
                east_m: f64::from(dm) / 10.0,
                north_m: -1.5,
                up_m: f64::from(dm) - 300.0,
            }),
            return_height: times.2.map(|dm: u16| AltitudeAboveHome(f64::from(dm) / 10.0)),
            waypoint_radius: times.2.map(|cm: u16| Meters(f64::from(cm) / 100.0)),
            detours: times.1.map(|_| link_alive),
            traffic,
            rules,
            plan,
            remote_id,
            uploads: uploads.map(|[waiting, waiting_bytes, uploaded, failures, removed_before]| Uploads {
                waiting,
                waiting_bytes,
                uploaded,
                failures,
                removed_before,
            }),
        }
    })
}

prop_compose! {
    fn aircraft()(
        icao in any::<u32>(),
        place in super::super::route::tests::waypoints(),
        parts in any::<(Option<bool>, Option<[i8; 2]>, Option<i8>, bool, u32)>(),
    ) -> Aircraft {
        let (satellite, velocity, climb, may_be_uncrewed, seen) = parts;
        let altitude = |satellite| if satellite { Altitude::Satellite(place.amsl) } else { Altitude::Pressure(place.amsl) };
        Aircraft {
            icao,
            at: place.at,
            altitude: satellite.map(altitude),
            velocity: velocity.map(|both| both.map(f64::from)),
            climb: climb.map(f64::from),
            may_be_uncrewed,
            seen: moment(seen.into()),
        }
    }
}

#[test]
fn an_accuracy_that_is_no_distance_is_refused_and_one_that_is_not_known_stays_so() {
    let read = |horizontal_m, vertical_m| {
        let message = v1::Report {
            accuracy: Some(v1::Accuracy {
                horizontal_m,
                vertical_m,
            }),
            ..v1::Report::from(&Report::of_nothing(node()))
        };
        report(node(), message).map(|report| report.accuracy)
    };
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(read(Some(bad), None).is_err(), "{bad}");
        assert!(read(None, Some(bad)).is_err(), "{bad}");
    }
    let known = Accuracy {
        horizontal: None,
        vertical: Some(Meters(2.5)),
    };
    assert_eq!(read(None, Some(2.5)), Ok(known));
}

#[test]
fn aircraft_that_are_too_many_or_nowhere_are_refused() {
    let one = v1::Aircraft {
        latitude_deg: 47.0,
        ..v1::Aircraft::default()
    };
    let read = |traffic| {
        let message = v1::Report {
            traffic,
            ..v1::Report::from(&Report::of_nothing(node()))
        };
        report(node(), message).map_err(|why| why.to_string())
    };
    assert!(read(vec![one; 16]).is_ok());
    assert_eq!(
        read(vec![one; 17]).unwrap_err(),
        "traffic is 17; it must be at most 16 of them"
    );
    let bad = [
        v1::Aircraft {
            latitude_deg: f64::NAN,
            ..one
        },
        v1::Aircraft {
            climb_m_s: Some(f64::INFINITY),
            ..one
        },
        v1::Aircraft {
            velocity: Some(v1::AircraftVelocity {
                east_m_s: 0.0,
                north_m_s: 2e3,
            }),
            ..one
        },
        v1::Aircraft {
            altitude: Some(v1::aircraft::Altitude::PressureM(f64::NAN)),
            ..one
        },
    ];
    for (bad, field) in bad
        .into_iter()
        .zip(["latitude_deg", "climb_m_s", "north_m_s", "pressure_m"])
    {
        assert!(read(vec![bad]).unwrap_err().contains(field), "{field}");
    }
}

proptest! {
    #[test]
    fn every_report_comes_through_the_wire_unchanged(sent in reports()) {
        let bytes = prost::Message::encode_to_vec(&v1::Report::from(&sent));
        let message: v1::Report = prost::Message::decode(bytes.as_slice()).unwrap();
        prop_assert_eq!(report(node(), message), Ok(sent));
    }

    #[test]
    fn whatever_comes_off_the_wire_is_a_report_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(message) = <v1::Report as prost::Message>::decode(bytes.as_slice()) {
            let _ = report(node(), message);
        }
    }
}

fn node() -> NodeName {
    NodeName::parse("drone-1").unwrap()
}

fn refusal(change: impl FnOnce(&mut v1::Report)) -> String {
    let mut message = v1::Report {
        link_alive: true,
        truth: v1::FlightTruth::Disarmed.into(),
        activity: v1::Activity::Idle.into(),
        ..v1::Report::default()
    };
    assert!(report(node(), message.clone()).is_ok());
    change(&mut message);
    report(node(), message).unwrap_err().to_string()
}

#[test]
fn an_agent_that_does_not_say_whether_it_flies_is_unknown() {
    let message = v1::Report {
        activity: v1::Activity::Idle.into(),
        ..v1::Report::default()
    };
    let seen = report(node(), message).unwrap();
    assert!(matches!(seen.truth, FlightTruth::Unknown(_)));
    assert!(!seen.vehicle_free());
}

#[test]
fn ids_that_mavlink_does_not_have_are_refused() {
    let of = |autopilot: v1::Autopilot, system_id, component_id| v1::Identity {
        autopilot: autopilot.into(),
        system_id,
        component_id,
        firmware: String::new(),
        hardware_uid: String::new(),
    };
    let with = |identity| refusal(|r| r.identity = Some(identity));
    assert_eq!(
        with(of(v1::Autopilot::Px4, 0, 1)),
        "identity.system_id is 0; it must be from 1 to 255"
    );
    assert_eq!(
        with(of(v1::Autopilot::Px4, 1, 256)),
        "identity.component_id is 256; it must be from 1 to 255"
    );
    assert_eq!(
        with(of(v1::Autopilot::Unspecified, 1, 1)),
        "identity.autopilot is not set"
    );
}

#[test]
fn numbers_that_mean_nothing_are_refused_and_named() {
    let battery = |remaining_percent, volts| {
        refusal(|r| {
            r.battery = Some(v1::Battery {
                remaining_percent,
                volts,
            })
        })
    };
    assert_eq!(
        battery(Some(101), None),
        "battery.remaining_percent is 101; it must be from 0 to 100 percent"
    );
    assert_eq!(
        battery(None, Some(f64::NAN)),
        "battery.volts is NaN; it must be a voltage, not below 0"
    );
    let position = |latitude_deg, longitude_deg, altitude_above_home_m| {
        let altitude_amsl_m = 0.0;
        let position = v1::Position {
            latitude_deg,
            longitude_deg,
            altitude_amsl_m,
            altitude_above_home_m,
        };
        refusal(|r| r.position = Some(position))
    };
    assert!(position(90.5, 0.0, 0.0).starts_with("position.latitude_deg is 90.5"));
    assert!(position(0.0, f64::INFINITY, 0.0).starts_with("position.longitude_deg is inf"));
    assert!(position(0.0, 0.0, f64::NAN).starts_with("position.altitude_above_home_m is NaN"));
    assert_eq!(
        refusal(|r| r.heading_deg = Some(-1.0)),
        "heading_deg is -1; it must be from 0 to 360 degrees"
    );
}

#[test]
fn a_home_that_can_be_none_is_not_known_and_all_else_counts() {
    for (altitude_amsl_m, is_known) in [(488.0, true), (-1e18, false), (20_001.0, false), (f64::NAN, false)] {
        let home = v1::Waypoint {
            latitude_deg: 47.0,
            longitude_deg: 8.0,
            altitude_amsl_m,
        };
        let message = v1::Report {
            link_alive: true,
            truth: v1::FlightTruth::Disarmed.into(),
            activity: v1::Activity::Idle.into(),
            home: Some(home),
            ..v1::Report::default()
        };
        let read = report(node(), message).unwrap();
        assert_eq!(read.home.is_some(), is_known, "{altitude_amsl_m}");
        assert_eq!(read.truth, FlightTruth::Disarmed);
    }
}

#[test]
fn a_value_of_a_newer_version_and_a_missing_one_are_refused() {
    assert!(refusal(|r| r.truth = 77).starts_with("truth is 77, which this program does not know"));
    assert!(refusal(|r| r.activity = 77).starts_with("activity is 77, which this program does not know"));
    assert_eq!(refusal(|r| r.activity = 0), "activity is not set");
    assert_eq!(
        refusal(|r| r.held = Some(v1::Held::default())),
        "held.drone_uid is empty"
    );
}

#[test]
fn a_report_with_reasons_or_warnings_without_end_is_refused() {
    let node = || NodeName::parse("node-1").unwrap();
    let fine = v1::Report::from(&Report::of_nothing(node()));
    let longest = v1::Report {
        reasons: vec![v1::ArmingReason::default(); MOST_TEXTS],
        warnings: vec![String::new(); MOST_TEXTS],
        ..fine.clone()
    };
    assert!(report(node(), longest.clone()).is_ok());
    let reasons = v1::Report {
        reasons: vec![v1::ArmingReason::default(); MOST_TEXTS + 1],
        ..fine.clone()
    };
    let warnings = v1::Report {
        warnings: vec![String::new(); MOST_TEXTS + 1],
        ..fine
    };
    for (endless, field) in [(reasons, "reasons"), (warnings, "warnings")] {
        let refused = report(node(), endless).unwrap_err().to_string();
        assert!(
            refused.starts_with(field) && refused.contains("at most 64 of them"),
            "{refused}"
        );
    }
}

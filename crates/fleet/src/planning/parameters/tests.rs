//! Profiles, their values, and which vehicle gets them when.

use super::rollout::{Candidate, Progress, State, next};
use super::*;
use model::parameter_meaning::Meaning;
use model::units::{Meters, Wgs84};
use proptest::prelude::*;

fn profile(name: &str, precedence: i32, values: &[(&str, &str)]) -> Profile {
    let values: BTreeMap<String, String> = values
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Profile {
        name: name.to_owned(),
        precedence,
        enforce: Enforce::Apply,
        ardupilot: values.clone(),
        px4: values,
        ..Profile::default()
    }
}

const SIXTH: Variables = Variables {
    slot: Some(5),
    number: Some(7),
    system_id: Some(3),
};

fn resolved(profiles: &[&Profile]) -> Result<Resolved, NoParameters> {
    resolve(profiles, Autopilot::Px4, &SIXTH, &[])
}

fn values(resolved: &Resolved) -> Vec<(&str, f64)> {
    resolved.parameters.iter().map(|p| (p.name.as_str(), p.value)).collect()
}

#[test]
fn the_higher_precedence_wins_and_the_other_is_named() {
    let base = profile("base", 0, &[("RTL_RETURN_ALT", "30"), ("COM_LOW_BAT_ACT", "3")]);
    let site = profile("site", 10, &[("RTL_RETURN_ALT", "{{ 30 + 5*slot }}")]);
    for order in [[&base, &site], [&site, &base]] {
        let resolved = resolved(&order).unwrap();
        assert_eq!(values(&resolved), [("COM_LOW_BAT_ACT", 3.0), ("RTL_RETURN_ALT", 55.0)]);
        assert_eq!(resolved.owners["RTL_RETURN_ALT"], "site");
        let lost = Overruled {
            name: "RTL_RETURN_ALT".to_owned(),
            profile: "base".to_owned(),
            by: Some("site".to_owned()),
        };
        assert_eq!(resolved.overruled, [lost]);
    }
}

#[test]
fn equals_that_want_different_values_are_a_conflict_and_equal_values_are_not() {
    let (one, other) = (
        profile("one", 1, &[("MPC_A", "1")]),
        profile("other", 1, &[("MPC_A", "2")]),
    );
    let error = resolved(&[&other, &one]).unwrap_err().to_string();
    assert!(
        error.contains("one and other have the same precedence and want MPC_A to be 1 and 2"),
        "{error}"
    );
    let same = profile("same", 1, &[("MPC_A", "1.0")]);
    assert_eq!(values(&resolved(&[&one, &same]).unwrap()), [("MPC_A", 1.0)]);
}

#[test]
fn what_belongs_to_a_fence_wins_over_every_profile() {
    let mine = profile("mine", 99, &[("GF_ACTION", "1"), ("MPC_B", "2")]);
    let fence = [WantedParameter {
        name: "GF_ACTION".to_owned(),
        value: 3.0,
        enforce: Enforce::Apply,
        may_reboot: false,
        any_name: false,
    }];
    let resolved = resolve(&[&mine], Autopilot::Px4, &SIXTH, &fence).unwrap();
    assert_eq!(values(&resolved), [("MPC_B", 2.0)]);
    assert_eq!(resolved.overruled[0].by, None);
}

#[test]
fn a_value_by_slot_waits_for_the_slot_and_no_other_takes_its_place() {
    let base = profile("base", 0, &[("RTL_RETURN_ALT", "30")]);
    let site = profile("site", 10, &[("RTL_RETURN_ALT", "{{ 30 + 5*slot }}")]);
    let none = Variables::default();
    let resolved = resolve(&[&base, &site], Autopilot::Px4, &none, &[]).unwrap();
    assert_eq!(values(&resolved), []);
    assert_eq!(
        resolved.waiting,
        [("RTL_RETURN_ALT".to_owned(), "site".to_owned(), Variable::Slot)]
    );
}

#[test]
fn expressions_come_to_what_they_say() {
    let value = |text| expression::evaluate(text, &SIXTH);
    for (text, is) in [
        ("30", 30.0),
        (" -1.5 ", -1.5),
        ("1e3", 1000.0),
        ("{{30 + 5*slot}}", 55.0),
        ("{{ (30 + 5) * slot }}", 175.0),
        ("{{ -number + 2 - 1 }}", -6.0),
        ("{{ 100 / systemId / 2 }}", 100.0 / 3.0 / 2.0),
        ("{{ --2 }}", 2.0),
    ] {
        assert_eq!(value(text), Ok(is), "{text}");
    }
    for (text, words) in [
        ("", "\"\" is no number"),
        ("inf", "is no number"),
        ("NaN", "is no number"),
        ("30 + 5", "is no number"),
        ("{{ }}", "the end at character 2"),
        ("{{ 30 + }}", "where a number, a variable or ( should be"),
        (
            "{{ 30 5 }}",
            "'5' at character 5, where an operator or the end should be",
        ),
        ("{{ slots }}", "\"slots\" at character 2"),
        ("{{ 2 * (1 + 1 }}", "where an operator or ) should be"),
        ("{{ 1.2.3 }}", "\"1.2.3\" is no number"),
        ("{{ 1/0 }}", "inf is no finite number"),
        ("{{ 2 ^ 3 }}", "'^' at character 4"),
    ] {
        let error = value(text).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(40), ")".repeat(40));
    assert_eq!(value(&deep), Err(BadExpression::TooLong));
    assert_eq!(value(&"1".repeat(200)), Err(BadExpression::TooLong));
}

#[test]
fn values_that_the_wire_cannot_carry_are_refused() {
    let fits = |autopilot, value| expression::fits(autopilot, value).is_ok();
    assert!(fits(Autopilot::Px4, 2_147_483_647.0));
    assert!(!fits(Autopilot::ArduPilot, 16_777_217.0));
    assert!(fits(Autopilot::ArduPilot, 0.1));
    assert!(!fits(Autopilot::Px4, 1e39));
}

#[test]
fn what_belongs_to_one_vehicle_or_keeps_skein_safe_cannot_be_set() {
    for name in [
        "COMPASS_OFS_X",
        "COMPASS_DEV_ID",
        "INS_ACCOFFS_X",
        "CAL_ACC0_ID",
        "CAL_MAG1_XOFF",
        "SYSID_THISMAV",
        "MAV_SYS_ID",
        "MAV_0_RATE",
        "STAT_RUNTIME",
        "AHRS_TRIM_X",
        "RC1_TRIM",
        "RC12_MIN",
        "RC8_REV",
        "BARO1_DEVID",
        "BARO1_GND_PRESS",
        "SERIAL1_BAUD",
        "SER_TEL1_BAUD",
        "SR0_POSITION",
        "ARMING_CHECK",
        "ARMING_SKIPCHK",
        "CBRK_SUPPLY_CHK",
        "COM_ARM_WO_GPS",
        "AFS_ENABLE",
        "SYS_AUTOSTART",
        "LND_FLIGHT_T_HI",
        "GPS1_CAN_NODE_ID",
        "TRIM_ROLL",
        "BRD_SERIAL_NUM",
        "RC_MAP_KILL_SW",
        "RC7_OPTION",
        "SERVO1_FUNCTION",
        "ESC_CALIBRATION",
        "FLOW_ORIENT_YAW",
        "RNGFND1_ORIENT",
        "FS_CRASH_CHECK",
        "EK3_ENABLE",
        "FD_EXT_ATS_EN",
        "FENCE_TOTAL",
        "GF_PREDICT",
        "SR4_POSITION",
        "GPS_1_CONFIG",
        "AHRS_ORIENTATION",
        "SENS_BOARD_ROT",
        "RCMAP_THROTTLE",
        "SERVO1_REVERSED",
        "MOT_SPIN_ARM",
        "MOT_SPIN_MIN",
        "MOT_PWM_TYPE",
        "PWM_MAIN_FUNC1",
        "CA_ROTOR0_KM",
        "UAVCAN_EC_FUNC1",
        "RELAY1_FUNCTION",
        "BTN_FUNC1",
        "RC_KILLSWITCH_TH",
        "MAN_KILL_GEST_T",
        "LNDMC_Z_VEL_MAX",
        "COM_THROW_EN",
        "SYS_FAILURE_EN",
        "COM_ARM_ODID",
        "FS_OPTIONS",
        "COM_DLL_EXCEPT",
        "RTL_TYPE",
        "RTL_ALT_TYPE",
        "RALLY_INCL_HOME",
        "A_GROUP_OF_LATER",
    ] {
        let error = profile("p", 0, &[(name, "1")]).check().unwrap_err().to_string();
        assert!(error.contains(name) && error.ends_with("; remove it"), "{error}");
    }
    let of = |autopilot, values: &[(&str, &str)]| {
        let (mut profile, values) = (profile("p", 0, &[]), profile("p", 0, values).px4);
        match autopilot {
            Autopilot::ArduPilot => profile.ardupilot = values,
            Autopilot::Px4 => profile.px4 = values,
        }
        profile.check()
    };
    for (name, value) in [("GF_ACTION", "4"), ("NAV_DLL_ACT", "5"), ("NAV_DLL_ACT", "{{ 3 + 2 }}")] {
        let error = of(Autopilot::Px4, &[(name, value)]).unwrap_err().to_string();
        assert!(error.contains("stops motors in the air"), "{error}");
    }
    assert!(
        denied_parameters::value(Autopilot::ArduPilot, "FS_GCS_ENABLE", 0.4).is_some(),
        "nothing would look after the vehicle"
    );
    let ardupilot = [
        ("RTL_ALT", "1500"),
        ("FENCE_MARGIN", "3"),
        ("FS_GCS_ENABLE", "5"),
        ("BATT_FS_LOW_ACT", "2"),
        ("RC_OPTIONS", "0"),
        ("MOT_BAT_VOLT_MAX", "16.8"),
        ("ATC_RAT_RLL_P", "0.1"),
    ];
    let px4 = [
        ("RTL_RETURN_ALT", "40"),
        ("NAV_DLL_ACT", "3"),
        ("MPC_XY_VEL_MAX", "8"),
        ("COM_WIND_MAX_ACT", "3"),
        ("COM_RC_OVERRIDE", "1"),
        ("SYS_HAS_MAG", "1"),
    ];
    assert_eq!(of(Autopilot::ArduPilot, &ardupilot), Ok(()));
    assert_eq!(of(Autopilot::Px4, &px4), Ok(()));
}

#[test]
fn an_action_is_set_to_values_only_that_keep_motors_running() {
    for (autopilot, name, fine, stops) in [
        (Autopilot::ArduPilot, "BATT_FS_LOW_ACT", 2.0, 5.0),
        (Autopilot::ArduPilot, "BATT2_FS_CRT_ACT", 7.0, 5.0),
        (Autopilot::ArduPilot, "FENCE_ACTION", 4.0, 9.0),
        (Autopilot::ArduPilot, "FS_EKF_ACTION", 1.0, 4.0),
        (Autopilot::Px4, "GF_ACTION", 5.0, 4.0),
        (Autopilot::Px4, "COM_WIND_MAX_ACT", 5.0, 4.0),
        (Autopilot::Px4, "COM_POS_LOW_ACT", 3.0, 4.0),
        (Autopilot::Px4, "COM_GNSSLOSS_ACT", 2.0, 3.0),
        (Autopilot::Px4, "COM_ACT_FAIL_ACT", 3.0, 4.0),
        (Autopilot::Px4, "COM_OBL_RC_ACT", 4.0, 7.0),
        (Autopilot::Px4, "COM_POS_FS_ACT", 0.0, 1.0),
        (Autopilot::Px4, "COM_LOW_BAT_ACT", 3.0, 4.0),
        (Autopilot::Px4, "NAV_RCL_ACT", 3.0, 6.0),
        (Autopilot::Px4, "NAV_TRAFF_AVOID", 4.0, 5.0),
        (Autopilot::Px4, "DAA_LVL_CRIT_ACT", 4.0, 5.0),
    ] {
        assert_eq!(denied_parameters::value(autopilot, name, fine), None, "{name}");
        for stops in [stops, stops + 0.9, 99.0, f64::NAN] {
            assert!(
                denied_parameters::value(autopilot, name, stops).is_some(),
                "{name} {stops}"
            );
        }
    }
    for name in ["COM_NEW_ACT", "XYZ_ACTION"] {
        assert!(
            denied_parameters::value(Autopilot::Px4, name, 1.0).is_some(),
            "an action of a later version"
        );
    }
    assert_eq!(
        denied_parameters::value(Autopilot::ArduPilot, "FS_THR_VALUE", 975.0),
        None,
        "no action"
    );
}

fn setting(field: &'static str, meaning: Meaning, text: &str) -> Setting {
    Setting {
        field,
        meaning,
        value: SettingValue::Number(text.to_owned()),
    }
}

fn on(autopilot: Autopilot, profiles: &[&Profile]) -> Result<Resolved, NoParameters> {
    resolve(profiles, autopilot, &SIXTH, &[])
}

#[test]
fn a_setting_is_right_for_each_stack() {
    let mut mixed = profile("mixed", 0, &[]);
    mixed.settings = vec![
        setting("returnAltitudeMeters", Meaning::ReturnAltitude, "{{ 30 + 5*slot }}"),
        setting("waypointSpeedMetersPerSecond", Meaning::WaypointSpeed, "7.5"),
        Setting {
            field: "onLowBattery",
            meaning: Meaning::LowBatteryAction,
            value: SettingValue::Action(Action::Return),
        },
    ];
    assert_eq!(mixed.check(), Ok(()));
    let px4 = on(Autopilot::Px4, &[&mixed]).unwrap();
    assert_eq!(
        values(&px4),
        [
            ("COM_LOW_BAT_ACT", 3.0),
            ("MPC_XY_CRUISE", 7.5),
            ("RTL_RETURN_ALT", 55.0)
        ]
    );
    let ardupilot = on(Autopilot::ArduPilot, &[&mixed]).unwrap();
    assert_eq!(
        values(&ardupilot),
        [("BATT_FS_LOW_ACT", 2.0), ("RTL_ALT_M", 55.0), ("WP_SPD", 7.5)]
    );
    assert!(ardupilot.parameters.iter().all(|wanted| wanted.any_name));
    assert_eq!(ardupilot.owners["RTL_ALT_M"], "mixed");
    let named = profile("named", 0, &[("RTL_ALT_M", "55")]);
    assert!(!on(Autopilot::ArduPilot, &[&named]).unwrap().parameters[0].any_name);
}

#[test]
fn a_parameter_is_one_whatever_it_is_called() {
    let autopilot = Autopilot::ArduPilot;
    let only = |name: &str, values: &[(&str, &str)]| Profile {
        px4: BTreeMap::new(),
        ..profile(name, 0, values)
    };
    let twice = only("twice", &[("RTL_ALT", "3000"), ("RTL_ALT_M", "30")]);
    let error = twice.check().unwrap_err().to_string();
    assert!(error.contains("RTL_ALT and RTL_ALT_M are one parameter"), "{error}");
    let mut both = only("both", &[("RTL_ALT", "3000")]);
    both.settings = vec![setting("returnAltitudeMeters", Meaning::ReturnAltitude, "30")];
    let error = both.check().unwrap_err().to_string();
    assert!(
        error.contains("settings.returnAltitudeMeters and RTL_ALT are one"),
        "{error}"
    );
    let (old, new) = (only("old", &[("RTL_ALT", "3000")]), only("new", &[("RTL_ALT_M", "40")]));
    let error = on(autopilot, &[&old, &new]).unwrap_err().to_string();
    assert!(error.contains("want RTL_ALT_M to be 40 and 30"), "{error}");
    let same = only("same", &[("RTL_ALT_M", "30")]);
    assert_eq!(values(&on(autopilot, &[&old, &same]).unwrap()).len(), 1);
    let higher = Profile {
        precedence: 9,
        ..new.clone()
    };
    let resolved = on(autopilot, &[&old, &higher]).unwrap();
    assert_eq!(values(&resolved), [("RTL_ALT_M", 40.0)]);
    assert_eq!(resolved.overruled[0].name, "RTL_ALT");
}

#[test]
fn a_value_of_another_unit_is_refused_with_the_name_that_has_that_unit() {
    let error = profile("p", 0, &[("RTL_ALT_M", "3000")])
        .check()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("RTL_ALT_M: 3000 m is not plausible") && error.contains("in cm as RTL_ALT"),
        "{error}"
    );
    let mut far = profile("far", 0, &[]);
    far.settings = vec![setting("returnAltitudeMeters", Meaning::ReturnAltitude, "3000")];
    let error = far.check().unwrap_err().to_string();
    assert!(error.contains("settings.returnAltitudeMeters: 3000 m"), "{error}");
    far.settings = vec![setting(
        "returnAltitudeMeters",
        Meaning::ReturnAltitude,
        "{{ 1000*slot }}",
    )];
    assert_eq!(far.check(), Ok(()), "it may do for some");
    assert!(matches!(
        on(Autopilot::Px4, &[&far]),
        Err(NoParameters::Implausible { .. })
    ));
}

#[test]
fn names_are_those_of_parameters() {
    for name in ["", "rtl_alt", "_HASH_CHECK", "A_NAME_OF_17_CHAR", "A B"] {
        assert!(
            matches!(profile("p", 0, &[(name, "1")]).check(), Err(NoParameters::Name { .. })),
            "{name}"
        );
    }
    let many: Vec<(String, String)> = (0..129).map(|i| (format!("MPC_{i}"), "1".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(resolved(&[&profile("p", 0, &many)]), Err(NoParameters::TooMany(129)));
}

#[test]
fn equal_rules_have_equal_digests_and_every_change_shows() {
    let at = |latitude_deg| Wgs84 {
        latitude_deg,
        longitude_deg: 8.0,
    };
    let circle = |latitude, radius| Fence {
        shapes: vec![model::rules::Shape {
            side: Side::Outside,
            outline: Outline::Circle {
                center: at(latitude),
                radius: Meters(radius),
            },
        }],
    };
    let parameter = |name: &str, value| WantedParameter {
        name: name.to_owned(),
        value,
        enforce: Enforce::Apply,
        may_reboot: false,
        any_name: false,
    };
    let of =
        |fence: Option<Fence>, parameters: &[WantedParameter]| compose(Term(1), fence, parameters.to_vec()).digest.0;
    let (a, b) = (parameter("A", 1.0), parameter("B", 2.0));
    let base = of(Some(circle(47.0, 50.0)), &[a.clone(), b.clone()]);
    assert_eq!(base.len(), 64);
    assert!(base.chars().all(|c| c.is_ascii_hexdigit()));
    assert_eq!(
        base,
        of(Some(circle(47.0, 50.0)), &[b.clone(), a.clone()]),
        "their order says nothing"
    );
    let later = compose(Term(2), Some(circle(47.0, 50.0)), vec![a.clone(), b.clone()])
        .digest
        .0;
    assert_eq!(base, later, "another leader sends the same rules");
    assert_eq!(of(None, &[parameter("A", 0.0)]), of(None, &[parameter("A", -0.0)]));
    let other_values = of(Some(circle(47.0, 50.0)), std::slice::from_ref(&a));
    assert_eq!(base[..32], other_values[..32], "the fence is the same");
    let no_fence = of(None, &[a.clone(), b.clone()]);
    assert_eq!((&no_fence[..32], &no_fence[32..]), (&*"0".repeat(32), &base[32..]));
    let mut others = vec![
        base,
        of(None, &[a.clone(), b.clone()]),
        of(Some(circle(47.000_000_1, 50.0)), &[a.clone(), b.clone()]),
        of(Some(circle(47.0, 50.01)), &[a.clone(), b.clone()]),
        of(Some(circle(47.0, 50.0)), std::slice::from_ref(&a)),
        of(Some(circle(47.0, 50.0)), &[a.clone(), parameter("B", 2.5)]),
        of(
            Some(circle(47.0, 50.0)),
            &[
                a.clone(),
                WantedParameter {
                    may_reboot: true,
                    ..b.clone()
                },
            ],
        ),
        of(
            Some(circle(47.0, 50.0)),
            &[
                a,
                WantedParameter {
                    enforce: Enforce::Report,
                    ..b.clone()
                },
            ],
        ),
        of(
            Some(circle(47.0, 50.0)),
            &[parameter("A", 1.0), WantedParameter { any_name: true, ..b }],
        ),
    ];
    let all = others.len();
    others.sort();
    others.dedup();
    assert_eq!(others.len(), all);
}

struct Fleet {
    names: Vec<String>,
    progress: Vec<Progress>,
    flies: Vec<bool>,
}

impl Fleet {
    fn step(&self, most: u32) -> rollout::Next {
        let profiles = ["p"];
        let candidates: Vec<Candidate<'_>> = (0..self.names.len())
            .map(|i| Candidate {
                name: &self.names[i],
                profiles: &profiles,
                progress: self.progress[i],
                changing: false,
                state: if self.flies[i] { State::Armed } else { State::Grounded },
                serves: i % 2 == 0,
            })
            .collect();
        next(&candidates, &BTreeMap::from([("p", most)]))
    }

    fn underway(&self) -> usize {
        self.progress
            .iter()
            .filter(|p| matches!(p, Progress::Underway | Progress::Refused))
            .count()
    }
}

#[test]
fn forty_vehicles_get_their_values_three_at_a_time_those_that_fly_after_landing() {
    let mut fleet = Fleet {
        names: (0..40).map(|i| format!("v{i:02}")).collect(),
        progress: vec![Progress::Waiting; 40],
        flies: (0..40).map(|i| i == 3 || i == 20).collect(),
    };
    let mut order = Vec::new();
    loop {
        let next = fleet.step(3);
        assert_eq!(next.stopped, BTreeMap::new());
        if next.grant.is_empty() && fleet.underway() == 0 {
            break;
        }
        for name in next.grant {
            let i = fleet.names.iter().position(|known| *known == name).unwrap();
            assert!(!fleet.flies[i], "{name} flies");
            fleet.progress[i] = Progress::Underway;
            order.push(i);
        }
        assert!(fleet.underway() <= 3);
        let first = fleet.progress.iter().position(|p| *p == Progress::Underway).unwrap();
        fleet.progress[first] = Progress::Done;
    }
    assert_eq!(order.len(), 38);
    assert!(
        order[..19].iter().all(|i| i % 2 == 1),
        "those that serve no Drone come first: {order:?}"
    );
    fleet.flies = vec![false; 40];
    assert_eq!(fleet.step(3).grant, ["v03", "v20"]);
}

#[test]
fn one_that_refuses_a_value_stops_what_would_follow() {
    let mut fleet = Fleet {
        names: (0..40).map(|i| format!("v{i:02}")).collect(),
        progress: vec![Progress::Waiting; 40],
        flies: vec![false; 40],
    };
    fleet.progress[7] = Progress::Refused;
    let next = fleet.step(5);
    assert_eq!(next.grant, Vec::<String>::new());
    assert_eq!(next.stopped, BTreeMap::from([("p".to_owned(), "v07".to_owned())]));
    fleet.progress[7] = Progress::Waiting;
    assert_eq!(fleet.step(5).grant.len(), 5, "the profile was changed: it goes on");
}

#[test]
fn a_vehicle_of_two_profiles_needs_a_place_in_both() {
    let both = ["p", "q"];
    let of = |name, profiles, progress| Candidate {
        name,
        profiles,
        progress,
        changing: false,
        state: State::Grounded,
        serves: false,
    };
    let vehicles = [
        of("a", &both[..1], Progress::Underway),
        of("b", &both, Progress::Waiting),
        of("c", &both[1..], Progress::Waiting),
    ];
    assert_eq!(next(&vehicles, &BTreeMap::new()).grant, ["c"]);
}

#[test]
fn a_vehicle_amid_a_change_counts_whoever_began_it_and_gets_newer_values_first() {
    let profiles = ["p"];
    let of = |name, progress, changing| Candidate {
        name,
        profiles: &profiles,
        progress,
        changing,
        state: State::Grounded,
        serves: false,
    };
    // Of a silent vehicle only the begun change is known.
    let silent = Candidate {
        state: State::Unknown,
        ..of("b", Progress::Waiting, true)
    };
    let vehicles = [of("a", Progress::Waiting, false), silent];
    let held = next(&vehicles, &BTreeMap::new());
    assert_eq!(held.grant, Vec::<String>::new());
    assert_eq!(held.busy, BTreeMap::from([("p".to_owned(), "b".to_owned())]));
    let two = BTreeMap::from([("p", 2)]);
    assert_eq!(next(&vehicles, &two).grant, ["a"]);
    let parked = Candidate {
        state: State::Unknown,
        ..of("b", Progress::Waiting, false)
    };
    assert_eq!(
        next(&[of("a", Progress::Waiting, false), parked], &BTreeMap::new()).grant,
        ["a"]
    );
    // A vehicle in the middle of former values takes no further place.
    let vehicles = [of("a", Progress::Waiting, false), of("b", Progress::Waiting, true)];
    assert_eq!(next(&vehicles, &BTreeMap::new()).grant, ["b"]);
}

#[test]
fn a_vehicle_that_took_off_before_its_values_were_set_keeps_nobody_and_is_not_done() {
    let profiles = ["p"];
    let of = |name, progress, state| Candidate {
        name,
        profiles: &profiles,
        progress,
        changing: progress == Progress::Underway,
        state,
        serves: false,
    };
    let one = BTreeMap::from([("p", 1)]);
    let waits = of("b", Progress::Waiting, State::Grounded);
    for (state, grant) in [
        (State::Armed, vec!["b"]),
        (State::Grounded, vec![]),
        (State::Unknown, vec![]),
    ] {
        let now = next(&[of("a", Progress::Underway, state), waits.clone()], &one);
        assert_eq!(now.grant, grant, "{state:?}");
    }
    let former = Candidate {
        changing: true,
        ..of("a", Progress::Waiting, State::Armed)
    };
    assert_eq!(next(&[former, waits.clone()], &one).grant, ["b"]);
    let refuses = of("a", Progress::Refused, State::Armed);
    assert_eq!(next(&[refuses, waits], &one).grant, Vec::<String>::new());
}

proptest! {
    #[test]
    fn no_text_makes_the_expressions_panic(text in "[-+*/(){} 0-9.a-zäé]{0,60}") {
        let _ = expression::evaluate(&text, &SIXTH);
        let _ = expression::evaluate(&format!("{{{{{text}}}}}"), &SIXTH);
    }
}

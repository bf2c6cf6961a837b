//! Invariants 1, 5, 6, 8 and 9: what may be sent, over all combinations of an assignment, a vehicle and a history.

use crate::given::{FLYING, GROUNDED, NOW, assigned, at, heard, uid, vehicle};
use fleet::flight::battery::Levels;
use fleet::flight::converge::{PlanStage, Situation, Step, converge};
use fleet::flight::memory::{Memory, StepKind};
use fleet::flight_record::{FlightRecord, Stage};
use fleet::safety::Rest;
use model::assignment::{Failsafe, Fence, OnCoordinatorLoss, OnLowBattery};
use model::battery_level::Level;
use model::ids::Term;
use model::preflight_policy::Clearance;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use model::vehicle::{LandedState, Mode, OurPlan, Position, Vehicle};
use std::time::Duration;

const AFTER: Duration = Duration::from_secs(60);
const OURS: [Mode; 2] = [Mode::Station, Mode::Takeoff];
const FLOWN: [Mode; 3] = [Mode::Station, Mode::Takeoff, Mode::Mission];

struct Shown {
    vehicle: Vehicle,
    armed: bool,
    mode: Mode,
    landed: Option<LandedState>,
    fresh: bool,
    ready: bool,
}

fn shown() -> Vec<Shown> {
    use LandedState::{InAir, Landing, OnGround, TakingOff};
    let mut all = Vec::new();
    for armed in [false, true] {
        for mode in [
            Mode::Station,
            Mode::Takeoff,
            Mode::Mission,
            Mode::Land,
            Mode::Return,
            Mode::Foreign,
        ] {
            for landed in [None, Some(OnGround), Some(InAir), Some(TakingOff), Some(Landing)] {
                for (age, fresh) in [(0, true), (3001, false)] {
                    for ready in [true, false] {
                        let vehicle = Vehicle {
                            ready: Some(heard(ready, 0)),
                            position: Some(heard(position(30.0), age)),
                            our_plan: OurPlan::Flies,
                            ..vehicle(armed, mode, landed, age)
                        };
                        all.push(Shown {
                            vehicle,
                            armed,
                            mode,
                            landed,
                            fresh,
                            ready,
                        });
                    }
                }
            }
        }
    }
    all
}

fn position(above_home: f64) -> Position {
    Position {
        at: Wgs84 {
            latitude_deg: 47.4,
            longitude_deg: 8.5,
        },
        amsl: AltitudeAmsl(488.0 + above_home),
        above_home: AltitudeAboveHome(above_home),
    }
}

/// Nothing sent; an arm command under way; armed by us.
fn memories() -> [(Memory, bool, bool); 3] {
    let mut under_way = Memory::default();
    under_way.began(StepKind::Arm, at(NOW - 1000));
    let mut armed = under_way.clone();
    let shown = vehicle(true, Mode::Station, Some(LandedState::OnGround), 500);
    armed.observe(&shown, at(NOW - 500));
    assert!(armed.armed_by_us() && under_way.arm_under_way(at(NOW)));
    [
        (Memory::default(), false, false),
        (under_way, true, false),
        (armed, false, true),
    ]
}

fn records() -> [(FlightRecord, bool, bool); 5] {
    let record = |stage, takeovers, killed| FlightRecord {
        uid: Some(uid("d")),
        stage,
        takeovers,
        killed,
        ..FlightRecord::default()
    };
    // Whether it may be armed, and whether somebody else has taken over.
    [
        (record(Stage::Fresh, 0, false), true, false),
        (record(Stage::Flown, 0, false), true, false),
        (record(Stage::Over, 0, false), false, false),
        (record(Stage::Flown, 0, true), false, false),
        (record(Stage::Flown, 1, false), false, true),
    ]
}

/// All inputs of a step besides the vehicle.
struct Around {
    desired: Option<bool>,
    superseded: bool,
    confirmed: bool,
    silent: bool,
    on_loss: OnCoordinatorLoss,
    low: Level,
    on_low: OnLowBattery,
    terminating: bool,
    plan: PlanStage,
}

fn arounds() -> Vec<Around> {
    let mut all = Vec::new();
    for desired in [None, Some(true), Some(false)] {
        for superseded in [false, true] {
            for confirmed in [true, false] {
                for silent in [false, true] {
                    for on_loss in [
                        OnCoordinatorLoss::Continue,
                        OnCoordinatorLoss::Return,
                        OnCoordinatorLoss::Land,
                    ] {
                        for low in [Level::Fine, Level::Low, Level::Emergency] {
                            for on_low in [OnLowBattery::Continue, OnLowBattery::Return, OnLowBattery::Land] {
                                for terminating in [false, true] {
                                    let plain = low == Level::Fine && on_low == OnLowBattery::Continue;
                                    let plans: &[PlanStage] = if plain {
                                        &[PlanStage::None, PlanStage::Preparing, PlanStage::Set, PlanStage::Flying]
                                    } else {
                                        &[PlanStage::Flying]
                                    };
                                    all.extend(plans.iter().map(|plan| Around {
                                        desired,
                                        superseded,
                                        confirmed,
                                        silent,
                                        on_loss,
                                        low,
                                        on_low,
                                        terminating,
                                        plan: *plan,
                                    }));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    all
}

#[test]
fn no_combination_of_circumstances_makes_a_step_that_an_invariant_forbids() {
    let (shown, memories, records) = (shown(), memories(), records());
    let mut sent = [0_u32; 14];
    for around in arounds() {
        let held = around.desired.map(|up| {
            let mut held = assigned("d", 5, if up { FLYING } else { GROUNDED });
            held.failsafe = Failsafe {
                on_coordinator_loss: around.on_loss,
                after: AFTER,
                on_low_battery: around.on_low,
                ..Failsafe::default()
            };
            held
        });
        let fence = Fence {
            highest_term: Term(if around.superseded { 6 } else { 5 }),
            held,
            ground_latch: None,
            last_route: model::route_order::OrderNumber::default(),
        };
        for shown in &shown {
            for (memory, under_way, by_us) in &memories {
                for (record, may_fly, let_go) in &records {
                    let situation = Situation {
                        vehicle: &shown.vehicle,
                        fence: &fence,
                        confirmed: around.confirmed,
                        behind: false,
                        uplink_silent: if around.silent {
                            AFTER
                        } else {
                            AFTER - Duration::from_millis(1)
                        },
                        record,
                        stands_down: false,
                        memory,
                        near_reserve: false,
                        battery: Levels {
                            latest: around.low,
                            lasting: around.low,
                            low_for: Duration::ZERO,
                        },
                        preflight: Clearance::Clear,
                        rules: model::rules::RulesClearance::Clear,
                        plan: around.plan,
                        terminating: around.terminating,
                        lent: false,
                        rest: Rest::default(),
                        now: at(NOW),
                    };
                    let step = converge(&situation).step;
                    let Some(kind) = step.kind() else { continue };
                    sent[kind as usize] += 1;
                    assert!(
                        shown.fresh,
                        "sent to a vehicle of which nothing is known: {situation:#?}"
                    );
                    assert!(!let_go, "sent after a takeover: {situation:#?}");
                    assert!(
                        shown.mode != Mode::Foreign || step == Step::SetStation,
                        "{situation:#?}"
                    );
                    let fresh = record.stage == Stage::Fresh;
                    judge(&step, &around, shown, (*under_way, *by_us), (*may_fly, fresh));
                    let leads_up = matches!(
                        kind,
                        StepKind::AskReasons | StepKind::SetStation | StepKind::Arm | StepKind::TakeOff
                    );
                    let behind = Situation {
                        behind: true,
                        ..situation
                    };
                    assert!(
                        !leads_up || converge(&behind).step == Step::Nothing,
                        "sent on what may be of before: {behind:#?}"
                    );
                }
            }
        }
    }
    let of_routes = [StepKind::FlyTo, StepKind::SetSpeed, StepKind::TurnTo, StepKind::Stop].map(|kind| kind as usize);
    let never: Vec<usize> = (0..sent.len()).filter(|kind| sent[*kind] == 0).collect();
    assert_eq!(never, of_routes, "kinds of steps that were never seen: {sent:?}");
}

fn judge(
    step: &Step,
    around: &Around,
    shown: &Shown,
    (under_way, by_us): (bool, bool),
    (may_fly, fresh): (bool, bool),
) {
    let up = around.desired == Some(true) && !around.terminating;
    let down = !shown.armed && shown.landed == Some(LandedState::OnGround);
    let on_ground = shown.landed == Some(LandedState::OnGround);
    match step {
        Step::Nothing => {}
        Step::AskReasons | Step::SetStation => assert!(up && down && around.confirmed && may_fly),
        Step::Arm(_) => {
            assert!(up && around.confirmed && !around.superseded && may_fly);
            assert!(down && shown.ready && shown.mode == Mode::Station && !under_way);
            assert!(around.low < Level::Low && around.plan != PlanStage::Preparing);
        }
        Step::TakeOff { altitude } => {
            assert!(altitude.0 > 9.9 && altitude.0 < 10.1);
            assert!(up && around.confirmed && !around.superseded);
            assert!(shown.armed && on_ground && by_us && fresh && OURS.contains(&shown.mode));
        }
        Step::ChangeHeight { altitude, .. } => {
            assert!(altitude.0 > 9.9 && altitude.0 < 10.1);
            assert!(up && around.confirmed && !around.superseded);
            assert!(shown.armed && !on_ground && shown.mode == Mode::Station);
        }
        Step::FlyPlan => {
            assert!(up && around.confirmed && !around.superseded && around.plan == PlanStage::Set);
            assert!(shown.armed && !on_ground && shown.mode == Mode::Station);
        }
        Step::Hold => {
            assert!(up && around.plan != PlanStage::Flying);
            assert!(shown.armed && !on_ground && shown.mode == Mode::Mission);
        }
        Step::SetSpeed { .. } | Step::TurnTo { .. } => panic!("it has no route, and is sent {step:?}"),
        Step::Stop { at } => panic!("no program has flown it, and it is stopped at {at:?}"),
        Step::FlyTo { place } => panic!("it has no route, and is sent to {place:?}"),
        Step::Land => {
            assert!(around.desired == Some(false) || around.terminating);
            assert!(shown.armed && FLOWN.contains(&shown.mode));
        }
        Step::FailsafeLand | Step::FailsafeReturn => {
            assert!(up && shown.armed && !on_ground && FLOWN.contains(&shown.mode));
            let returns = *step == Step::FailsafeReturn;
            let wanted = if returns {
                OnCoordinatorLoss::Return
            } else {
                OnCoordinatorLoss::Land
            };
            let alone = around.silent && around.on_loss == wanted;
            let low = match (around.low, around.on_low) {
                (Level::Low, OnLowBattery::Return) => returns,
                (Level::Low, OnLowBattery::Land) | (Level::Emergency, OnLowBattery::Return | OnLowBattery::Land) => {
                    !returns
                }
                _ => false,
            };
            assert!(alone || low);
        }
    }
}

#[test]
fn a_vehicle_that_is_up_and_must_land_is_ordered_to_land_at_once() {
    let memory = Memory::default();
    let record = FlightRecord::default();
    for (desired, terminating) in [(false, false), (false, true), (true, true)] {
        let fence = Fence {
            highest_term: Term(5),
            held: Some(assigned("d", 5, if desired { FLYING } else { GROUNDED })),
            ground_latch: None,
            last_route: model::route_order::OrderNumber::default(),
        };
        for confirmed in [true, false] {
            for mode in FLOWN {
                for landed in [LandedState::InAir, LandedState::TakingOff, LandedState::Landing] {
                    let vehicle = Vehicle {
                        our_plan: OurPlan::Flies,
                        ..vehicle(true, mode, Some(landed), 0)
                    };
                    let situation = Situation {
                        vehicle: &vehicle,
                        fence: &fence,
                        confirmed,
                        behind: true,
                        uplink_silent: Duration::ZERO,
                        record: &record,
                        stands_down: false,
                        memory: &memory,
                        battery: Levels::default(),
                        near_reserve: false,
                        preflight: Clearance::Clear,
                        rules: model::rules::RulesClearance::Clear,
                        plan: PlanStage::Flying,
                        terminating,
                        lent: false,
                        rest: Rest::default(),
                        now: at(NOW),
                    };
                    assert_eq!(converge(&situation).step, Step::Land, "{situation:#?}");
                }
            }
        }
    }
}

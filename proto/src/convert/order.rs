//! `ToAgent`, the coordinator's orders to a node, to and from [`Order`]. An order to land is read even where other
//! fields are bad: refusing it would keep a vehicle up.

use super::{BadMessage, filled, known};
use crate::v1;
use model::assignment::{
    Assignment, Desired, Failsafe, GroundedWhy, OnCoordinatorLoss, OnLowBattery, Order, Preflight, USUAL_RESERVE,
};
use model::ground::{GroundMark, GroundOrderId};
use model::ids::{DroneName, DroneUid, Term};
use model::plan::PlanDigest;
use model::reported_flight::{ReportedFlight, SoFar};
use model::rules::RulesDigest;
use model::station::Manner;
use model::units::{AltitudeAboveHome, Heading, MetersPerSecond, Percent};
use model::vehicle::HardwareUid;
use std::time::Duration;

/// Meters above home, as in the API.
const HIGHEST_ALTITUDE_M: f64 = 120.0;

/// Meters per second, as in the API.
const FASTEST_M_S: f64 = 20.0;

impl From<&Order> for v1::ToAgent {
    fn from(order: &Order) -> Self {
        let order = match order {
            Order::Assigned(a) => v1::to_agent::Order::Assigned(a.into()),
            Order::Unassigned { term, void } => v1::to_agent::Order::Unassigned(v1::Unassigned {
                term: term.0,
                void_routes: Some((*void).into()),
            }),
        };
        Self {
            order: Some(order),
            ..Self::default()
        }
    }
}

impl TryFrom<v1::ToAgent> for Order {
    type Error = BadMessage;

    fn try_from(message: v1::ToAgent) -> Result<Self, BadMessage> {
        match message.order.ok_or(BadMessage::Missing { field: "order" })? {
            v1::to_agent::Order::Assigned(a) => Ok(Self::Assigned(a.try_into()?)),
            v1::to_agent::Order::Unassigned(u) => Ok(Self::Unassigned {
                term: Term(u.term),
                void: u.void_routes.map(Into::into).unwrap_or_default(),
            }),
        }
    }
}

impl From<&Assignment> for v1::Assignment {
    fn from(a: &Assignment) -> Self {
        let desired = match a.desired {
            Desired::Flying { altitude } => v1::assignment::Desired::Flying(v1::Flying {
                altitude_above_home_m: altitude.0,
            }),
            Desired::Grounded { why } => v1::assignment::Desired::Grounded(v1::Grounded {
                why: v1::GroundedWhy::from(why).into(),
                recalled: a.recalled,
            }),
        };
        Self {
            term: a.term.0,
            drone_uid: a.uid.0.clone(),
            drone_namespace: a.name.namespace.clone(),
            drone_name: a.name.name.clone(),
            generation: a.generation,
            desired: Some(desired),
            failsafe: Some((&a.failsafe).into()),
            resume_after_takeovers: a.resume_after,
            ground_mark: a.ground_mark.map(Into::into),
            told_takeovers: a.reported_flight.takeovers,
            told_so_far: v1::FlightSoFar::from(a.reported_flight.so_far).into(),
            told_hardware_uid: a
                .reported_flight
                .hardware
                .map(|uid| uid.to_string())
                .unwrap_or_default(),
            routed: a.routed,
            route: a.route.as_ref().map(Into::into),
            void_routes: Some(a.void.into()),
            heading_deg: a.manner.heading.map(|heading| heading.0),
            speed_m_s: a.manner.speed.map(|speed| speed.0),
            rules: a.rules.as_ref().map(|digest| digest.0.clone()).unwrap_or_default(),
            plan: a.plan.as_ref().map(|digest| digest.0.clone()).unwrap_or_default(),
        }
    }
}

impl TryFrom<v1::Assignment> for Assignment {
    type Error = BadMessage;

    fn try_from(a: v1::Assignment) -> Result<Self, BadMessage> {
        let recalled = matches!(&a.desired, Some(v1::assignment::Desired::Grounded(g)) if g.recalled);
        let desired = match a.desired.ok_or(BadMessage::Missing {
            field: "assigned.desired",
        })? {
            v1::assignment::Desired::Flying(f) => Desired::Flying {
                altitude: altitude("assigned.flying.altitude_above_home_m", f.altitude_above_home_m)?,
            },
            v1::assignment::Desired::Grounded(g) => Desired::Grounded {
                why: grounded_why(g.why),
            },
        };
        let failsafe = a.failsafe.map_or_else(|| Ok(Failsafe::default()), TryInto::try_into);
        let failsafe = match desired {
            Desired::Flying { .. } => failsafe?,
            Desired::Grounded { .. } => failsafe.unwrap_or_default(),
        };
        let so_far = a.told_so_far().into();
        let route = a.route.map(TryInto::try_into).transpose();
        let route = match desired {
            Desired::Flying { .. } => route?,
            Desired::Grounded { .. } => None,
        };
        // An unknown value must not keep a vehicle up.
        let reported_flight = ReportedFlight {
            takeovers: a.told_takeovers,
            so_far,
            hardware: HardwareUid::parse(&a.told_hardware_uid),
        };
        Ok(Self {
            term: Term(a.term),
            uid: DroneUid(filled("assigned.drone_uid", a.drone_uid)?),
            name: DroneName {
                namespace: a.drone_namespace,
                name: a.drone_name,
            },
            generation: a.generation,
            desired,
            failsafe,
            resume_after: a.resume_after_takeovers,
            ground_mark: a.ground_mark.and_then(ground_mark),
            reported_flight,
            routed: a.routed,
            manner: Manner {
                heading: a.heading_deg.filter(|deg| (0.0..360.0).contains(deg)).map(Heading),
                speed: a
                    .speed_m_s
                    .filter(|speed| *speed > 0.0 && *speed <= FASTEST_M_S)
                    .map(MetersPerSecond),
            },
            route,
            void: a.void_routes.map(Into::into).unwrap_or_default(),
            rules: Some(a.rules).filter(|digest| !digest.is_empty()).map(RulesDigest),
            plan: Some(a.plan).filter(|digest| !digest.is_empty()).map(PlanDigest),
            recalled,
        })
    }
}

impl From<SoFar> for v1::FlightSoFar {
    fn from(so_far: SoFar) -> Self {
        match so_far {
            SoFar::Fresh => Self::Unspecified,
            SoFar::Flown => Self::Flown,
            SoFar::Over => Self::Over,
            SoFar::Killed => Self::Killed,
        }
    }
}

impl From<v1::FlightSoFar> for SoFar {
    fn from(so_far: v1::FlightSoFar) -> Self {
        match so_far {
            v1::FlightSoFar::Unspecified => Self::Fresh,
            v1::FlightSoFar::Flown => Self::Flown,
            v1::FlightSoFar::Over => Self::Over,
            v1::FlightSoFar::Killed => Self::Killed,
        }
    }
}

impl From<GroundMark> for v1::GroundMark {
    fn from(mark: GroundMark) -> Self {
        let (order, done) = match mark {
            GroundMark::Given(id) => (id.0, false),
            GroundMark::Done(id) => (id.0, true),
        };
        Self { order, done }
    }
}

/// A mark without a number is ignored, as it must not keep an order to land from being read.
fn ground_mark(mark: v1::GroundMark) -> Option<GroundMark> {
    let id = GroundOrderId(mark.order);
    match (mark.order, mark.done) {
        (0, _) => None,
        (_, false) => Some(GroundMark::Given(id)),
        (_, true) => Some(GroundMark::Done(id)),
    }
}

pub(super) fn altitude(field: &'static str, meters: f64) -> Result<AltitudeAboveHome, BadMessage> {
    if meters > 0.0 && meters <= HIGHEST_ALTITUDE_M {
        return Ok(AltitudeAboveHome(meters));
    }
    Err(BadMessage::OutOfRange {
        field,
        got: meters,
        must: "above 0 and at most 120 meters",
    })
}

impl From<GroundedWhy> for v1::GroundedWhy {
    fn from(why: GroundedWhy) -> Self {
        match why {
            GroundedWhy::Deleted => Self::Deleted,
            GroundedWhy::Ordered => Self::Ordered,
            GroundedWhy::Unbound => Self::Unbound,
            GroundedWhy::Waiting => Self::Waiting,
        }
    }
}

/// A missing or unknown reason, as from a newer coordinator, counts as an operator's order.
fn grounded_why(got: i32) -> GroundedWhy {
    match v1::GroundedWhy::try_from(got) {
        Ok(v1::GroundedWhy::Deleted) => GroundedWhy::Deleted,
        Ok(v1::GroundedWhy::Unbound) => GroundedWhy::Unbound,
        Ok(v1::GroundedWhy::Waiting) => GroundedWhy::Waiting,
        Ok(v1::GroundedWhy::Ordered | v1::GroundedWhy::Unspecified) | Err(_) => GroundedWhy::Ordered,
    }
}

impl From<&Failsafe> for v1::Failsafe {
    fn from(f: &Failsafe) -> Self {
        let action = match f.on_coordinator_loss {
            OnCoordinatorLoss::Continue => v1::OnCoordinatorLoss::Continue,
            OnCoordinatorLoss::Hold => v1::OnCoordinatorLoss::Hold,
            OnCoordinatorLoss::Return => v1::OnCoordinatorLoss::Return,
            OnCoordinatorLoss::Land => v1::OnCoordinatorLoss::Land,
        };
        Self {
            on_coordinator_loss: action.into(),
            after_ms: u64::try_from(f.after.as_millis()).unwrap_or(u64::MAX),
            on_low_battery: match f.on_low_battery {
                OnLowBattery::Continue => v1::OnLowBattery::Continue,
                OnLowBattery::Return => v1::OnLowBattery::Return,
                OnLowBattery::Land => v1::OnLowBattery::Land,
            }
            .into(),
            reserve_percent: f.reserve.get().into(),
            preflight: match f.preflight {
                Preflight::Ignore => v1::Preflight::Ignore,
                Preflight::Warn => v1::Preflight::Warn,
                Preflight::Refuse => v1::Preflight::Refuse,
            }
            .into(),
        }
    }
}

impl TryFrom<v1::Failsafe> for Failsafe {
    type Error = BadMessage;

    fn try_from(f: v1::Failsafe) -> Result<Self, BadMessage> {
        let field = "assigned.failsafe.on_coordinator_loss";
        let on_coordinator_loss = match known(field, f.on_coordinator_loss)? {
            v1::OnCoordinatorLoss::Unspecified => return Err(BadMessage::Missing { field }),
            v1::OnCoordinatorLoss::Continue => OnCoordinatorLoss::Continue,
            v1::OnCoordinatorLoss::Hold => OnCoordinatorLoss::Hold,
            v1::OnCoordinatorLoss::Return => OnCoordinatorLoss::Return,
            v1::OnCoordinatorLoss::Land => OnCoordinatorLoss::Land,
        };
        // With no time at all a vehicle would act on a coordinator that is between two messages.
        if f.after_ms == 0 && on_coordinator_loss != OnCoordinatorLoss::Continue {
            return Err(BadMessage::Missing {
                field: "assigned.failsafe.after_ms",
            });
        }
        let on_low_battery = match known("assigned.failsafe.on_low_battery", f.on_low_battery)? {
            v1::OnLowBattery::Continue => OnLowBattery::Continue,
            v1::OnLowBattery::Unspecified | v1::OnLowBattery::Return => OnLowBattery::Return,
            v1::OnLowBattery::Land => OnLowBattery::Land,
        };
        let preflight = match known("assigned.failsafe.preflight", f.preflight)? {
            v1::Preflight::Ignore => Preflight::Ignore,
            v1::Preflight::Unspecified | v1::Preflight::Warn => Preflight::Warn,
            v1::Preflight::Refuse => Preflight::Refuse,
        };
        Ok(Self {
            on_coordinator_loss,
            after: Duration::from_millis(f.after_ms),
            on_low_battery,
            reserve: reserve(f.reserve_percent)?,
            preflight,
        })
    }
}

fn reserve(percent: u32) -> Result<Percent, BadMessage> {
    let out_of_range = BadMessage::OutOfRange {
        field: "assigned.failsafe.reserve_percent",
        got: percent.into(),
        must: "from 0 to 100 percent",
    };
    match percent {
        0 => Ok(USUAL_RESERVE),
        _ => u8::try_from(percent).ok().and_then(Percent::new).ok_or(out_of_range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::route_order::OrderNumber;
    use proptest::prelude::*;

    fn order() -> impl Strategy<Value = Order> {
        prop_oneof![
            any::<u64>().prop_map(|t| Order::unassigned(Term(t))),
            assignment().prop_map(Order::Assigned)
        ]
    }

    fn assignment() -> impl Strategy<Value = Assignment> {
        let desired = prop_oneof![
            (0.001..=120.0).prop_map(|m| Desired::Flying {
                altitude: AltitudeAboveHome(m)
            }),
            prop::sample::select(vec![
                GroundedWhy::Deleted,
                GroundedWhy::Ordered,
                GroundedWhy::Unbound,
                GroundedWhy::Waiting
            ])
            .prop_map(|why| Desired::Grounded { why }),
        ];
        let action = prop::sample::select(vec![
            OnCoordinatorLoss::Continue,
            OnCoordinatorLoss::Hold,
            OnCoordinatorLoss::Return,
            OnCoordinatorLoss::Land,
        ]);
        let low = prop::sample::select(vec![OnLowBattery::Continue, OnLowBattery::Return, OnLowBattery::Land]);
        let preflight = prop::sample::select(vec![Preflight::Ignore, Preflight::Warn, Preflight::Refuse]);
        let failsafe = (action, 1..=u64::MAX, low, 1..=100_u8, preflight).prop_map(
            |(on_coordinator_loss, ms, on_low_battery, reserve, preflight)| Failsafe {
                on_coordinator_loss,
                after: Duration::from_millis(ms),
                on_low_battery,
                reserve: Percent::new(reserve).unwrap(),
                preflight,
            },
        );
        let mark = prop::option::of((1..=u64::MAX, any::<bool>()).prop_map(|(id, done)| match done {
            true => GroundMark::Done(GroundOrderId(id)),
            false => GroundMark::Given(GroundOrderId(id)),
        }));
        let so_far = prop::sample::select(vec![SoFar::Fresh, SoFar::Flown, SoFar::Over, SoFar::Killed]);
        let before = (any::<u32>(), so_far).prop_map(|(takeovers, so_far)| ReportedFlight {
            takeovers,
            so_far,
            hardware: (takeovers % 3 == 0).then_some(HardwareUid::Short(takeovers.into())),
        });
        let route = (any::<bool>(), prop::option::of(super::super::route::tests::routes()));
        let reported = (any::<u32>(), mark, before, route);
        (
            any::<u64>(),
            ".+",
            ".*",
            ".*",
            any::<i64>(),
            desired,
            failsafe,
            reported,
        )
            .prop_map(
                |(
                    term,
                    uid,
                    namespace,
                    name,
                    generation,
                    desired,
                    failsafe,
                    (resume_after, ground_mark, reported_flight, (routed, route)),
                )| {
                    // A vehicle that is to land has no route.
                    let route = route.filter(|_| matches!(desired, Desired::Flying { .. }));
                    Assignment {
                        routed,
                        route,
                        manner: Manner {
                            heading: (term % 3 == 0).then_some(Heading((term % 3600) as f64 / 10.0)),
                            speed: (term % 2 == 0).then_some(MetersPerSecond((term % 20) as f64 + 0.5)),
                        },
                        void: OrderNumber {
                            term: Term(u64::from(resume_after)),
                            count: u64::from(routed),
                        },
                        rules: routed.then(|| RulesDigest(format!("{term:032x}"))),
                        plan: (term % 5 == 0).then(|| PlanDigest(format!("{term:032x}"))),
                        recalled: routed && matches!(desired, Desired::Grounded { .. }),
                        resume_after,
                        ground_mark,
                        reported_flight,
                        term: Term(term),
                        uid: DroneUid(uid),
                        name: DroneName { namespace, name },
                        generation,
                        desired,
                        failsafe,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn every_order_comes_through_the_wire_unchanged(order in order()) {
            let bytes = prost::Message::encode_to_vec(&v1::ToAgent::from(&order));
            let message: v1::ToAgent = prost::Message::decode(bytes.as_slice()).unwrap();
            prop_assert_eq!(Order::try_from(message), Ok(order));
        }

        #[test]
        fn no_altitude_beyond_the_safe_range_comes_off_the_wire(meters in any::<f64>()) {
            match flying(meters) {
                Ok(Order::Assigned(Assignment { desired: Desired::Flying { altitude }, .. })) => {
                    prop_assert!(altitude.0 > 0.0 && altitude.0 <= 120.0);
                }
                other => prop_assert!(other.is_err() && !(meters > 0.0 && meters <= 120.0)),
            }
        }
    }

    fn message(change: impl FnOnce(&mut v1::Assignment)) -> v1::ToAgent {
        let mut assignment = v1::Assignment {
            term: 3,
            drone_uid: "u-1".into(),
            drone_namespace: "default".into(),
            drone_name: "alpha-brave-goose".into(),
            generation: 1,
            desired: Some(v1::assignment::Desired::Flying(v1::Flying {
                altitude_above_home_m: 10.0,
            })),
            failsafe: None,
            resume_after_takeovers: 0,
            ground_mark: None,
            told_takeovers: 0,
            told_so_far: 0,
            told_hardware_uid: String::new(),
            routed: false,
            route: None,
            heading_deg: None,
            speed_m_s: None,
            void_routes: None,
            rules: String::new(),
            plan: String::new(),
        };
        change(&mut assignment);
        v1::ToAgent {
            order: Some(v1::to_agent::Order::Assigned(assignment)),
            ..v1::ToAgent::default()
        }
    }

    fn flying(altitude_above_home_m: f64) -> Result<Order, BadMessage> {
        let flying = v1::Flying { altitude_above_home_m };
        message(|a| a.desired = Some(v1::assignment::Desired::Flying(flying))).try_into()
    }

    fn grounded(why: i32) -> Result<Order, BadMessage> {
        message(|a| a.desired = Some(v1::assignment::Desired::Grounded(v1::Grounded { why, recalled: false })))
            .try_into()
    }

    fn failsafe(on_coordinator_loss: i32, after_ms: u64) -> Result<Order, BadMessage> {
        message(|a| {
            a.failsafe = Some(v1::Failsafe {
                on_coordinator_loss,
                after_ms,
                ..v1::Failsafe::default()
            })
        })
        .try_into()
    }

    #[test]
    fn a_heading_or_speed_that_is_none_is_left_out_and_keeps_no_order_from_being_read() {
        let read = |heading_deg: f64, speed_m_s: f64| {
            let message = message(|a| (a.heading_deg, a.speed_m_s) = (Some(heading_deg), Some(speed_m_s)));
            match Order::try_from(message) {
                Ok(Order::Assigned(a)) => (a.manner.heading.is_some(), a.manner.speed.is_some()),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(read(359.9, 20.0), (true, true));
        assert_eq!(read(360.0, 20.1), (false, false));
        assert_eq!(read(-0.1, 0.0), (false, false));
        assert_eq!(read(f64::NAN, f64::NAN), (false, false));
    }

    #[test]
    fn heights_that_are_no_takeoff_altitude_are_refused() {
        for meters in [
            0.0,
            -0.0,
            -1.0,
            120.001,
            1e300,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            let refusal = flying(meters).unwrap_err();
            assert!(matches!(refusal, BadMessage::OutOfRange { .. }), "{meters}: {refusal}");
        }
        let text = flying(400.0).unwrap_err().to_string();
        assert_eq!(
            text,
            "assigned.flying.altitude_above_home_m is 400; it must be above 0 and at most 120 meters"
        );
        assert!(flying(120.0).is_ok());
    }

    #[test]
    fn an_order_that_leaves_out_what_matters_is_refused() {
        let refused = |m: v1::ToAgent| Order::try_from(m).unwrap_err().to_string();
        assert_eq!(refused(v1::ToAgent::default()), "order is not set");
        assert_eq!(refused(message(|a| a.drone_uid.clear())), "assigned.drone_uid is empty");
        assert_eq!(refused(message(|a| a.desired = None)), "assigned.desired is not set");
        assert_eq!(
            failsafe(0, 9).unwrap_err().to_string(),
            "assigned.failsafe.on_coordinator_loss is not set"
        );
        let at_once = failsafe(v1::OnCoordinatorLoss::Land.into(), 0).unwrap_err();
        assert_eq!(at_once.to_string(), "assigned.failsafe.after_ms is not set");
    }

    #[test]
    fn an_enum_value_of_another_version_is_refused_and_named() {
        assert_eq!(
            failsafe(99, 9).unwrap_err().to_string(),
            "assigned.failsafe.on_coordinator_loss is 99, which this program does not know; is the sender a newer version?"
        );
        assert!(matches!(failsafe(-1, 9), Err(BadMessage::UnknownValue { got: -1, .. })));
    }

    #[test]
    fn an_order_to_land_is_taken_whatever_reason_or_failsafe_a_newer_coordinator_gives() {
        let why = |order| match order {
            Ok(Order::Assigned(Assignment {
                desired: Desired::Grounded { why },
                ..
            })) => why,
            other => panic!("{other:?}"),
        };
        for unknown in [0, 99, -1] {
            assert_eq!(why(grounded(unknown)), GroundedWhy::Ordered);
        }
        assert_eq!(why(grounded(v1::GroundedWhy::Deleted.into())), GroundedWhy::Deleted);
        for (on_coordinator_loss, after_ms) in [(99, 9), (0, 9), (v1::OnCoordinatorLoss::Land.into(), 0)] {
            let unreadable = message(|a| {
                let why = v1::GroundedWhy::Unbound.into();
                a.desired = Some(v1::assignment::Desired::Grounded(v1::Grounded { why, recalled: false }));
                a.failsafe = Some(v1::Failsafe {
                    on_coordinator_loss,
                    after_ms,
                    ..v1::Failsafe::default()
                });
            });
            assert_eq!(why(unreadable.try_into()), GroundedWhy::Unbound);
        }
    }

    #[test]
    fn an_assignment_without_a_failsafe_goes_on_as_assigned() {
        let Ok(Order::Assigned(a)) = Order::try_from(message(|_| ())) else {
            panic!("a good order was refused")
        };
        assert_eq!(a.failsafe, Failsafe::default());
        assert_eq!(a.failsafe.on_coordinator_loss, OnCoordinatorLoss::Continue);
    }
}

//! Which Drones of a Swarm should be replaced.

use super::Serving;
use crate::planning::node_use::{NodeUse, OnCordon};
use model::units::Percent;
use std::time::Duration;

/// Why a Drone should be replaced, in the order in which they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Replace {
    /// An operator wants its node's vehicle on the ground, or no more flights from it.
    Drained,
    /// Low battery: in the air it is to be relieved, on the ground it does not take off.
    Tired,
    /// Its Swarm's node selector has changed, and does not match its node.
    Misplaced,
    /// Unknown for so long that another is to fly in its place.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    pub serving: Serving,
    /// The flight ended by itself: no landing was ordered, and it stays down.
    pub over: bool,
    pub was_tired: bool,
    /// An armed vehicle's battery is no reason to keep it from taking off.
    pub armed: bool,
    pub battery: Option<Percent>,
    /// `None` while it has no node.
    pub node: Option<NodeUse>,
    pub unknown_for: Option<Duration>,
    /// See [`super::placement`].
    pub misplaced: bool,
}

/// Percent above the threshold at which it is not tired any more: a wavering reading must not have another vehicle called and sent away
/// again.
const RECOVERY_MARGIN_PERCENT: u8 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub on_cordon: OnCordon,
    /// Battery at or below which a flying vehicle is relieved.
    pub rotate_at: Percent,
    /// `None`: never.
    pub replace_lost_after: Option<Duration>,
}

/// How long it has not been known whether a vehicle flies: `by_status`, as another coordinator may have written by another clock, but no longer
/// than this leader has led (`led_for`), nor than since it last `knew`.
pub fn unknown_for(by_status: Option<Duration>, led_for: Duration, knew: Option<Duration>) -> Option<Duration> {
    let here = knew.map_or(led_for, |knew| knew.min(led_for));
    by_status.map(|by_status| by_status.min(here))
}

pub fn replace(s: &Service, policy: &Policy) -> Option<Replace> {
    let above = if s.was_tired { RECOVERY_MARGIN_PERCENT } else { 0 };
    let low = policy.rotate_at.get().saturating_add(above);
    let tired = s.battery.is_some_and(|battery| battery.get() <= low);
    match (s.serving, s.node) {
        (Serving::NoVehicle, _) => None,
        (Serving::Unknown, _) => {
            let long = policy.replace_lost_after.zip(s.unknown_for);
            long.is_some_and(|(after, unknown)| unknown >= after)
                .then_some(Replace::Lost)
        }
        (Serving::OnGround, Some(NodeUse::Cordoned | NodeUse::Drained | NodeUse::Gone))
        | (Serving::Flying { .. }, Some(NodeUse::Drained)) => Some(Replace::Drained),
        (Serving::Flying { .. }, Some(NodeUse::Cordoned)) if policy.on_cordon == OnCordon::Land => {
            Some(Replace::Drained)
        }
        // It would be relieved as soon as it is up; another is to be preferred, or it waits until it is charged.
        (Serving::OnGround, _) if tired && (s.over || !s.armed) => Some(Replace::Tired),
        (Serving::Flying { .. }, _) if tired => Some(Replace::Tired),
        (Serving::OnGround | Serving::Flying { .. }, _) if s.misplaced => Some(Replace::Misplaced),
        (Serving::OnGround | Serving::Flying { .. }, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy = Policy {
        on_cordon: OnCordon::Continue,
        rotate_at: Percent::new(30).expect("30 is a percentage"),
        replace_lost_after: None,
    };

    fn flying() -> Service {
        Service {
            serving: Serving::Flying {
                battery: Percent::new(80),
            },
            over: false,
            was_tired: false,
            armed: false,
            battery: Percent::new(80),
            node: Some(NodeUse::Open),
            unknown_for: None,
            misplaced: false,
        }
    }

    fn on_ground() -> Service {
        Service {
            serving: Serving::OnGround,
            ..flying()
        }
    }

    #[test]
    fn the_ground_taint_replaces_all_and_a_cordon_what_is_down_or_what_the_policy_says() {
        let on = |service: Service, node| Service {
            node: Some(node),
            ..service
        };
        let land = Policy {
            on_cordon: OnCordon::Land,
            ..POLICY
        };
        for policy in [POLICY, land] {
            assert_eq!(replace(&flying(), &policy), None);
            assert_eq!(
                replace(&on(flying(), NodeUse::Drained), &policy),
                Some(Replace::Drained)
            );
            assert_eq!(
                replace(&on(flying(), NodeUse::Gone), &policy),
                None,
                "it flies without its Node"
            );
            for node in [NodeUse::Cordoned, NodeUse::Drained, NodeUse::Gone] {
                assert_eq!(replace(&on(on_ground(), node), &policy), Some(Replace::Drained));
            }
        }
        assert_eq!(replace(&on(flying(), NodeUse::Cordoned), &POLICY), None);
        assert_eq!(replace(&on(flying(), NodeUse::Cordoned), &land), Some(Replace::Drained));
    }

    #[test]
    fn a_low_battery_is_relieved_in_flight_and_replaced_where_the_flight_has_ended() {
        let low = |service: Service| Service {
            battery: Percent::new(30),
            ..service
        };
        assert_eq!(replace(&low(flying()), &POLICY), Some(Replace::Tired));
        assert_eq!(
            replace(&low(on_ground()), &POLICY),
            Some(Replace::Tired),
            "it would be relieved as soon as it is up"
        );
        let armed = Service {
            armed: true,
            ..low(on_ground())
        };
        assert_eq!(replace(&armed, &POLICY), None, "it sags as the motors start");
        let ended = Service {
            over: true,
            ..low(on_ground())
        };
        assert_eq!(replace(&ended, &POLICY), Some(Replace::Tired));
        let pilot = Service {
            over: true,
            ..on_ground()
        };
        assert_eq!(
            replace(&pilot, &POLICY),
            None,
            "a person landed it, and a person says what follows"
        );
        let unknown = Service {
            battery: None,
            ..flying()
        };
        assert_eq!(replace(&unknown, &POLICY), None);
    }

    #[test]
    fn a_reading_that_wavers_about_the_limit_makes_one_tired_once() {
        let mut was_tired = false;
        let mut changes = 0;
        for percent in [32, 31, 30, 31, 30, 32, 29, 33, 35, 30, 34] {
            let service = Service {
                battery: Percent::new(percent),
                was_tired,
                ..flying()
            };
            let tired = replace(&service, &POLICY) == Some(Replace::Tired);
            changes += u32::from(tired != was_tired);
            was_tired = tired;
        }
        assert_eq!((was_tired, changes), (true, 1));
        let better = Service {
            battery: Percent::new(36),
            was_tired,
            ..flying()
        };
        assert_eq!(replace(&better, &POLICY), None, "a wrong reading is not for ever");
    }

    #[test]
    fn a_vehicle_that_mismatches_its_swarm_is_replaced_after_drained_and_tired_ones() {
        let misplaced = |service: Service| Service {
            misplaced: true,
            ..service
        };
        assert_eq!(replace(&misplaced(flying()), &POLICY), Some(Replace::Misplaced));
        assert_eq!(replace(&misplaced(on_ground()), &POLICY), Some(Replace::Misplaced));
        let unknown = Service {
            serving: Serving::Unknown,
            ..misplaced(flying())
        };
        assert_eq!(
            replace(&unknown, &POLICY),
            None,
            "of what is not known nothing is asked"
        );
        let drained = Service {
            node: Some(NodeUse::Drained),
            ..misplaced(flying())
        };
        assert_eq!(replace(&drained, &POLICY), Some(Replace::Drained));
        let tired = Service {
            battery: Percent::new(20),
            ..misplaced(flying())
        };
        assert_eq!(replace(&tired, &POLICY), Some(Replace::Tired));
        assert!(Replace::Drained < Replace::Misplaced && Replace::Tired < Replace::Misplaced);
    }

    #[test]
    fn a_vehicle_that_is_lost_by_the_clock_of_another_leader_is_not_replaced_before_its_time_is_over_by_the_own() {
        let policy = Policy {
            replace_lost_after: Some(Duration::from_secs(300)),
            ..POLICY
        };
        let seconds = Duration::from_secs;
        for (by_status, led_for, knew, lost) in [
            (Some(305), 1, None, false),
            (Some(305), 299, None, false),
            (Some(305), 300, None, true),
            (Some(305), 1000, Some(299), false),
            (Some(305), 1000, Some(300), true),
            (Some(305), 1, Some(300), false),
            (Some(299), 1000, None, false),
            (None, 1000, Some(1000), false),
        ] {
            let service = Service {
                serving: Serving::Unknown,
                unknown_for: unknown_for(by_status.map(seconds), seconds(led_for), knew.map(seconds)),
                ..flying()
            };
            let is_lost = replace(&service, &policy) == Some(Replace::Lost);
            assert_eq!(is_lost, lost, "{by_status:?} {led_for} {knew:?}");
        }
    }

    #[test]
    fn a_lost_vehicle_is_replaced_only_where_the_policy_says_so_and_after_its_time() {
        let lost = |seconds| Service {
            serving: Serving::Unknown,
            unknown_for: Some(Duration::from_secs(seconds)),
            node: Some(NodeUse::Drained),
            ..flying()
        };
        assert_eq!(replace(&lost(1_000_000), &POLICY), None);
        let policy = Policy {
            replace_lost_after: Some(Duration::from_secs(300)),
            ..POLICY
        };
        assert_eq!(replace(&lost(299), &policy), None);
        assert_eq!(replace(&lost(300), &policy), Some(Replace::Lost));
        assert_eq!(
            replace(
                &Service {
                    unknown_for: None,
                    ..lost(0)
                },
                &policy
            ),
            None
        );
    }
}

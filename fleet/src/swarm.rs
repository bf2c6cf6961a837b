//! What a Swarm should do about its Drones, and whether it is ready.
//!
//! Owns: how many Drones to make, which ones to remove first, and the Ready summary.
//! Must not: name Drones ([`crate::names`]) or look at Drones of anybody else: the caller passes its own only.

use crate::ids::DroneUid;
use crate::units::Percent;

/// What a Drone's vehicle does, as far as removing it matters. The order is the order of removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Serving {
    /// It never had a vehicle.
    NoVehicle,
    /// It has a vehicle, which is known not to fly.
    OnGround,
    /// It has a vehicle of which nothing is known just now.
    Unknown,
    /// Its vehicle flies; an unknown battery (`None`) counts as the lowest.
    Flying {
        /// Remaining battery.
        battery: Option<Percent>,
    },
}

/// One Drone of the Swarm, by owner reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which one.
    pub uid: DroneUid,
    /// Its name, the tie-break.
    pub name: String,
    /// What its vehicle does.
    pub serving: Serving,
    /// Whether it is being deleted, or its deletion was asked for and is not seen yet.
    pub leaving: bool,
}

/// What to do about a Swarm's Drones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// How many Drones to make.
    pub create: usize,
    /// Which Drones to delete, first things first.
    pub delete: Vec<DroneUid>,
}

/// What brings the Swarm to `replicas` Drones. Those leaving do not count: they are on their way, whatever they do.
#[must_use]
pub fn plan(replicas: usize, members: &[Member]) -> Plan {
    let mut live: Vec<&Member> = members.iter().filter(|m| !m.leaving).collect();
    let surplus = live.len().saturating_sub(replicas);
    live.sort_by(|a, b| (a.serving, &a.name).cmp(&(b.serving, &b.name)));
    Plan {
        create: replicas.saturating_sub(live.len()),
        delete: live.into_iter().take(surplus).map(|m| m.uid.clone()).collect(),
    }
}

/// The numbers behind a Swarm's Ready condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Drones wished for.
    pub wished: usize,
    /// Drones that exist and are not being deleted.
    pub live: usize,
    /// Drones being deleted.
    pub leaving: usize,
    /// Drones with a vehicle.
    pub assigned: usize,
    /// Drones, not leaving, that fly as asked.
    pub ready: usize,
    /// Whether a ground order is in force.
    pub grounded: bool,
    /// Whether the Swarm itself is being deleted.
    pub deleting: bool,
}

/// Whether a Swarm is ready, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Status of the Ready condition.
    pub ready: bool,
    /// Reason, one word.
    pub reason: &'static str,
    /// One sentence.
    pub message: String,
}

/// Ready: exactly as many fly as wished, and none is left over.
#[must_use]
pub fn readiness(t: &Tally) -> Readiness {
    let no = |reason, message| Readiness {
        ready: false,
        reason,
        message,
    };
    if t.deleting {
        let left = t.live + t.leaving;
        return no(
            "Deleting",
            format!("{left} Drones have yet to land and go; see `kubectl get drones`"),
        );
    }
    if t.grounded {
        let message = "a ground order is in force; `skein release` or spec.grounded=false ends it".to_owned();
        return no("Grounded", message);
    }
    if t.live < t.wished {
        return no("CreatingDrones", format!("{} of {} Drones exist", t.live, t.wished));
    }
    if t.live > t.wished || t.leaving > 0 {
        let surplus = t.live - t.wished + t.leaving;
        return no("RemovingDrones", format!("{surplus} Drones have yet to land and go"));
    }
    if t.ready < t.wished {
        let waiting = t.wished.saturating_sub(t.assigned);
        let tail = if waiting > 0 {
            format!("; {waiting} wait for a vehicle")
        } else {
            String::new()
        };
        let message = format!(
            "{} of {} fly as asked{tail}; see `kubectl get drones -o wide`",
            t.ready, t.wished
        );
        return no(
            if waiting > 0 {
                "WaitingForVehicles"
            } else {
                "NotAllFlying"
            },
            message,
        );
    }
    let message = if t.wished == 0 {
        "no Drone is wished for".into()
    } else {
        format!("all {} fly", t.wished)
    };
    Readiness {
        ready: true,
        reason: "AllFlying",
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn member(name: &str, serving: Serving) -> Member {
        Member {
            uid: DroneUid(name.into()),
            name: name.into(),
            serving,
            leaving: false,
        }
    }

    fn flying(percent: u8) -> Serving {
        Serving::Flying {
            battery: Percent::new(percent),
        }
    }

    fn deleted(plan: &Plan) -> Vec<&str> {
        plan.delete.iter().map(|uid| uid.0.as_str()).collect()
    }

    #[test]
    fn all_missing_drones_are_made_at_once() {
        assert_eq!(
            plan(5, &[member("a", flying(50))]),
            Plan {
                create: 4,
                delete: vec![]
            }
        );
    }

    #[test]
    fn scale_down_removes_an_idle_drone_and_not_the_first_one_which_flies() {
        let members = [
            member("a", flying(90)),
            member("b", Serving::OnGround),
            member("c", flying(10)),
        ];
        assert_eq!(deleted(&plan(2, &members)), ["b"]);
    }

    #[test]
    fn scale_down_goes_from_the_least_to_the_greatest_loss() {
        let members = [
            member("a-flying-80", flying(80)),
            member("b-flying-20", flying(20)),
            member("c-flying-unknown-battery", Serving::Flying { battery: None }),
            member("d-unknown", Serving::Unknown),
            member("e-on-ground", Serving::OnGround),
            member("f-no-vehicle", Serving::NoVehicle),
            member("g-no-vehicle", Serving::NoVehicle),
        ];
        let expected = [
            "f-no-vehicle",
            "g-no-vehicle",
            "e-on-ground",
            "d-unknown",
            "c-flying-unknown-battery",
            "b-flying-20",
            "a-flying-80",
        ];
        for wished in 0..=members.len() {
            assert_eq!(deleted(&plan(wished, &members)), expected[..members.len() - wished]);
        }
    }

    #[test]
    fn a_stale_cache_does_not_delete_two_for_one() {
        let mut members = vec![member("a", Serving::OnGround), member("b", Serving::OnGround)];
        assert_eq!(deleted(&plan(1, &members)), ["a"]);
        members[0].leaving = true;
        assert_eq!(plan(1, &members), Plan::default());
    }

    #[test]
    fn a_drone_that_leaves_is_replaced_although_it_still_lands() {
        let mut members = vec![member("a", flying(50)), member("b", flying(50))];
        members[0].leaving = true;
        assert_eq!(plan(2, &members).create, 1);
    }

    #[test]
    fn a_swarm_is_ready_when_as_many_fly_as_wished_and_none_is_left_over() {
        let all = Tally {
            wished: 2,
            live: 2,
            leaving: 0,
            assigned: 2,
            ready: 2,
            grounded: false,
            deleting: false,
        };
        assert!(readiness(&all).ready);
        let not = |t: Tally, reason: &str| {
            let r = readiness(&t);
            assert!(!r.ready && r.reason == reason, "{r:?}");
        };
        not(Tally { ready: 1, ..all }, "NotAllFlying");
        not(
            Tally {
                ready: 1,
                assigned: 1,
                ..all
            },
            "WaitingForVehicles",
        );
        not(Tally { leaving: 1, ..all }, "RemovingDrones");
        not(
            Tally {
                live: 1,
                ready: 1,
                ..all
            },
            "CreatingDrones",
        );
        not(Tally { grounded: true, ..all }, "Grounded");
        not(Tally { deleting: true, ..all }, "Deleting");
        assert!(
            readiness(&Tally {
                wished: 0,
                live: 0,
                assigned: 0,
                ready: 0,
                ..all
            })
            .ready
        );
    }

    fn any_serving() -> impl Strategy<Value = Serving> {
        prop_oneof![
            Just(Serving::NoVehicle),
            Just(Serving::OnGround),
            Just(Serving::Unknown),
            (0u8..=110).prop_map(flying),
        ]
    }

    proptest! {
        #[test]
        fn a_plan_reaches_the_wish_and_never_removes_a_flying_drone_while_another_would_do(
            replicas in 0usize..12,
            seeds in proptest::collection::vec((any_serving(), any::<bool>()), 0..12),
        ) {
            let members: Vec<_> = seeds.into_iter().enumerate()
                .map(|(i, (serving, leaving))| Member { leaving, ..member(&format!("d{i:02}"), serving) })
                .collect();
            let plan = plan(replicas, &members);
            let live: Vec<_> = members.iter().filter(|m| !m.leaving).collect();
            prop_assert_eq!(live.len() + plan.create - plan.delete.len(), replicas);
            prop_assert!(plan.create == 0 || plan.delete.is_empty());
            let worst = live.iter().filter(|m| plan.delete.contains(&m.uid)).map(|m| m.serving).max();
            let best = live.iter().filter(|m| !plan.delete.contains(&m.uid)).map(|m| m.serving).min();
            if let (Some(worst), Some(best)) = (worst, best) {
                prop_assert!(worst <= best);
            }
        }
    }
}

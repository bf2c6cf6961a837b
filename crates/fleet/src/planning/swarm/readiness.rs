//! Whether a Swarm is ready, and why not.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    pub desired: usize,
    pub live: usize,
    /// Drones allowed beyond the desired ones, because as many should be replaced.
    pub surge: usize,
    pub leaving: usize,
    pub assigned: usize,
    /// Drones, not leaving, that fly as the Swarm asks now.
    pub ready: usize,
    /// Drones, not leaving, that need a person before they fly as asked.
    pub stalled: usize,
    /// Drones whose vehicle may or may not fly.
    pub unknown: usize,
    pub grounded: bool,
    pub deleting: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    pub ready: bool,
    /// A person has to do something first: nothing more comes by itself.
    pub stalled: bool,
    /// In CamelCase.
    pub reason: &'static str,
    pub message: String,
}

/// Ready: exactly as many fly as desired, and none is left over.
pub fn readiness(t: &Tally) -> Readiness {
    let mut verdict = of_the_known(t);
    if t.unknown > 0 && !verdict.ready {
        verdict.message += &format!("; of {} it is not known whether they fly", t.unknown);
    }
    verdict
}

fn of_the_known(t: &Tally) -> Readiness {
    let no = |reason, message| Readiness {
        ready: false,
        stalled: false,
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
        let message = "it is to stay on the ground: `skein release` ends a ground order (`kubectl get groundorders`), spec.grounded=false what the spec says".to_owned();
        return no("Grounded", message);
    }
    if t.live < t.desired {
        return no("CreatingDrones", format!("{} of {} Drones exist", t.live, t.desired));
    }
    if t.live > t.desired + t.surge || t.leaving > 0 {
        let surplus = t.live.saturating_sub(t.desired) + t.leaving;
        return no("RemovingDrones", format!("{surplus} Drones have yet to land and go"));
    }
    if t.ready < t.desired && t.ready + t.stalled >= t.desired {
        let message = format!(
            "{} of {} fly as asked; {} need a person, see `kubectl get drones -o wide`",
            t.ready, t.desired, t.stalled
        );
        return Readiness {
            stalled: true,
            ..no("DronesStalled", message)
        };
    }
    if t.ready < t.desired {
        let waiting = t.desired.saturating_sub(t.assigned);
        let tail = if waiting > 0 {
            format!("; {waiting} wait for a vehicle")
        } else {
            String::new()
        };
        let message = format!(
            "{} of {} fly as asked{tail}; see `kubectl get drones -o wide`",
            t.ready, t.desired
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
    let message = if t.desired == 0 {
        "no Drone is desired".into()
    } else {
        format!("all {} fly", t.desired)
    };
    Readiness {
        ready: true,
        stalled: false,
        reason: "AllFlying",
        message,
    }
}

//! A record for each flight: the rules on the vehicle at its takeoff.

use super::plan::{Objects, Outcome, Subject};
use k8s_openapi::jiff::Timestamp;
use model::ids::DroneName;
use model::rules::RulesDigest;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// When it was first observed in the air, by the autopilot's account.
    pub took_off: Timestamp,
    /// Whether this coordinator observed it on the ground before. The rules on board in the air say nothing of the takeoff.
    pub observed: bool,
    pub drone: Option<DroneName>,
    pub hardware: Option<String>,
    pub firmware: Option<String>,
    /// The digests of the fence and of the parameters that its agent held.
    pub digest: Option<RulesDigest>,
    /// Whether these were the wanted ones, and all of them in force.
    pub in_force: bool,
    /// The objects that they were made from, and their authors; none where they were made from others.
    pub objects: Vec<String>,
}

pub type Followed = model::followed::Followed<Flight>;

/// The flight after a report, and the one that has ended with it.
pub fn follow(
    before: Followed,
    objects: &Objects,
    of: (&Subject, &Outcome),
    drone: Option<&DroneName>,
    now: Timestamp,
) -> (Followed, Option<Flight>) {
    let truth = of.0.report.as_ref().map(|report| report.truth);
    before.after(truth, |observed| taken_off(objects, of, observed, drone, now))
}

fn taken_off(
    objects: &Objects,
    (subject, outcome): (&Subject, &Outcome),
    observed: bool,
    drone: Option<&DroneName>,
    now: Timestamp,
) -> Flight {
    let report = subject.report.as_ref();
    let identity = report.and_then(|report| report.identity.as_ref());
    let rules = report.map(|report| &report.rules).filter(|_| observed);
    let held = rules.and_then(|rules| rules.held.as_ref());
    let is_named = outcome.named.is_none() || held == outcome.named.as_ref();
    let fences = outcome.active.iter().filter_map(|&i| objects.fences.get(i));
    let fences = fences.map(|fence| format!("Geofence {}: {}", fence.name, fence.author));
    let profiles = outcome.profiles.iter().filter_map(|&i| objects.profiles.get(i));
    let profiles = profiles.map(|values| format!("ParameterProfile {}: {}", values.profile.name, values.author));
    // The previous coordinator may have observed it.
    let status = subject.object.as_ref().and_then(|object| object.status.as_ref());
    let since = status
        .and_then(|status| status.airborne_since.as_ref())
        .filter(|_| !observed);
    Flight {
        took_off: since.map_or(now, |since| since.0),
        observed,
        drone: drone.cloned(),
        hardware: identity
            .and_then(|identity| identity.hardware)
            .map(|uid| uid.to_string()),
        firmware: identity.and_then(|identity| identity.firmware.clone()),
        digest: held.cloned(),
        in_force: is_named && rules.is_some_and(|rules| rules.in_force),
        objects: if held.is_some() && is_named {
            fences.chain(profiles).collect()
        } else {
            Vec::new()
        },
    }
}

impl Flight {
    pub fn words(&self, landed: Timestamp) -> String {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let seconds = |time: Timestamp| Timestamp::from_second(time.as_second()).unwrap_or(time);
        let served = self
            .drone
            .as_ref()
            .map_or_else(|| "no Drone".to_owned(), |drone| format!("Drone {drone}"));
        let rules = match (&self.digest, self.in_force) {
            _ if !self.observed => "which rules it took off with was not observed by this coordinator".to_owned(),
            (None, _) => "no rules".to_owned(),
            (Some(digest), true) => format!("{} in force", digest.words()),
            (Some(digest), false) if self.objects.is_empty() => {
                format!("{}, which were not those that it was to have", digest.words())
            }
            (Some(digest), false) => format!("{} not all in force", digest.words()),
        };
        let objects = if self.objects.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.objects.join("; "))
        };
        format!(
            "{} to {}, {served}, hardware {}, firmware {}, {rules}{objects}",
            seconds(self.took_off),
            seconds(landed),
            known(&self.hardware),
            known(&self.firmware)
        )
    }
}

//! What the pilot reports to the coordinator.

use super::Pilot;
use fleet::safety;
use model::assignment::{Desired, Held, Preflight};
use model::battery_level::Level;
use model::monitored_battery::{Drives, OtherBattery};
use model::preflight_policy::Clearance;
use model::report::{Report, RouteState};
use model::route_order::Waypoint;
use model::rules::RulesClearance;
use model::time::Moment;
use model::units::{AltitudeAboveHome, Meters};
use model::vehicle::{Airframe, ArmingReason, FlightTruth, ReasonClass, TRUTH_STALE_AFTER, Vehicle};
use std::time::Duration;

/// Battery and position are not reported any more when they are older than this.
const REPORTED_FOR: Duration = Duration::from_secs(15);

/// What an autopilot has not reported for this long since the link came up it does not know.
const REPORTED_WITHIN: Duration = Duration::from_secs(30);

const RULES_NOT_IN_FORCE: &str = "a Geofence or ParameterProfile that selects the vehicle is not in force on it; see `kubectl get geofences,parameterprofiles`";

impl Pilot {
    /// Reasons of ours: its autopilot might arm.
    fn own_reasons(&self, truth: FlightTruth, now: Moment) -> Vec<ArmingReason> {
        // Which of the two is on the ground is not known then.
        let of_link = self.shared_id_reason(now).into_iter().chain(self.unsigned_reason());
        if truth != FlightTruth::Disarmed {
            return of_link.collect();
        }
        let mut reasons: Vec<ArmingReason> = self.unsaved.iter().cloned().collect();
        reasons.extend(of_link);
        reasons.extend(self.start_reason(now));
        reasons.extend(self.remote_id_reasons(now));
        let uid = self.state.fence.held.as_ref().map(|held| &held.uid);
        reasons.extend(self.stands_down(uid, now));
        reasons.extend(self.home_reason(now));
        let Some(held) = &self.state.fence.held else {
            return reasons;
        };
        reasons.extend(self.gauge.refusal(held.failsafe.reserve, now));
        if let Some(since) = self.unread_since {
            let text = "the autopilot has not reported the number of its hardware (AUTOPILOT_VERSION), which shows that it is \
                        the one that serves the Drone; check the link, and that it speaks MAVLink 2";
            reasons.push(unreported(text, since, now));
        }
        if let Some(ago) = self.others_flew(now) {
            let text = format!(
                "somebody else flew or armed it until a moment ago; it is armed again after {} s of quiet",
                self.rest.quiet.as_secs()
            );
            let since = Moment::at(now.since_epoch().saturating_sub(ago));
            reasons.push(ArmingReason {
                class: ReasonClass::WillHeal,
                ..ArmingReason::reported(text, since)
            });
        }
        let since = self.preflight.known_since();
        let ours = |class, text| ArmingReason {
            class,
            ..ArmingReason::reported(text, since)
        };
        if held.failsafe.preflight == Preflight::Refuse && self.gauge.levels(now).latest == Level::Unknown {
            reasons.push(self.battery_unknown(now));
        }
        match self.clearance(now) {
            Clearance::Clear => {}
            Clearance::Reading => reasons.push(ours(
                ReasonClass::WillHeal,
                "the autopilot's own failsafes are being read".to_owned(),
            )),
            Clearance::Problems => {
                let problems = self.preflight.findings().problems.iter();
                let problems = problems.chain(self.doubts.findings());
                reasons.extend(problems.map(|line| ours(ReasonClass::NeedsHuman, line.clone())));
            }
        }
        let text = match self.rules_clearance(now) {
            RulesClearance::Clear => None,
            RulesClearance::NotInForce => Some(RULES_NOT_IN_FORCE),
            RulesClearance::Changing => Some("fence or parameters of the autopilot are being changed"),
        };
        reasons.extend(text.map(|text| ArmingReason {
            class: ReasonClass::WillHeal,
            ..ArmingReason::reported(text.to_owned(), self.link_up.unwrap_or(now))
        }));
        reasons.extend(self.plan_missing(now));
        reasons
    }

    /// `None` where the autopilot itself says what is missing.
    fn start_reason(&self, now: Moment) -> Option<ArmingReason> {
        let starts = self.vehicle.is_starting(now) && self.vehicle.reasons.is_empty();
        let text = "the autopilot starts: by its HEARTBEAT (system_status) it is not to be armed yet";
        starts.then(|| unreported(text, self.link_up.unwrap_or(now), now))
    }

    /// How long ago somebody else flew the vehicle while it served no Drone, until it is offered again.
    pub(super) fn others_flew(&self, now: Moment) -> Option<Duration> {
        self.memory.since_others_flew(now).filter(|ago| *ago < self.rest.quiet)
    }

    /// `None` where this does not matter any more.
    fn arm_refused(&self, truth: FlightTruth, now: Moment) -> Option<Vec<ArmingReason>> {
        let held = self.state.fence.held.as_ref();
        let wanted =
            held.is_some_and(|a| matches!(a.desired, Desired::Flying { .. })) && truth == FlightTruth::Disarmed;
        let refusal = self.refusal.as_ref().filter(|_| wanted)?;
        refusal.reasons(&self.vehicle.reasons, now)
    }

    /// Its reserve would be watched by nobody. At first it may be that the autopilot has not said it yet.
    fn battery_unknown(&self, now: Moment) -> ArmingReason {
        let text = "the autopilot does not say what is left in its battery; set up its battery monitor, or set \
                    spec.failsafe.preflight to Warn";
        unreported(text, self.link_up.unwrap_or(now), now)
    }

    /// Findings that a person should mend, also where it prevents nothing.
    fn warnings(&self, now: Moment) -> Vec<String> {
        let of_link = self.shared_id_reason(now).into_iter().chain(self.unsigned_reason());
        let of_link = of_link.map(|reason| reason.text);
        let found = match self.preflight_policy() {
            Preflight::Ignore => None,
            Preflight::Warn | Preflight::Refuse => {
                let problems = self.preflight.findings().problems.iter();
                Some(problems.chain(self.doubts.findings()))
            }
        };
        of_link.chain(found.into_iter().flatten().cloned()).collect()
    }

    fn route_state(&self) -> RouteState {
        let fence = &self.state.fence;
        // What it has lost it still flies along until it has agreed to stay.
        let lost = self.lost.as_ref().filter(|_| self.memory.is_adrift());
        let held = fence.held.as_ref().and_then(|held| held.route.as_ref());
        // It is taken back, and not known to have stopped: it may be anywhere in there.
        let stops_in = self.state.stops_in.as_ref().filter(|_| held.is_none());
        let order = held.or(stops_in).or(lost).cloned();
        let progress = self.memory.progress();
        let progress = progress.filter(|progress| order.as_ref().is_some_and(|o| o.number == progress.number));
        let next = progress.map(|progress| progress.next);
        RouteState {
            last: fence.last_route,
            next: next.or(stops_in.map(|route| route.places.len())),
            stalled: progress.and_then(|_| self.memory.stalled().cloned()),
            order,
            lent: self.lent(),
        }
    }

    /// The height to which its autopilot climbs to return, above home as it is reported. Autopilots count it from home as it is.
    fn return_height(&self, vehicle: &Vehicle) -> Option<AltitudeAboveHome> {
        let identity = vehicle.identity.as_ref()?;
        let height = self.preflight.return_altitude(identity.autopilot)?;
        let up_m = vehicle.home_shift.map_or(0.0, |shift| shift.up_m);
        Some(AltitudeAboveHome((height.0 + up_m).max(0.0)))
    }

    fn waypoint_radius(&self, vehicle: &Vehicle) -> Option<Meters> {
        let identity = vehicle.identity.as_ref()?;
        self.preflight.waypoint_radius(identity.autopilot)
    }

    fn detours(&self, vehicle: &Vehicle) -> Option<bool> {
        let identity = vehicle.identity.as_ref()?;
        self.preflight.detours(identity.autopilot)
    }

    pub fn report(&self, now: Moment) -> Report {
        // Nothing of another airframe is taken for the Drone's.
        let (unheard, another) = (Vehicle::default(), self.airframe() == Airframe::Another);
        let vehicle = if another { &unheard } else { &self.vehicle };
        let truth = vehicle.truth(now);
        let beat = vehicle.heartbeat.as_ref().and_then(|h| h.fresh(now, TRUTH_STALE_AFTER));
        let own_reasons = self.own_reasons(truth, now);
        let refused = self.arm_refused(truth, now);
        // Where it takes no request it may not report its checks.
        let ready = vehicle.ready(now).or(vehicle.takes_only_signed.then_some(false));
        let words = match &refused {
            Some(words) if ready == Some(true) => words.clone(),
            Some(_) | None => vehicle.reasons.clone(),
        };
        let position = vehicle.position.and_then(|p| p.fresh(now, REPORTED_FOR).copied());
        Report {
            node: self.node.clone(),
            made: now,
            link_alive: vehicle.link_alive(now),
            link_fault: self.link_fault.clone().filter(|_| !vehicle.link_alive(now)),
            identity: vehicle.identity.clone(),
            inventory: vehicle.inventory,
            truth,
            mode: beat.map(|b| b.mode.label.clone()),
            ready: ready.map(|ready| ready && own_reasons.is_empty() && refused.is_none()),
            reasons: [own_reasons, words].concat(),
            battery: vehicle.battery.and_then(|b| b.fresh(now, REPORTED_FOR).copied()),
            battery_at: vehicle.battery.map(|b| b.at),
            near_reserve: self.near_reserve.was(),
            other_batteries: other_batteries(vehicle, now),
            position,
            position_at: vehicle.position.map(|p| p.at),
            accuracy: vehicle.accuracy(now),
            heading: vehicle.heading.and_then(|h| h.fresh(now, REPORTED_FOR).copied()),
            held: self
                .state
                .fence
                .held
                .as_ref()
                .map(|a| Held::of(a, safety::settled(truth, self.may_still_fly(now)))),
            activity: self.activity,
            terminating: self.terminating,
            takeovers: self.state.record.takeovers,
            so_far: self.state.record.so_far(),
            ground_latch: self.state.fence.ground_latch,
            link: None,
            diversion: self.state.record.diversion.clone(),
            astray: self.watch.astray(),
            owed: self.memory.owed().cloned(),
            others_flew: self.others_flew(now).is_some(),
            stand_down: self.state.stand_downs.reported(),
            route: self.route_state(),
            home: vehicle
                .home_at
                .zip(vehicle.home)
                .map(|(at, amsl)| Waypoint { at, amsl }),
            home_shift: vehicle.home_shift,
            return_height: self.return_height(vehicle),
            waypoint_radius: self.waypoint_radius(vehicle),
            detours: self.detours(vehicle),
            traffic: position.map_or_else(Vec::new, |from| self.traffic.near((from.at, from.amsl), now)),
            warnings: self.warnings(now),
            rules: self.rules_report(),
            plan: self.keeper.report(self.named_plan()),
            remote_id: self.remote_id_report(now),
            uploads: None,
        }
    }
}

/// Batteries that do not drive the motors, as far as they were heard lately.
fn other_batteries(vehicle: &Vehicle, now: Moment) -> Vec<OtherBattery> {
    let others = vehicle
        .batteries
        .iter()
        .filter(|battery| battery.drives != Drives::Motors);
    let fresh = others.filter_map(|battery| {
        let reading = battery.reading.fresh(now, REPORTED_FOR)?;
        Some(OtherBattery {
            id: battery.id,
            drives: battery.drives,
            remaining: reading.remaining,
        })
    });
    fresh.collect()
}

/// What the autopilot has not reported since then: at first that heals by itself.
fn unreported(text: &str, since: Moment, now: Moment) -> ArmingReason {
    let class = if now.since(since) < REPORTED_WITHIN {
        ReasonClass::WillHeal
    } else {
        ReasonClass::NeedsHuman
    };
    ArmingReason {
        class,
        ..ArmingReason::reported(text.to_owned(), since)
    }
}

//! A second vehicle with the system id of ours on the line.

use super::Pilot;
use link::Frame;
use model::time::Moment;
use model::vehicle::{ArmingReason, ReasonClass};
use tracing::warn;

impl Pilot {
    /// Takes what came with the address of our autopilot.
    pub(super) fn hear_shared_id(&mut self, frame: &Frame, now: Moment) {
        if !self.discovery.is_ours(frame.header) {
            return;
        }
        let was_shared = self.vehicle.shares_id(now);
        self.shared_id.receive(&frame.message, now);
        self.vehicle.id_shared_at = self.shared_id.noticed().map(|(_, at)| at);
        if !was_shared && let Some(reason) = self.shared_id_reason(now) {
            warn!("{}", reason.text);
        }
    }

    /// Why the vehicle is not armed, in words, while two speak with its id.
    pub(super) fn shared_id_reason(&self, now: Moment) -> Option<ArmingReason> {
        let (evidence, _) = self.shared_id.noticed().filter(|_| self.vehicle.shares_id(now))?;
        let system = self.discovery.latched()?.system.0;
        let text = format!(
            "two vehicles speak as system {system} on this line ({}), and what is sent reaches both: give each a system id of its own (ArduPilot: \
             MAV_SYSID, before 4.7 SYSID_THISMAV; PX4: MAV_SYS_ID), or each pair of radios a network id of its own",
            evidence.words()
        );
        Some(ArmingReason {
            class: ReasonClass::NeedsHuman,
            ..ArmingReason::reported(text, self.link_up.unwrap_or(now))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state_file::State;
    use link::LinkEvent;
    use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavMessage, MavType, SYSTEM_TIME_DATA};
    use mavlink::MavHeader;
    use model::ids::NodeName;
    use std::time::Duration;

    fn at(ms: u64) -> Moment {
        Moment::at(Duration::from_millis(ms))
    }

    fn receive(pilot: &mut Pilot, message: MavMessage, now: Moment) {
        let header = MavHeader {
            system_id: 7,
            component_id: 1,
            sequence: 0,
        };
        let frame = Frame {
            header,
            message,
            at: tokio::time::Instant::now(),
        };
        pilot.receive(&LinkEvent::Frame(Box::new(frame)), now, 0.5);
    }

    #[test]
    fn two_vehicles_of_one_system_id_on_one_line_are_reported_until_one_is_gone() {
        let mut pilot = Pilot::new(NodeName::parse("alpha").unwrap(), State::default(), at(0));
        pilot.receive(&LinkEvent::Up, at(0), 0.5);
        let time = |time_boot_ms| {
            MavMessage::SYSTEM_TIME(SYSTEM_TIME_DATA {
                time_boot_ms,
                ..SYSTEM_TIME_DATA::default()
            })
        };
        let words = |pilot: &Pilot, now| {
            pilot
                .report(now)
                .reasons
                .iter()
                .map(|r| r.text.clone())
                .collect::<String>()
        };
        for s in 0..60_u32 {
            let now = at(u64::from(s) * 1000);
            let beat = HEARTBEAT_DATA {
                autopilot: MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
                mavtype: MavType::MAV_TYPE_QUADROTOR,
                mavlink_version: 3,
                ..HEARTBEAT_DATA::default()
            };
            receive(&mut pilot, MavMessage::HEARTBEAT(beat), now);
            receive(&mut pilot, time(500_000 + s * 1000), now);
            if (10..20).contains(&s) {
                receive(&mut pilot, time(s * 1000), now);
            }
            let report = pilot.report(now);
            let shared = words(&pilot, now).contains("two vehicles speak as system 7");
            assert_eq!(shared, (12..50).contains(&s), "at {s} s: {:?}", report.reasons);
            assert_eq!(report.warnings.iter().any(|line| line.contains("two vehicles")), shared);
            assert!(!shared || (report.ready != Some(true) && words(&pilot, now).contains("MAV_SYS_ID")));
        }
    }
}

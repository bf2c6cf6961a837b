//! ArduPilot's OpenDroneID: messages of its aircraft, operator and transmitter, and whether it arms by them.
//! Recorded with a transmitter on the real one's second serial port. It has no CAN: a transmitter there
//! (`DID_CANDRIVER`) is guessed to be always good to arm.

use super::ArduPilot;
use crate::model::core::Core;
use crate::wire::{Address, RemoteIdMessage};

const COUNTS_FOR_S: f64 = 3.0;

/// `DID_OPTIONS`: no arming without.
const ENFORCE: u32 = 1;

#[derive(Debug, Default)]
pub(super) struct RemoteId {
    has_id: bool,
    place: Option<(i32, i32)>,
    system_s: Option<f64>,
    transmitter: Option<(Result<(), String>, f64)>,
}

impl RemoteId {
    pub(super) fn failing(&self, core: &Core) -> Option<String> {
        if core.params.get("DID_OPTIONS") as u32 & ENFORCE == 0 {
            return None;
        }
        let fresh = |at: Option<f64>| at.is_some_and(|at| core.uptime_s - at <= COUNTS_FOR_S);
        let on_can = core.params.get("DID_CANDRIVER") != 0.0;
        let reported = self.transmitter.as_ref().filter(|(_, at)| fresh(Some(*at)));
        let why = if core.params.get("DID_ENABLE") == 0.0 {
            "DID_ENABLE must be 1"
        } else if !self.has_id {
            "UA_TYPE required in BasicID"
        } else if self.place.is_none_or(|place| place == (0, 0)) {
            "operator location must be set"
        } else if !on_can && reported.is_none() {
            "ARM_STATUS not available"
        } else if !fresh(self.system_s) {
            "SYSTEM not available"
        } else if let Some((Err(why), _)) = reported {
            why
        } else {
            return None;
        };
        Some(format!("OpenDroneID: {why}"))
    }
}

impl ArduPilot {
    pub(super) fn hear_remote_id(&mut self, core: &Core, from: Address, message: &RemoteIdMessage) {
        if core.params.get("DID_ENABLE") == 0.0 {
            return;
        }
        let now_s = core.uptime_s;
        let known = &mut self.remote_id;
        match message {
            RemoteIdMessage::BasicId { id_type, ua_type, .. } => known.has_id = *id_type != 0 && *ua_type != 0,
            RemoteIdMessage::System { lat_e7, lon_e7, .. } => {
                known.place = Some((*lat_e7, *lon_e7));
                known.system_s = Some(now_s);
            }
            // It counts only after a whole one.
            RemoteIdMessage::SystemUpdate { lat_e7, lon_e7, .. } if known.system_s.is_some() => {
                known.place = Some((*lat_e7, *lon_e7));
                known.system_s = Some(now_s);
            }
            RemoteIdMessage::ArmStatus { good, error } if from.system == core.config.system_id => {
                let status = if *good { Ok(()) } else { Err(error.clone()) };
                known.transmitter = Some((status, now_s));
            }
            RemoteIdMessage::SystemUpdate { .. }
            | RemoteIdMessage::ArmStatus { .. }
            | RemoteIdMessage::OperatorId { .. }
            | RemoteIdMessage::SelfId { .. } => {}
        }
    }
}

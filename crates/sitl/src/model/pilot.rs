//! The profile of one autopilot, as the vehicle drives it.

use super::core::Core;
use super::geo::{Neu, Wgs84};
use crate::wire::{Incoming, PlanItem};

/// Both callbacks may send through the core.
pub(super) trait Pilot: Send {
    fn tick(&mut self, core: &mut Core, dt_s: f64);
    fn receive(&mut self, core: &mut Core, incoming: &Incoming);
    fn armed(&self) -> bool;
    /// HEARTBEAT.custom_mode.
    fn custom_mode(&self) -> u32;
    /// Usable for arming and flight.
    fn has_position(&self, core: &Core) -> bool;
    /// MAV_LANDED_STATE.
    fn landed_state(&self, core: &Core) -> u8;
    /// Items in force; `None` while a part of the stored fence is not, or is not judged yet.
    fn fence(&self) -> Option<Vec<PlanItem>>;
    /// Write on the vehicle itself, not over the link.
    fn parameter_written(&mut self, _place: usize) {}
    /// Ignored by a profile that does not model it.
    fn suffer(&mut self, _core: &mut Core, _fault: Fault) {}
    /// Ignored by a profile that does not model it.
    fn fly_by_stick(&mut self, _core: &mut Core, _to: Neu) {}
    fn set_home_here(&mut self, _core: &mut Core) {}
    /// Effect of a peer's MAV_CMD_DO_SET_HOME.
    fn move_home(&mut self, core: &mut Core, place: Wgs84);
    /// A profile that does not model it continues to send.
    fn block(&mut self, _core: &mut Core, _blocked: bool) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    GpsLost,
    GpsBack,
    /// The vehicle cannot stay in the air.
    MotorStops,
}

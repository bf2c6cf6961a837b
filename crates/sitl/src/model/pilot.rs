//! What flies the vehicle: the profile of one autopilot, as the vehicle drives it.

use super::core::Core;
use super::geo::{Neu, Wgs84};
use crate::wire::{Incoming, PlanItem};

/// What a profile must do. Both callbacks may send through the core.
pub(super) trait Pilot: Send {
    /// One step of simulated time.
    fn tick(&mut self, core: &mut Core, dt_s: f64);
    /// A message from a peer.
    fn receive(&mut self, core: &mut Core, incoming: &Incoming);
    /// Motors run.
    fn armed(&self) -> bool;
    /// The mode number as in HEARTBEAT.
    fn custom_mode(&self) -> u32;
    /// The estimator has a position that arming and flight can use.
    fn has_position(&self, core: &Core) -> bool;
    /// MAV_LANDED_STATE number.
    fn landed_state(&self, core: &Core) -> u8;
    /// The items of the fence that counts; `None` while a part of the stored one does not, or is not judged yet.
    fn fence(&self) -> Option<Vec<PlanItem>>;
    /// A parameter was written on the vehicle itself, not over the link.
    fn parameter_written(&mut self, _place: usize) {}
    /// A fault begins or ends. A profile that does not model it ignores it.
    fn suffer(&mut self, _core: &mut Core, _fault: Fault) {}
    /// A pilot flies it by stick to `to`. A profile that does not model it ignores it.
    fn fly_by_stick(&mut self, _core: &mut Core, _to: Neu) {}
    /// A person sets home where it is.
    fn set_home_here(&mut self, _core: &mut Core) {}
    /// Somebody sets home elsewhere.
    fn move_home(&mut self, core: &mut Core, place: Wgs84);
    /// The link is blocked, or free again. A profile that does not model it continues to send.
    fn block(&mut self, _core: &mut Core, _blocked: bool) {}
}

/// What can go wrong with the vehicle itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The satellite receiver has no fix any more.
    GpsLost,
    /// The satellite receiver has a fix again.
    GpsBack,
    /// A motor stops: the vehicle cannot stay in the air.
    MotorStops,
}

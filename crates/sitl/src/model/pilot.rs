//! Profile of one autopilot, as the vehicle drives it.

use super::core::Core;
use super::geo::{Neu, Wgs84};
use crate::wire::{Incoming, PlanItem};

pub(super) trait Pilot: Send {
    fn tick(&mut self, core: &mut Core, dt_s: f64);
    fn receive(&mut self, core: &mut Core, incoming: &Incoming);
    fn armed(&self) -> bool;
    fn custom_mode(&self) -> u32;
    fn has_position(&self, core: &Core) -> bool;
    /// MAV_LANDED_STATE.
    fn landed_state(&self, core: &Core) -> u8;
    /// `None` while a part of the stored fence is not in force, or is not judged yet.
    fn fence(&self) -> Option<Vec<PlanItem>>;
    fn parameter_written(&mut self, _place: usize) {}
    fn suffer(&mut self, _core: &mut Core, _fault: Fault) {}
    fn fly_by_stick(&mut self, _core: &mut Core, _to: Neu) {}
    fn set_home_here(&mut self, _core: &mut Core) {}
    fn move_home(&mut self, core: &mut Core, place: Wgs84);
    fn block(&mut self, _core: &mut Core, _blocked: bool) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    GpsLost,
    GpsBack,
    MotorStops,
}

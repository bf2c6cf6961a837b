//! Descriptions of the events that were recorded from PX4, for tests.

use super::Table;
use std::sync::Arc;

const FILE: &str = r#"{"version": 2, "components": {"1": {"namespace": "px4",
  "enums": {"navigation_mode_group_t": {"type": "uint32_t", "is_bitfield": true, "entries": {
    "8": {"name": "mission", "description": "Mission"}, "16": {"name": "loiter", "description": "Hold"}}}},
  "event_groups": {
    "default": {"events": {
      "133277": {"name": "commander_arm_denied_resolve_failures", "message": "Arming denied: Resolve system health failures first"},
      "99": {"name": "commander_arm_denied_throttle_high", "message": "Arming denied: high throttle"},
      "98": {"name": "commander_landing_detected", "message": "Landing detected"},
      "2831661": {"name": "navigator_mis_geofence_violation", "message": "Geofence violation for waypoint {1}", "arguments": [
        {"type": "uint16_t"}]}}},
    "arming_check": {"events": {
      "11047904": {"name": "commander_arming_check_summary", "message": "s", "type": "summary", "arguments": [
        {"type": "uint8_t"}, {"type": "uint32_t"}, {"type": "uint32_t"}, {"type": "navigation_mode_group_t"}, {"type": "navigation_mode_group_t"}]},
      "13835193": {"name": "check_modes_local_pos", "message": "Navigation error: No valid position estimate", "arguments": [
        {"type": "navigation_mode_group_t"}, {"type": "uint8_t"}]},
      "377561": {"name": "check_modes_mission", "message": "No valid mission available", "arguments": [
        {"type": "navigation_mode_group_t"}, {"type": "uint8_t"}]},
      "5943233": {"name": "check_mag_sys_has_mag_missing", "message": "Found {3} compass (required: {4})",
        "description": "Make sure all required sensors are connected, see <param>SYS_HAS_MAG</param>.", "arguments": [
        {"type": "navigation_mode_group_t"}, {"type": "uint8_t"}, {"type": "uint8_t"}, {"type": "uint8_t"}]},
      "77": {"name": "check_estimator", "message": "No valid altitude estimate",
        "description": "Calibrate the sensors.", "arguments": [
        {"type": "navigation_mode_group_t"}, {"type": "uint8_t"}]}}},
    "health": {"events": {
      "1914663": {"name": "commander_health_summary", "message": "s", "type": "summary", "arguments": [{"type": "uint8_t"}]},
      "78": {"name": "check_cpuload", "message": "CPU load too high: {3:.1}%", "arguments": [
        {"type": "navigation_mode_group_t"}, {"type": "uint8_t"}, {"type": "float"}]}}}}}}}"#;

pub(crate) fn table() -> Arc<Table> {
    Arc::new(super::events::read(FILE.as_bytes()).unwrap())
}

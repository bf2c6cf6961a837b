//! Which parameters count only after a reboot of the autopilot.

use model::vehicle::Autopilot;

/// Names, or how names begin, that the descriptions of their parameters by PX4 1.15 to 1.18 mark `rebootRequired`.
const PX4: &[&str] = &[
    "ADSB_",
    "ASPD_PRIMARY",
    "BAT1_CAPACITY",
    "BAT1_R_INTERNAL",
    "BAT1_SOURCE",
    "BAT1_V_",
    "BAT2_CAPACITY",
    "BAT2_R_INTERNAL",
    "BAT2_SOURCE",
    "BAT2_V_",
    "BAT3_CAPACITY",
    "BAT3_R_INTERNAL",
    "BAT3_SOURCE",
    "BAT3_V_",
    "TRIG_",
    "CBRK_BUZZER",
    "CBRK_FLIGHTTERM",
    "COM_HOME_EN",
    "EKF2_ABIAS_INIT",
    "EKF2_AGP0_DELAY",
    "EKF2_AGP1_DELAY",
    "EKF2_AGP2_DELAY",
    "EKF2_AGP3_DELAY",
    "EKF2_AGP_DELAY",
    "EKF2_ANGERR_INIT",
    "EKF2_ASP_DELAY",
    "EKF2_AVEL_DELAY",
    "EKF2_BARO_DELAY",
    "EKF2_DECL_TYPE",
    "EKF2_DELAY_MAX",
    "EKF2_EV_DELAY",
    "EKF2_GBIAS_INIT",
    "EKF2_GPS_DELAY",
    "EKF2_HGT_REF",
    "EKF2_MAG_DELAY",
    "EKF2_MAG_TYPE",
    "EKF2_MULTI_",
    "EKF2_OF_DELAY",
    "EKF2_REQ_GPS_H",
    "EKF2_RNGBC_DELAY",
    "EKF2_RNG_DELAY",
    "EV_TSK_",
    "FD_ACT_EN",
    "FD_EXT_ATS_EN",
    "GPS_1_",
    "GPS_2_",
    "GPS_CFG_WIPE",
    "GPS_SAT_INFO",
    "GPS_UBX_",
    "GPS_YAW_OFFSET",
    "LNDFW_TRIG_TIME",
    "MAV_0_",
    "MAV_1_",
    "MAV_2_",
    "MAV_COMP_ID",
    "MAV_SYS_ID",
    "MBE_ENABLE",
    "MNT_MODE_IN",
    "MNT_MODE_OUT",
    "SDLOG_BACKEND",
    "SDLOG_DIRS_MAX",
    "SDLOG_MAX_SIZE",
    "SDLOG_MISSION",
    "SDLOG_MODE",
    "SDLOG_PROFILE",
    "SDLOG_ROTATE",
    "IMU_ACCEL_CUTOFF",
    "IMU_DGYRO_CUTOFF",
    "IMU_GYRO_",
    "IMU_INTEG_RATE",
    "SENS_BOARD_ROT",
    "SENS_EN_",
    "SENS_FLOW_RATE",
    "SENS_IMU_MODE",
    "SENS_INT_BARO_EN",
    "SENS_MAG_MODE",
    "SENS_MAG_RATE",
    "SIM_ARSPD_FAIL",
    "SIH_VEHICLE_TYPE",
    "SYS_AUTOSTART",
    "SYS_BL_UPDATE",
    "SYS_DM_BACKEND",
    "SYS_FAILURE_EN",
    "SYS_HAS_",
    "SYS_HITL",
    "TC_A_ENABLE",
    "TC_B_ENABLE",
    "TC_G_ENABLE",
    "TC_M_ENABLE",
];

/// ArduCopter 4.7: the well-known ones of its parameter documentation.
const ARDUPILOT: &[&str] = &[
    "BATT_MONITOR",
    "BATT2_MONITOR",
    "BRD_",
    "CAN_",
    "EK2_ENABLE",
    "EK3_ENABLE",
    "FRAME_CLASS",
    "FRAME_TYPE",
    "GPS1_TYPE",
    "GPS2_TYPE",
    "GPS_TYPE",
    "MOT_PWM_TYPE",
    "RNGFND1_TYPE",
    "SCHED_LOOP_RATE",
    "SERIAL0_PROTOCOL",
    "SERIAL1_PROTOCOL",
    "SERIAL2_PROTOCOL",
    "SERIAL3_PROTOCOL",
    "SERIAL4_PROTOCOL",
    "SERIAL5_PROTOCOL",
    "SERIAL6_PROTOCOL",
    "SERIAL7_PROTOCOL",
    "SERIAL8_PROTOCOL",
    "SERIAL9_PROTOCOL",
];

pub fn counts_after_reboot(autopilot: Autopilot, name: &str) -> bool {
    let list = match autopilot {
        Autopilot::Px4 => PX4,
        Autopilot::ArduPilot => ARDUPILOT,
    };
    list.iter().any(|entry| match entry.strip_suffix('_') {
        Some(_) => name.starts_with(entry),
        None => name == *entry,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_on_the_list_whole_or_by_its_beginning() {
        assert!(counts_after_reboot(Autopilot::Px4, "MAV_0_RATE"));
        assert!(counts_after_reboot(Autopilot::Px4, "COM_HOME_EN"));
        assert!(!counts_after_reboot(Autopilot::Px4, "COM_HOME_IN_AIR"));
        assert!(!counts_after_reboot(Autopilot::Px4, "GF_ACTION"));
        for name in [
            "EKF2_AGP0_DELAY",
            "EKF2_AGP3_DELAY",
            "EKF2_RNGBC_DELAY",
            "SYS_FAILURE_EN",
            "SDLOG_BACKEND",
            "ASPD_PRIMARY",
        ] {
            assert!(counts_after_reboot(Autopilot::Px4, name), "{name}: from PX4 1.18");
        }
        assert!(counts_after_reboot(Autopilot::ArduPilot, "BRD_SAFETY_DEFLT"));
        assert!(!counts_after_reboot(Autopilot::ArduPilot, "FENCE_ENABLE"));
    }
}

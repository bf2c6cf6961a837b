//! Commands that PX4 sends by itself to component 0 and repeats, because no component answers them.

use crate::model::core::Core;
use crate::wire::{CommandLong, Outgoing};

const GIMBAL_CONFIGURE: u16 = 1001;
const GIMBAL_PITCH_YAW: u16 = 1000;
const NAV_RETURN_TO_LAUNCH: u16 = 20;
const DO_TRIGGER_CONTROL: u16 = 2003;
const REPEAT_S: f64 = 0.52;
const REPEATS: u8 = 3;
const NAN: f32 = f32::NAN;

#[derive(Clone, Debug, Default)]
pub(super) struct OwnCommands(Vec<(f64, CommandLong)>);

impl OwnCommands {
    /// Sent at the start of a landing or return.
    pub(super) fn neutral_gimbal(&mut self, core: &mut Core) {
        let take = [1.0, 1.0, -1.0, -1.0, 0.0, 0.0, 0.0];
        self.send_text(core, GIMBAL_CONFIGURE, take);
        self.send_text(core, GIMBAL_PITCH_YAW, [NAN, NAN, NAN, NAN, 2.0, 0.0, 0.0]);
        self.send_text(core, GIMBAL_CONFIGURE, [-3.0, -3.0, -1.0, -1.0, 0.0, 0.0, 0.0]);
        self.repeat(core, GIMBAL_CONFIGURE, take, true);
    }

    /// The command without a number at the end of a return.
    pub(super) fn return_ends(&mut self, core: &mut Core) {
        let params = [0.0, 2.0, 80.0, NAN, 0.0, 0.0, core.config.home.amsl_m as f32];
        self.send_text(core, 0, params);
        self.repeat(core, 0, params, false);
    }

    pub(super) fn mission_returns(&mut self, core: &mut Core) {
        let stop = [-1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        for (command, params) in [(NAV_RETURN_TO_LAUNCH, [0.0; 7]), (DO_TRIGGER_CONTROL, stop)] {
            self.send_text(core, command, params);
            self.repeat(core, command, params, true);
        }
    }

    pub(super) fn step(&mut self, core: &mut Core) {
        while let Some(position) = self.0.iter().position(|(at, _)| core.uptime_s >= *at) {
            let (_, command) = self.0.remove(position);
            core.send_raw(Outgoing::Command(command));
        }
    }

    fn send_text(&mut self, core: &mut Core, command: u16, params: [f32; 7]) {
        let target_system = core.config.system_id;
        core.send_raw(Outgoing::Command(CommandLong {
            command,
            params,
            confirmation: 0,
            target_system,
        }));
    }

    fn repeat(&mut self, core: &Core, command: u16, params: [f32; 7], count: bool) {
        for repeat in 1..=REPEATS {
            let confirmation = if count { repeat } else { 0 };
            let command = CommandLong {
                command,
                params,
                confirmation,
                target_system: core.config.system_id,
            };
            self.0.push((core.uptime_s + REPEAT_S * f64::from(repeat), command));
        }
    }
}

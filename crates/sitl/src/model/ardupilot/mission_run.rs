//! Progress of ArduCopter's mission.

use std::collections::BTreeMap;

/// MISSION_STATE, without "no mission" and "paused".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    NotStarted,
    Running,
    Stopped,
    Complete,
}

#[derive(Clone, Debug, Default)]
pub(super) struct MissionRun {
    state: State,
    current: u16,
    pub(super) paused: bool,
    pub(super) takeoff_waits: bool,
    pub(super) there_since_s: Option<f64>,
    jumps: BTreeMap<u16, u16>,
}

impl MissionRun {
    /// MISSION_STATE for a mission of `items` with home.
    pub(super) fn number(&self, items: usize) -> u8 {
        match self.state {
            _ if items <= 1 => 1,
            State::NotStarted => 2,
            State::Running if self.paused => 4,
            State::Running => 3,
            State::Stopped => 4,
            State::Complete => 5,
        }
    }

    pub(super) fn current(&self) -> u16 {
        self.current
    }

    pub(super) fn is_running(&self) -> bool {
        self.state == State::Running
    }

    pub(super) fn can_resume(&self) -> bool {
        self.state == State::Stopped && self.current > 0
    }

    pub(super) fn begin(&mut self, item: u16) {
        self.state = State::Running;
        self.current = item;
        self.paused = false;
        self.takeoff_waits = false;
        self.there_since_s = None;
    }

    pub(super) fn choose(&mut self, item: u16) {
        self.state = State::Stopped;
        self.current = item;
    }

    pub(super) fn stop(&mut self) {
        if self.is_running() {
            self.state = State::Stopped;
            self.paused = false;
        }
    }

    pub(super) fn complete(&mut self) {
        *self = Self {
            state: State::Complete,
            ..Self::default()
        };
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn forget_jumps(&mut self) {
        self.jumps.clear();
    }

    /// `times` below 0: without limit.
    pub(super) fn jumps_again(&mut self, place: u16, times: f32) -> bool {
        let taken = self.jumps.entry(place).or_default();
        let again = times < 0.0 || f32::from(*taken) < times;
        *taken = taken.saturating_add(u16::from(again));
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_taken_as_often_as_it_says() {
        let mut run = MissionRun::default();
        let taken = (0..5).filter(|_| run.jumps_again(3, 2.0)).count();
        assert_eq!(taken, 2);
        assert!((0..99).all(|_| run.jumps_again(4, -1.0)));
    }

    #[test]
    fn a_mission_of_home_alone_is_no_mission() {
        let mut run = MissionRun::default();
        assert_eq!((run.number(1), run.number(5)), (1, 2));
        run.begin(1);
        assert_eq!(run.number(5), 3);
        run.complete();
        assert_eq!((run.number(5), run.current()), (5, 0));
    }
}

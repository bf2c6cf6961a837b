//! What is asked for, how often, and of which link.

use super::*;
use link::dialect::{
    ADSB_VEHICLE_DATA, AUTOPILOT_VERSION_DATA, BATTERY_STATUS_DATA, EXTENDED_SYS_STATE_DATA, GLOBAL_POSITION_INT_DATA,
    GPS_RAW_INT_DATA, HOME_POSITION_DATA, MESSAGE_INTERVAL_DATA, SYS_STATUS_DATA,
};
use std::collections::BTreeMap;

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

fn message(needed: Needed) -> MavMessage {
    match needed {
        Needed::Landed => MavMessage::EXTENDED_SYS_STATE(EXTENDED_SYS_STATE_DATA::default()),
        Needed::SysStatus => MavMessage::SYS_STATUS(SYS_STATUS_DATA::default()),
        Needed::Position => MavMessage::GLOBAL_POSITION_INT(GLOBAL_POSITION_INT_DATA::default()),
        Needed::Version => MavMessage::AUTOPILOT_VERSION(AUTOPILOT_VERSION_DATA::default()),
        Needed::Home => MavMessage::HOME_POSITION(HOME_POSITION_DATA::default()),
        Needed::Battery => MavMessage::BATTERY_STATUS(BATTERY_STATUS_DATA::default()),
        Needed::Accuracy => MavMessage::GPS_RAW_INT(GPS_RAW_INT_DATA::default()),
        Needed::Traffic => MavMessage::ADSB_VEHICLE(ADSB_VEHICLE_DATA::default()),
        Needed::BeatNow | Needed::ReadyNow => MavMessage::SYS_STATUS(SYS_STATUS_DATA::default()),
    }
}

fn interval(needed: Needed, interval_us: i32) -> MavMessage {
    MavMessage::MESSAGE_INTERVAL(MESSAGE_INTERVAL_DATA {
        message_id: needed.terms().id,
        interval_us,
    })
}

/// One millisecond after the other.
struct Line {
    /// Milliseconds, of each message that is sent by itself.
    set: BTreeMap<usize, u64>,
    next: BTreeMap<usize, u64>,
    /// How much longer than set the intervals are.
    stretch: u64,
    /// Accepted when it is asked for, and never sent.
    lacks: Vec<Needed>,
    answers: bool,
    obeys: bool,
    streams: Streams,
    asked: Vec<(u64, Request)>,
    received: BTreeMap<usize, Vec<u64>>,
    ended: u64,
}

impl Line {
    fn of(set: &[(Needed, u64)], stretch: u64) -> Self {
        Self {
            set: set.iter().map(|(needed, ms)| (*needed as usize, *ms)).collect(),
            next: BTreeMap::new(),
            stretch,
            lacks: Vec::new(),
            answers: true,
            obeys: true,
            streams: Streams::default(),
            asked: Vec::new(),
            received: BTreeMap::new(),
            ended: 0,
        }
    }

    fn send(&mut self, needed: Needed, ms: u64) {
        if !self.lacks.contains(&needed) {
            self.streams.received(&message(needed), at(ms));
            self.received.entry(needed as usize).or_default().push(ms);
        }
    }

    fn run(&mut self, from: u64, until: u64) {
        for ms in from..until {
            for needed in IN_ORDER {
                let Some(interval) = self.set.get(&(needed as usize)).copied() else {
                    continue;
                };
                let next = self.next.entry(needed as usize).or_insert(ms + interval * self.stretch);
                if ms >= *next {
                    *next = ms + interval * self.stretch;
                    self.send(needed, ms);
                }
            }
            if ms < self.ended {
                continue;
            }
            if let Some(request) = self.streams.next(at(ms)) {
                self.asked.push((ms, request));
                self.streams.requested(request, at(ms), 1.0);
                self.obey(request, ms);
                self.ended = ms + if self.answers { 30 } else { 800 };
                self.streams.ended(request, self.answers, at(self.ended));
            }
        }
    }

    fn obey(&mut self, request: Request, ms: u64) {
        let (needed, how) = (request.needed, request.how);
        let every = needed.terms().every.unwrap_or_default();
        let every = u64::try_from(every.as_millis()).unwrap();
        match how {
            _ if !self.obeys => {}
            How::Single => self.send(needed, ms),
            How::Stream => {
                self.set.insert(needed as usize, every);
                self.next.remove(&(needed as usize));
            }
            How::Interval if self.answers => {
                let us = self
                    .set
                    .get(&(needed as usize))
                    .map_or(0, |ms| i32::try_from(*ms).unwrap() * 1000);
                self.streams.received(&interval(needed, us), at(ms));
            }
            How::Interval => {}
        }
    }

    fn count(&self, how: How, since: u64) -> usize {
        self.asked
            .iter()
            .filter(|(ms, request)| request.how == how && *ms >= since)
            .count()
    }

    fn longest_silence(&self, needed: Needed, since: u64) -> u64 {
        let received = &self.received[&(needed as usize)];
        let gaps = received
            .windows(2)
            .filter(|two| two[0] >= since)
            .map(|two| two[1] - two[0]);
        gaps.max().unwrap_or(u64::MAX)
    }
}

const ONBOARD: [(Needed, u64); 7] = [
    (Needed::Landed, 200),
    (Needed::SysStatus, 200),
    (Needed::Position, 20),
    (Needed::Home, 2000),
    (Needed::Battery, 2000),
    (Needed::Accuracy, 200),
    (Needed::Traffic, 100),
];

#[test]
fn an_autopilot_that_streams_nothing_is_asked_for_everything_once_in_order_of_need() {
    let mut line = Line::of(&[], 1);
    line.run(0, 60_000);
    let mut wants: Vec<Needed> = line.asked.iter().map(|(_, request)| request.needed).collect();
    wants.dedup();
    assert_eq!(wants, IN_ORDER);
    assert_eq!(line.count(How::Stream, 0), 6);
    assert_eq!(line.asked.len(), 14, "{:?}", line.asked);
    assert!(line.asked.last().unwrap().0 < 1500);
}

#[test]
fn a_stream_that_comes_often_enough_is_left_alone() {
    let mut line = Line::of(&ONBOARD, 1);
    line.run(0, 60_000);
    assert_eq!(line.count(How::Stream, 0), 0, "{:?}", line.asked);
    assert_eq!(line.set[&(Needed::Position as usize)], 20, "guests have their 50 Hz");
    assert_eq!(line.count(How::Interval, 2000), 0, "{:?}", line.asked);
}

#[test]
fn intervals_stretched_tenfold_are_never_set_slower_and_single_messages_are_asked() {
    let mut line = Line::of(&ONBOARD, 13);
    line.run(0, 600_000);
    assert_eq!(line.count(How::Stream, 0), 0, "what is set is enough: {:?}", line.asked);
    for (needed, ms) in ONBOARD {
        assert_eq!(line.set[&(needed as usize)], ms);
    }
    assert!(line.longest_silence(Needed::Landed, 10_000) <= 2300);
    assert!(line.longest_silence(Needed::SysStatus, 10_000) <= 2500);
    assert!(line.longest_silence(Needed::Battery, 10_000) <= 9000);
    let asked = line.asked.len();
    assert!(asked < 620, "{asked} requests in ten minutes");
    assert!(
        line.count(How::Interval, 60_000) <= 40,
        "{}",
        line.count(How::Interval, 60_000)
    );
}

#[test]
fn an_accepted_that_changes_nothing_does_not_reset_the_back_off() {
    // ArduCopter with BATT_MONITOR 0.
    let mut line = Line::of(&[], 1);
    line.lacks = vec![Needed::Battery];
    line.run(0, 600_000);
    let battery = line
        .asked
        .iter()
        .filter(|(_, request)| request.needed == Needed::Battery)
        .count();
    assert!((10..60).contains(&battery), "{battery} requests in ten minutes");
    let others = line.asked.len() - battery;
    assert_eq!(others, 12, "{:?}", line.asked);
}

#[test]
fn a_stream_that_somebody_slows_down_is_set_again_and_never_for_long_in_a_war() {
    let mut line = Line::of(&[], 1);
    line.run(0, 10_000);
    for round in 0..60 {
        line.set.insert(Needed::Landed as usize, 5000);
        line.run(10_000 + round * 10_000, 20_000 + round * 10_000);
    }
    assert!(line.longest_silence(Needed::Landed, 0) <= 2300, "single ones meanwhile");
    let set = line
        .asked
        .iter()
        .filter(|(_, request)| request.needed == Needed::Landed && request.how == How::Stream);
    let set = set.count();
    assert!((8..40).contains(&set), "{set} in ten minutes");
}

#[test]
fn a_stream_that_stops_is_asked_for_again() {
    let mut line = Line::of(&[], 1);
    line.run(0, 8000);
    line.set.remove(&(Needed::Landed as usize));
    line.run(8000, 12_000);
    let again: Vec<Request> = line
        .asked
        .iter()
        .filter(|(ms, _)| *ms >= 8000)
        .map(|(_, request)| *request)
        .collect();
    let needed = Needed::Landed;
    let how = |how| Request { needed, how };
    assert!(
        again.contains(&how(How::Interval)) && again.contains(&how(How::Stream)),
        "{again:?}"
    );
    assert_eq!(line.longest_silence(needed, 10_500), 500);
}

#[test]
fn an_autopilot_that_answers_nothing_is_not_flooded() {
    let mut line = Line::of(&[], 1);
    (line.answers, line.obeys) = (false, false);
    line.run(0, 600_000);
    let count = line.asked.len();
    assert!((100..800).contains(&count), "{count} requests in ten minutes");
}

#[test]
fn an_autopilot_that_obeys_without_answering_is_soon_asked_for_everything() {
    let mut line = Line::of(&[], 1);
    line.answers = false;
    line.run(0, 12_000);
    for needed in IN_ORDER {
        let how = if needed.terms().every.is_some() {
            How::Stream
        } else {
            How::Single
        };
        let first = line
            .asked
            .iter()
            .find(|(_, request)| *request == Request { needed, how });
        assert!(first.is_some_and(|(ms, _)| *ms < 8000), "{needed:?}: {:?}", line.asked);
    }
    assert!(line.asked.len() <= 16, "{:?}", line.asked);
}

#[test]
fn aircraft_of_others_are_asked_for_once_and_not_because_none_come() {
    let about = |line: &Line| line.asked.iter().filter(|(_, r)| r.needed == Needed::Traffic).count();
    let mut line = Line::of(&[], 1);
    line.lacks = vec![Needed::Traffic];
    line.run(0, 600_000);
    assert_eq!(about(&line), 2, "the question and the setting: {:?}", line.asked);
    let mut told = Line::of(&[], 1);
    told.streams.known(Needed::Traffic, at(0));
    told.run(0, 60_000);
    assert_eq!(about(&told), 0, "it comes by itself: {:?}", told.asked);
    let mut deaf = Line::of(&[], 1);
    (deaf.answers, deaf.lacks) = (false, vec![Needed::Traffic]);
    deaf.run(0, 600_000);
    assert!(about(&deaf) <= 3, "{:?}", deaf.asked);
}

#[test]
fn what_somebody_waits_for_is_asked_for_first_and_once() {
    let mut line = Line::of(&[], 1);
    line.run(0, 3000);
    let streams = &mut line.streams;
    streams.hurry(Needed::ReadyNow);
    streams.hurry(Needed::BeatNow);
    for needed in AT_ONCE {
        let request = Request {
            needed,
            how: How::Single,
        };
        assert_eq!(streams.next(at(3000)), Some(request));
        streams.requested(request, at(3000), 0.0);
        streams.ended(request, false, at(3000));
    }
    assert_eq!(streams.next(at(3000)), None);
}

#[test]
fn requests_are_paced() {
    let mut streams = Streams::default();
    let request = streams.next(at(0)).unwrap();
    streams.requested(request, at(0), 0.0);
    streams.ended(request, true, at(10));
    assert_eq!(streams.next(at(11)), None);
    assert!(streams.next(at(100)).is_some());
}

#[test]
fn home_that_is_known_from_the_position_is_not_asked_for() {
    let mut line = Line::of(&[], 1);
    line.streams.known(Needed::Home, at(0));
    line.run(0, 60_000);
    assert!(
        line.asked.iter().all(|(_, request)| request.needed != Needed::Home),
        "{:?}",
        line.asked
    );
}

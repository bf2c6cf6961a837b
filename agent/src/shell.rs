//! The loop around the [`Pilot`]: it waits, writes to the wire and to the disk, and publishes reports.

use crate::calendar::Calendar;
use crate::clock::Clock;
use crate::drone_span::DroneSpan;
use crate::flight_line;
use crate::gcs::lease::Lease;
use crate::metadata::Done;
use crate::outgoing::{Outgoing, Written};
use crate::pilot::Pilot;
use crate::state_file::{State, Store};
use crate::uplink::{FromUplink, Outward};
use fleet::flight::lending::Program;
use link::{CounterSnapshot, Events, LinkEvent, LinkHandle, SendError};
use model::assignment::{Desired, Order};
use model::kill::KillOrder;
use model::logs::upload::Uploads;
use model::report::{LinkQuality, Report};
use model::time::Moment;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tokio_util::sync::CancellationToken;
use traces::Traces;
use tracing::{Instrument, error, info, warn};

const TICK: Duration = Duration::from_millis(100);
const REPORT_EVERY: Duration = Duration::from_secs(1);
const SAVE_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// A disk that takes longer is not waited for: the vehicle is served meanwhile.
const SAVE_WITHIN: Duration = Duration::from_secs(1);
/// A kill command must be on the wire within this.
const KILL_WITHIN: Duration = Duration::from_millis(500);
/// Most messages written between two events; more would mean a fault, and events go first.
const WRITES_AT_MOST: usize = 8;
/// Most events taken before something is written.
const EVENTS_AT_MOST: usize = 63;
/// Most words of the coordinator that are taken while the disk is waited for.
const WORDS_AT_MOST: usize = 64;

#[derive(Debug)]
pub struct Wiring {
    pub link: LinkHandle,
    pub lease: Lease,
    pub events: Events,
    pub orders: mpsc::Receiver<FromUplink>,
    pub reports: watch::Sender<Outward>,
    pub terminate: CancellationToken,
    pub landing_timeout: Duration,
    pub clock: Clock,
    pub uploads: Option<watch::Receiver<Uploads>>,
    pub traces: Traces,
    pub blocking: Blocking,
}

/// For writing the state, and reading the autopilot's descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// On a thread: the vehicle is served meanwhile.
    Thread,
    /// As a task like any other: in a simulation nothing depends on when a thread runs.
    Task,
}

impl Blocking {
    fn start<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        match self {
            Self::Thread => tokio::task::spawn_blocking(work),
            Self::Task => tokio::spawn(async { work() }),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Also when it was never ours to land.
    Landed,
    NotLanded,
}

enum Wake {
    Link(LinkEvent),
    Uplink(FromUplink),
    Terminate,
    Job(Option<Done>),
    Tick,
}

struct Shell {
    pilot: Pilot,
    wiring: Wiring,
    store: Arc<Store>,
    /// What is known to be on the disk: nothing, after a writing that failed and until one succeeds.
    saved: Option<State>,
    saving: Option<(JoinHandle<io::Result<()>>, State)>,
    /// Words of the coordinator that came while the disk was waited for, in their order.
    waiting: VecDeque<FromUplink>,
    save_failed_at: Option<Moment>,
    reported: Option<(Report, Moment)>,
    ending_since: Option<Moment>,
    /// Reading of the autopilot's descriptions: it touches neither link nor state, and may outlive the agent by a moment.
    job: Option<JoinHandle<Done>>,
    calendar: Calendar,
    /// How many lines about flights the flight log got.
    noted: u16,
}

/// Flies until the agent is asked to end and its vehicle is on the ground. `pilot` has its state from `store`. `farewell` is cancelled once the last
/// report is published.
pub async fn fly(mut pilot: Pilot, wiring: Wiring, store: Arc<Store>, farewell: CancellationToken) -> Ending {
    let (saved, save_failed_at) = match store.unwritten() {
        None => (Some(pilot.state().clone()), None),
        Some(why) => {
            error!(
                %why,
                "cannot write the state directory, only read it; the vehicle is served, but orders to fly are not taken and nothing is armed until it can be written: repair the volume or make room"
            );
            let now = wiring.clock.now();
            pilot.unsaved(Some(&why.to_string()), now);
            (None, Some(now))
        }
    };
    let mut shell = Shell {
        pilot,
        wiring,
        store,
        saved,
        saving: None,
        waiting: VecDeque::new(),
        save_failed_at,
        reported: None,
        ending_since: None,
        job: None,
        calendar: Calendar::default(),
        noted: 0,
    };
    let ending = shell.run().await;
    farewell.cancel();
    ending
}

fn written(sent: Result<(), SendError>) -> Written {
    match sent {
        Ok(()) => Written::Yes,
        Err(SendError::Down | SendError::CalledOff) => Written::No,
        Err(SendError::Slow | SendError::Failed(_)) => Written::Unsure,
    }
}

/// Waits for the job, for ever if there is none; `None` when it broke off. Safe to cancel.
async fn ended_job(job: &mut Option<JoinHandle<Done>>) -> Option<Done> {
    let done = match job.as_mut() {
        Some(job) => job.await.ok(),
        None => std::future::pending().await,
    };
    *job = None;
    done
}

/// A card that fails takes its time for it, again and again: after a failure nothing waits for it.
const fn waits_for_disk(failed_before: bool) -> Duration {
    if failed_before { Duration::ZERO } else { SAVE_WITHIN }
}

/// Whether a command is decided again: what came while it waited for the disk may be an order to stay on the ground. What does not wait for
/// it, as a landing, gives way to nothing.
const fn gives_way(waits_for_disk: bool, waiting: usize) -> bool {
    waits_for_disk && waiting > 0
}

const fn quality(counters: CounterSnapshot) -> LinkQuality {
    LinkQuality {
        frames: counters.frames,
        lost: counters.lost,
        damaged: counters.bad_checksums,
    }
}

fn jitter() -> f64 {
    rand::random()
}

impl Shell {
    async fn run(&mut self) -> Ending {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut spans = DroneSpan::default();
        loop {
            let ending = self.ending_since.is_some();
            let wake = match self.waiting.pop_front() {
                Some(from) => Wake::Uplink(from),
                None => tokio::select! {
                    event = self.wiring.events.recv() => match event {
                        Some(event) => Wake::Link(event),
                        // The link's task lives as long as we do.
                        None => {
                            error!("the link's task has ended, which is a fault of the agent");
                            return Ending::NotLanded;
                        }
                    },
                    from = self.wiring.orders.recv() => match from {
                        Some(from) => Wake::Uplink(from),
                        None => {
                            error!("the uplink's task has ended, which is a fault of the agent");
                            return Ending::NotLanded;
                        }
                    },
                    () = self.wiring.terminate.cancelled(), if !ending => Wake::Terminate,
                    done = ended_job(&mut self.job) => Wake::Job(done),
                    _ = tick.tick() => Wake::Tick,
                },
            };
            let held = self.pilot.state().fence.held.as_ref();
            let span = match &wake {
                // It may be about another Drone than the one that is served until now.
                Wake::Uplink(FromUplink::Order(order)) => match order.as_ref() {
                    Order::Assigned(order) => spans.of(Some(order)),
                    Order::Unassigned { .. } => spans.of(held),
                },
                Wake::Uplink(FromUplink::Kill(order, _)) => spans.of(held.filter(|held| held.uid == order.uid)),
                _ => spans.of(held),
            };
            self.handle(wake).instrument(span).await;
            let span = spans.of(self.pilot.state().fence.held.as_ref());
            if let Some(ending) = self.go_on().instrument(span).await {
                return ending;
            }
        }
    }

    async fn handle(&mut self, wake: Wake) {
        match wake {
            Wake::Link(event) => self.receive(&event),
            Wake::Uplink(from) => self.receive_from_coordinator(from).await,
            Wake::Terminate => {
                self.ending_since = Some(self.wiring.clock.now());
                self.pilot.terminate();
                info!("asked to end: the vehicle lands first");
            }
            Wake::Job(done) => self.pilot.job_done(done, self.wiring.clock.now(), jitter()),
            Wake::Tick => {}
        }
    }

    async fn go_on(&mut self) -> Option<Ending> {
        self.act().await;
        self.note_flights();
        self.begin_job();
        self.publish();
        self.trace();
        self.ended()
    }

    fn note_flights(&mut self) {
        for words in self.pilot.take_flight_lines() {
            info!(words, "flight line");
            self.noted = self.noted.wrapping_add(1);
            for chunk in flight_line::chunks(&words, self.noted) {
                self.wiring.link.note(self.pilot.from(), &chunk);
            }
        }
    }

    /// One at a time, away from here: the vehicle is served meanwhile.
    fn begin_job(&mut self) {
        if self.job.is_none()
            && let Some(job) = self.pilot.take_job()
        {
            self.job = Some(self.wiring.blocking.start(move || job.run()));
        }
    }

    /// Takes an event and those that wait behind it, so that a burst is one piece of work.
    fn receive(&mut self, first: &LinkEvent) {
        self.pilot.receive(first, self.arrival(first), jitter());
        self.receive_waiting();
    }

    fn receive_waiting(&mut self) {
        for _ in 0..EVENTS_AT_MOST {
            let Some(event) = self.wiring.events.try_recv() else {
                break;
            };
            self.pilot.receive(&event, self.arrival(&event), jitter());
        }
    }

    /// A frame is as old as its arrival, however long we were held up since: old messages must not pass for fresh.
    fn arrival(&self, event: &LinkEvent) -> Moment {
        match event {
            LinkEvent::Frame(frame) => self.wiring.clock.moment(frame.at),
            LinkEvent::Up | LinkEvent::Down(_) => self.wiring.clock.now(),
        }
    }

    async fn receive_from_coordinator(&mut self, from: FromUplink) {
        let now = self.wiring.clock.now();
        match from {
            FromUplink::Opened => self.pilot.uplink_opened(now),
            FromUplink::Closed => self.pilot.uplink_closed(now),
            FromUplink::Order(order) => self.take(&order, now).await,
            FromUplink::Rules(rules) => self.pilot.take_rules(rules),
            FromUplink::Plan(plan) => self.pilot.take_plan(plan),
            FromUplink::RemoteId(order) => self.pilot.take_remote_id(order, now),
            FromUplink::StandUp(order) => self.pilot.stand_up(order, now),
            FromUplink::Kill(order, at) => self.kill(&order, self.wiring.clock.moment(at), now).await,
        }
    }

    /// A person's order: it goes before everything, to the wire once or not at all, and is written down after that.
    async fn kill(&mut self, order: &KillOrder, arrived: Moment, now: Moment) {
        let Some(shot) = self.pilot.kill(order, arrived, now, jitter()) else {
            return;
        };
        let how = match shot.permit.spend(self.wiring.clock.now()) {
            Err(expired) => {
                warn!(%expired, "kill command dropped");
                Written::No
            }
            Ok(()) => {
                let sent = self.wiring.link.send(shot.from, &shot.message, KILL_WITHIN).await;
                written(sent)
            }
        };
        warn!(?how, "ordered the autopilot to stop the motors, by a person's order");
        self.pilot.kill_written(how);
    }

    async fn take(&mut self, order: &Order, now: Moment) {
        let fence = match self.pilot.consider(order, now) {
            Ok(fence) => fence,
            Err(refused) => {
                warn!(%refused, "order refused");
                self.pilot.refused(order.term(), &refused);
                return;
            }
        };
        let upwards = fence
            .held
            .as_ref()
            .is_some_and(|a| matches!(a.desired, Desired::Flying { .. }));
        // An order to land is obeyed even when the disk is full, and known to whatever is decided while that is written; one to fly is not.
        if !upwards {
            self.pilot.adopt(fence, now);
            self.save(self.pilot.state().clone(), now).await;
            return;
        }
        let state = State {
            fence: fence.clone(),
            ..self.pilot.state().clone()
        };
        // What is held already was written down when it was taken.
        let new = fence != self.pilot.state().fence;
        if self.save(state, now).await || !new {
            self.pilot.adopt(fence, now);
        } else {
            self.pilot.not_taken(order.term());
            self.pilot.remind(order);
        }
    }

    /// Puts `state` on the disk if it is not there; whether it is there now. One writing at a time, and one that takes
    /// too long goes on by itself. An order to stop the motors waits for none.
    async fn save(&mut self, state: State, now: Moment) -> bool {
        let (writing, within) = match &mut self.saving {
            Some((writing, _)) => (writing, Duration::ZERO),
            None if self.saved.as_ref() == Some(&state) => {
                self.pilot.unsaved(None, now);
                return true;
            }
            None if self.save_failed_at.is_some_and(|at| now.since(at) < SAVE_AGAIN_AFTER) => return false,
            None => {
                let (store, copy) = (Arc::clone(&self.store), state.clone());
                let writing = self.wiring.blocking.start(move || store.save(&copy));
                let within = waits_for_disk(self.save_failed_at.is_some());
                (&mut self.saving.insert((writing, state.clone())).0, within)
            }
        };
        let is_kill = |from: &FromUplink| matches!(from, FromUplink::Kill(..));
        let within = if self.waiting.iter().any(is_kill) {
            Duration::ZERO
        } else {
            within
        };
        let deadline = Instant::now() + within;
        let ended = loop {
            tokio::select! {
                biased;
                ended = timeout_at(deadline, &mut *writing) => break Some(ended),
                from = self.wiring.orders.recv(), if self.waiting.len() < WORDS_AT_MOST => {
                    let Some(from) = from else { break Some(timeout_at(deadline, &mut *writing).await) };
                    let kills = is_kill(&from);
                    self.waiting.push_back(from);
                    if kills {
                        break None;
                    }
                }
            }
        };
        let result = match ended {
            Some(Ok(Ok(result))) => result,
            Some(Ok(Err(fault))) => Err(io::Error::other(fault)),
            // The disk goes on without being waited for.
            None => return false,
            Some(Err(_)) => {
                if !within.is_zero() {
                    error!("the state directory does not answer; orders to fly are not taken until it does");
                    self.pilot.unsaved(Some("it does not answer"), now);
                }
                return false;
            }
        };
        let written = self.saving.take().map(|(_, state)| state);
        match (result, written) {
            (Ok(()), Some(written)) => {
                self.saved = Some(written);
                self.save_failed_at = None;
                self.pilot.unsaved(None, now);
            }
            (Ok(()), None) => {}
            (Err(why), _) => {
                if self.save_failed_at.is_none() {
                    error!(%why, "cannot write the state directory; orders to fly are not taken until it can be written");
                }
                self.saved = None;
                self.save_failed_at = Some(now);
                self.pilot.unsaved(Some(&why.to_string()), now);
            }
        }
        self.saved.as_ref() == Some(&state)
    }

    async fn act(&mut self) {
        self.pilot
            .dated(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok());
        let (heard, set_point) = self.wiring.lease.heard();
        let moment = |at: Option<Instant>| at.map(|at| self.wiring.clock.moment(at));
        let (heard, set_point) = (moment(heard), moment(set_point));
        let asked = self.wiring.lease.asked();
        self.pilot.hear_program(Program {
            heard,
            set_point,
            asked,
        });
        for _ in 0..WRITES_AT_MOST {
            let out = self.pilot.next(self.wiring.clock.now(), jitter());
            // Before anything is waited for: what would come after the stop moves the vehicle again.
            self.wiring.lease.pass(self.pilot.program_volume(), Instant::now());
            let Some(out) = out else { break };
            let state = self.pilot.state().clone();
            let remembered = !out.follows_memory() || self.save(state, self.wiring.clock.now()).await;
            let how = if out.waits_for_disk() && !remembered {
                Written::No
            } else if gives_way(out.waits_for_disk(), self.waiting.len()) {
                info!("a command gives way to what the coordinator said while it waited for the disk");
                Written::No
            } else {
                // The disk may have taken its time, and a pilot may have taken over meanwhile.
                self.receive_waiting();
                if !self.pilot.passes_program() {
                    self.wiring.lease.pass(None, Instant::now());
                }
                if self.pilot.is_still_wanted(self.wiring.clock.now()) {
                    self.write(out).await
                } else {
                    warn!("a command was overtaken while it waited for the disk; it is decided again");
                    Written::No
                }
            };
            self.pilot.written(how, self.wiring.clock.now(), jitter());
            if how != Written::Yes {
                break;
            }
        }
        let state = self.pilot.state().clone();
        self.save(state, self.wiring.clock.now()).await;
    }

    async fn write(&self, mut out: Outgoing) -> Written {
        if let Err(why) = out.allow(self.wiring.clock.now()) {
            warn!(%why, "command dropped");
            return Written::No;
        }
        let Some(until) = out.on_ground_until else {
            return written(self.wiring.link.send(out.from, &out.message, out.within).await);
        };
        // The line may be somebody else's for a moment, and the process may be stopped at any.
        let still = || {
            let now = self.wiring.clock.now();
            now <= until && self.pilot.may_change_rules(now)
        };
        let sent = self
            .wiring
            .link
            .send_if(out.from, &out.message, out.within, still)
            .await;
        written(sent)
    }

    /// Reports every change to the coordinator at once, and moving numbers once a second.
    fn publish(&mut self) {
        let now = self.wiring.clock.now();
        let report = self.pilot.report(now);
        let due = self.reported.as_ref().is_none_or(|(last, at)| {
            now.since(*at) >= REPORT_EVERY
                || report
                    != Report {
                        made: report.made,
                        battery: report.battery,
                        battery_at: report.battery_at,
                        position: report.position,
                        position_at: report.position_at,
                        accuracy: report.accuracy,
                        heading: report.heading,
                        traffic: report.traffic.clone(),
                        uploads: report.uploads,
                        ..last.clone()
                    }
        });
        let answer = self.pilot.kill_answer();
        let answered = self.wiring.reports.borrow().kill_answer.as_ref() != answer;
        if due || answered {
            let kill_answer = answer.cloned();
            self.reported = Some((report.clone(), now));
            let highest_term = self.pilot.state().fence.highest_term;
            self.wiring.reports.send_replace(Outward {
                report: Some(Report {
                    link: Some(quality(self.wiring.link.counters())),
                    uploads: self.wiring.uploads.as_ref().map(|uploads| *uploads.borrow()),
                    ..report
                }),
                highest_term,
                kill_answer,
            });
        }
    }

    fn trace(&mut self) {
        for span in self.pilot.take_spans() {
            self.calendar.set(self.wiring.clock.now(), SystemTime::now());
            self.wiring
                .traces
                .write(span, None, &|moment| self.calendar.date(moment));
        }
    }

    fn ended(&self) -> Option<Ending> {
        let since = self.ending_since?;
        let now = self.wiring.clock.now();
        if self.pilot.may_exit(now) {
            info!("the vehicle is on the ground, or is not this agent's to land; the agent ends");
            return Some(Ending::Landed);
        }
        if now.since(since) < self.wiring.landing_timeout {
            return None;
        }
        error!(
            waited_s = self.wiring.landing_timeout.as_secs(),
            "the vehicle was not observed landed and disarmed in time; ending all the same, the autopilot goes on by itself"
        );
        Some(Ending::NotLanded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_waits_for_the_disk_gives_way_to_what_the_coordinator_said_meanwhile() {
        let cases = [(true, 1), (true, 0), (false, 1)];
        assert_eq!(
            cases.map(|(waits_for_disk, waiting)| gives_way(waits_for_disk, waiting)),
            [true, false, false]
        );
    }

    #[test]
    fn a_disk_that_has_failed_holds_nothing_up_until_it_is_written_again() {
        assert_eq!(
            (waits_for_disk(false), waits_for_disk(true)),
            (SAVE_WITHIN, Duration::ZERO)
        );
    }
}

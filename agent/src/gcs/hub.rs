//! Between the line and the guests: every frame goes through here, and nothing here waits for a guest.

use super::counters::Counters;
use super::guest::FromGuest;
use super::guest_queue::GuestQueue;
use super::lease::Lease;
use super::notice::Notices;
use super::outbox::{Lost, Next, Outbox};
use super::routes::GuestId;
use super::switch::{Policy, Refusal, Switch};
use link::raw::RawFrame;
use link::{LinkHandle, Tap};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep};
use tracing::info;

/// As long as for the agent's own frames.
const WRITE_WITHIN: Duration = Duration::from_millis(500);
/// Most frames of the line that are handed on before frames of guests are taken again.
const AT_ONCE: usize = 64;

#[derive(Debug)]
pub struct Out {
    outbox: Mutex<Outbox>,
    wake: Notify,
    lease: Lease,
}

impl Out {
    pub fn new(bytes_per_second: u32) -> Self {
        Self {
            outbox: Mutex::new(Outbox::new(bytes_per_second, Instant::now())),
            wake: Notify::new(),
            lease: Lease::default(),
        }
    }

    pub fn leasing(self, lease: Lease) -> Self {
        Self { lease, ..self }
    }

    pub fn push(&self, guest: GuestId, frame: Arc<RawFrame>, beat: bool) {
        self.lock().push(guest, frame, beat, Instant::now());
        self.wake.notify_one();
    }

    /// It is written no later than `until`, and only while its lease holds.
    pub fn push_leased(&self, guest: GuestId, frame: Arc<RawFrame>, until: Instant) {
        self.lock().push_leased(guest, frame, until);
        self.wake.notify_one();
    }

    fn next(&self) -> (Next, Lost) {
        let (mut outbox, now) = (self.lock(), Instant::now());
        if !self.lease.passes(now) {
            outbox.call_off();
        }
        (outbox.next(now), outbox.lost())
    }

    fn lock(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub type HubWork = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Debug)]
pub struct Hub {
    switch: Switch,
    queues: BTreeMap<GuestId, GuestQueue>,
    notices: Notices,
    out: Arc<Out>,
    counters: Arc<Counters>,
    in_charge: Option<GuestId>,
}

impl Hub {
    pub fn new(policy: Policy, lease: Lease, out: Arc<Out>, counters: Arc<Counters>) -> Self {
        Self {
            switch: Switch::new(policy).leasing(lease),
            queues: BTreeMap::new(),
            notices: Notices::default(),
            out,
            counters,
            in_charge: None,
        }
    }

    pub async fn run(mut self, mut tap: Tap, mut guests: mpsc::Receiver<FromGuest>) {
        let mut lost = tap.lost();
        loop {
            tokio::select! {
                frame = tap.recv() => {
                    let Some(frame) = frame else { return };
                    self.receive_from_line(&frame);
                    for _ in 1..AT_ONCE {
                        let Some(frame) = tap.try_recv() else { break };
                        self.receive_from_line(&frame);
                    }
                    let now_lost = tap.lost();
                    self.counters.lost_by_us(now_lost - lost);
                    lost = now_lost;
                }
                from = guests.recv() => match from {
                    Some(FromGuest::Joined(guest, rights, queue)) => {
                        self.switch.join(guest, rights, Instant::now());
                        self.queues.insert(guest, queue);
                    }
                    Some(FromGuest::Received(guest, frame)) => self.receive_from_guest(guest, &frame),
                    Some(FromGuest::Left(guest)) => {
                        self.switch.leave(guest);
                        self.queues.remove(&guest);
                        self.notices.leave(guest);
                        self.out.lock().leave(guest);
                    }
                    None => return,
                }
            }
        }
    }

    fn receive_from_line(&mut self, frame: &Arc<RawFrame>) {
        let guests = self.switch.receive_from_line(frame, Instant::now());
        self.hand_out(&guests, frame);
    }

    fn receive_from_guest(&mut self, guest: GuestId, frame: &Arc<RawFrame>) {
        let now = Instant::now();
        let verdict = self.switch.receive_from_guest(guest, frame, now);
        self.count(verdict.refusal);
        self.hand_out(&verdict.to.guests, frame);
        if verdict.to.autopilot {
            let beat = frame.message_id == super::fields::HEARTBEAT;
            match verdict.leased {
                Some(until) => self.out.push_leased(guest, Arc::clone(frame), until),
                None => self.out.push(guest, Arc::clone(frame), beat),
            }
        }
        let ours = self.switch.ours();
        let notice = (verdict.refusal).and_then(|refusal| self.notices.refused(guest, refusal, frame, ours, now));
        let answer = verdict.answer.and_then(|answer| answer.frame(frame.sender()));
        for own in notice.into_iter().chain(answer) {
            self.hand_out(&[guest], &Arc::new(own));
        }
        let in_charge = self.switch.in_charge();
        if in_charge != self.in_charge {
            self.in_charge = in_charge;
            if in_charge == Some(guest) {
                let (system, component) = (frame.system.0, frame.component.0);
                info!(
                    system,
                    component, "the autopilot now receives the heartbeats of this ground station"
                );
            }
        }
    }

    fn hand_out(&self, guests: &[GuestId], frame: &Arc<RawFrame>) {
        for queue in guests.iter().filter_map(|guest| self.queues.get(guest)) {
            self.counters.handed_out(1);
            if queue.push(Arc::clone(frame)) {
                self.counters.lost_by_guests(1);
            }
        }
    }

    fn count(&self, refusal: Option<Refusal>) {
        let counters = &self.counters;
        match refusal {
            None => {}
            Some(Refusal::SetupSigning) => counters.setup_signing(1),
            Some(Refusal::Impostor) => counters.impostors(1),
            Some(Refusal::Radio) => counters.radio(1),
            Some(Refusal::HeldHeartbeat) => counters.held_heartbeats(1),
            Some(
                Refusal::ReadOnly
                | Refusal::NotOfPrograms
                | Refusal::OutsideVolume
                | Refusal::NotNow
                | Refusal::AnotherVehicle
                | Refusal::Repeated,
            ) => counters.read_only(1),
        }
    }
}

pub async fn write_out(out: Arc<Out>, link: LinkHandle, counters: Arc<Counters>) {
    let mut lost = out.lock().lost();
    loop {
        let wake = out.wake.notified();
        let (next, now_lost) = out.next();
        counters.crowded(now_lost.crowded - lost.crowded);
        counters.stale(now_lost.stale - lost.stale);
        lost = now_lost;
        match next {
            Next::Write(frame) => match link.send_raw(&frame, WRITE_WITHIN).await {
                Ok(()) => counters.written(1),
                Err(_) => counters.not_taken(1),
            },
            Next::Wait(wait) => sleep(wait).await,
            Next::Nothing => wake.await,
        }
    }
}

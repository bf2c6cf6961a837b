//! `skein top`: the fleet on a terminal, live, with the keys of k9s.
//!
//! Owns: the loop: keys, news and the clock change the model, which is drawn and asks for actions. Must not: decide
//! what a key means ([`model`]) or how it looks ([`draw`]). The network is on threads of its own and stores only its
//! newest picture, so a slow, stopped or lost terminal delays neither the coordinator nor a signal to end.

pub mod draw;
pub mod keys;
pub mod map;
pub mod model;
pub mod object_feed;
pub mod objects;
pub mod rows;
pub mod tty;

#[cfg(test)]
mod tests;

use crate::args::TopArgs;
use crate::cluster::Choice;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::clock::Now;
use crate::live::fleet_feed::{self, FleetSnapshot};
use crate::orders::{self, Order, Outcome};
use crate::output::Output;
use crate::route::Route;
use crate::server::Which;
use crate::terminal;
use crossterm::event::{Event, EventStream};
use draw::Paint;
use futures::StreamExt;
use keys::Key;
use model::{Effect, Model};
use nix::sys::signal::Signal;
use objects::{ObjectsSnapshot, Wanted};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tty::Tty;

const DRAW_INTERVAL: Duration = Duration::from_millis(50);

/// In multiples of its duration: drawing takes a fifth of a core at most.
const REST_PER_DRAWING: u32 = 4;

/// Ages grow by themselves.
const TICK_INTERVAL: Duration = Duration::from_millis(500);

const MAX_QUEUED_ANSWERS: usize = 16;

/// Wait after Ctrl-Z for the stop; a program that nobody could start again is not stopped.
const STOP_TIMEOUT: Duration = Duration::from_millis(300);

/// Deadline after a signal: a terminal may take no more output.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// As a shell reports Ctrl-C.
const ENDED_BY_SIGNAL_CODE: i32 = 130;

/// `named`: kubeconfig for a coordinator named by address. Errors: no terminal, or no coordinator at the start.
pub async fn run(route: Route, args: TopArgs, named: Option<Choice>) -> Result<(), Failure> {
    tty::ensure()?;
    let interrupt = Interrupt::catch()?;
    // On another thread, as the drawing one may wait for the terminal.
    let end = tokio::spawn(end_without_terminal(interrupt.in_order.clone()));
    let result = Box::pin(show(route, args, named, &interrupt)).await;
    end.abort();
    result
}

/// For a program that writes to a blocked terminal.
async fn end_without_terminal(asked: CancellationToken) {
    asked.cancelled().await;
    sleep(END_TIMEOUT).await;
    tty::give_back_mode();
    std::process::exit(ENDED_BY_SIGNAL_CODE);
}

async fn show(route: Route, args: TopArgs, named: Option<Choice>, interrupt: &Interrupt) -> Result<(), Failure> {
    let which = Which::from(&args.filter);
    // Questions to the person come before the terminal is taken.
    let stream = tokio::select! {
        opened = fleet_feed::open(&route, &which, fleet_feed::FREQUENT_INTERVAL) => opened?,
        () = interrupt.in_order.cancelled() => return Ok(()),
    };
    let objects = tokio::select! {
        objects = crate::live::objects::objects(&route, named) => objects,
        () = interrupt.in_order.cancelled() => return Ok(()),
    };
    let mut model = Model::new(route.to_string(), args.filter.clone());
    let (fleet, fleet_seen) = watch::channel(FleetSnapshot::default());
    let (wanted, wanted_seen) = watch::channel(Wanted::default());
    let (object, objects_seen) = watch::channel(ObjectsSnapshot::default());
    let mut tasks = Tasks::default();
    tasks.spawn(fleet_feed::follow(
        route.clone(),
        (which, fleet_feed::FREQUENT_INTERVAL),
        stream,
        fleet,
    ));
    // Vehicles are shown without a usable kubeconfig, too.
    match objects.unwrap_or_else(|failure| Err(failure.to_string())) {
        Ok(objects) => {
            model.objects_from.clone_from(&objects.from);
            tasks.spawn(object_feed::follow(
                objects,
                args.filter.namespace.clone(),
                wanted_seen,
                object,
            ));
        }
        Err(why) => {
            object.send_modify(|seen| seen.none = Some(why));
            tasks.object = Some(object);
        }
    }
    let feeds = Feeds {
        fleet: fleet_seen,
        objects: objects_seen,
        wanted,
    };
    let paint = Paint {
        color: Output::of_this_process().color,
    };
    let mut shell = Shell {
        tty: Tty::take()?,
        route,
        model,
        feeds,
        paint,
        tasks,
        answers: mpsc::channel(MAX_QUEUED_ANSWERS),
    };
    let result = shell.run(interrupt).await;
    let Shell {
        tty,
        mut answers,
        model,
        tasks: _tasks,
        ..
    } = shell;
    drop(tty);
    result?;
    if model.pending > 0 {
        terminal::line("waiting for the answer to what was ordered …");
    }
    // The feeds end here; given orders do not.
    for _ in 0..model.pending {
        let Some(outcome) = answers.1.recv().await else { break };
        for (text, done) in outcome.answers {
            terminal::line(&if done { text } else { format!("NOT DONE: {text}") });
        }
    }
    Ok(())
}

#[derive(Default)]
struct Tasks {
    set: JoinSet<()>,
    object: Option<watch::Sender<ObjectsSnapshot>>,
}

impl Tasks {
    fn spawn(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.set.spawn(work);
    }
}

struct Feeds {
    fleet: watch::Receiver<FleetSnapshot>,
    objects: watch::Receiver<ObjectsSnapshot>,
    wanted: watch::Sender<Wanted>,
}

struct Shell {
    // First, as it has to give the terminal back before anything else ends.
    tty: Tty,
    route: Route,
    model: Model,
    feeds: Feeds,
    paint: Paint,
    tasks: Tasks,
    answers: (mpsc::Sender<Outcome>, mpsc::Receiver<Outcome>),
}

fn rest(took: Duration) -> Duration {
    DRAW_INTERVAL.max(took.saturating_mul(REST_PER_DRAWING))
}

enum Happened {
    Key(Key),
    Resized,
    Tick,
    Fleet,
    Objects,
    Answer(Outcome),
    Continued,
    End,
    Broken,
}

impl Shell {
    async fn run(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut pressed = EventStream::new();
        let mut continued = signal(SignalKind::from_raw(Signal::SIGCONT as i32))?;
        let mut ticks = interval(TICK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut next, mut dirty, mut resized) = (Instant::now(), true, false);
        loop {
            let happened = tokio::select! {
                () = interrupt.in_order.cancelled() => Happened::End,
                () = sleep_until(next), if dirty => {
                    let begun = Instant::now();
                    if resized {
                        self.tty.redraw()?;
                    }
                    self.draw()?;
                    let drawn = Instant::now();
                    (next, dirty, resized) = (drawn + rest(drawn - begun), false, false);
                    continue;
                }
                event = pressed.next() => match event {
                    Some(Ok(Event::Key(key))) => match Key::of(&key) {
                        Some(key) => Happened::Key(key),
                        None => continue,
                    },
                    Some(Ok(Event::Resize(..))) => Happened::Resized,
                    Some(Ok(_)) => continue,
                    Some(Err(_)) | None => Happened::End,
                },
                changed = self.feeds.fleet.changed() => changed.map_or(Happened::Broken, |()| Happened::Fleet),
                changed = self.feeds.objects.changed() => changed.map_or(Happened::Broken, |()| Happened::Objects),
                Some(outcome) = self.answers.1.recv() => Happened::Answer(outcome),
                _ = continued.recv() => Happened::Continued,
                _ = ticks.tick() => Happened::Tick,
            };
            dirty = true;
            match happened {
                Happened::Key(key) => {
                    let now = Now::read();
                    match self.model.press(key, now) {
                        Some(Effect::Quit) => return Ok(()),
                        Some(Effect::Suspend) => {
                            self.tty.suspend()?;
                            let _ = tokio::time::timeout(STOP_TIMEOUT, continued.recv()).await;
                            self.tty.again()?;
                        }
                        Some(Effect::Redraw) => self.tty.again()?,
                        Some(Effect::Give(order)) => self.give(order),
                        None => {}
                    }
                }
                Happened::Resized => resized = true,
                Happened::Tick => {}
                Happened::Fleet => self.model.fleet = self.feeds.fleet.borrow_and_update().clone(),
                Happened::Objects => self.model.objects = self.feeds.objects.borrow_and_update().clone(),
                Happened::Answer(outcome) => self.model.answered(outcome),
                Happened::Continued => self.tty.again()?,
                Happened::End => return Ok(()),
                Happened::Broken => {
                    return Err(Failure::Failed(
                        "a part of skein top has failed; the fleet is not touched by that".to_owned(),
                    ));
                }
            }
            let wanted = self.model.wanted();
            self.feeds.wanted.send_if_modified(|now| {
                let changed = *now != wanted;
                *now = wanted;
                changed
            });
        }
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let (model, paint) = (&mut self.model, self.paint);
        self.tty
            .drawn()
            .draw(|frame| draw::draw(frame, model, Now::read(), paint))?;
        Ok(())
    }

    fn give(&mut self, order: Order) {
        let (route, answer) = (self.route.clone(), self.answers.0.clone());
        self.tasks.spawn(async move {
            let outcome = orders::give(&route, order).await;
            let _ = answer.send(outcome).await;
        });
    }
}

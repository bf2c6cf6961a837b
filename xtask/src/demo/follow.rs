//! Following the vehicles until something is so.
//!
//! Owns: looking again and again, with a deadline, an eye on Ctrl-C and on processes that die.
//! Must not: decide what is waited for.

use std::time::{Duration, Instant};

use super::flight_log::FlightLog;
use super::picture::{self, Row};
use super::stage::Stage;
use super::view::View;
use crate::interrupt::Interrupt;

/// How often the Drones are looked at.
const EVERY: Duration = Duration::from_millis(500);

/// How following came to its end.
pub enum Ended {
    /// What was waited for is so.
    Reached,
    /// The person asked to finish.
    Interrupted,
    /// It took too long; what was seen last.
    TimedOut(String),
}

/// Follows the vehicles of one stage.
pub struct Follow<'a> {
    stage: &'a Stage,
    interrupt: Option<Interrupt>,
    start: Instant,
    view: View,
    flights: FlightLog,
}

impl<'a> Follow<'a> {
    /// Starts the clock of the flights.
    pub fn new(stage: &'a Stage, interrupt: Interrupt) -> Self {
        let (view, flights) = (View::new(), FlightLog::default());
        Self {
            stage,
            interrupt: Some(interrupt),
            start: Instant::now(),
            view,
            flights,
        }
    }

    /// What the vehicles have done so far.
    pub fn flights(&self) -> &FlightLog {
        &self.flights
    }

    /// From now on Ctrl-C no longer ends the following.
    pub fn ignore_interrupt(&mut self) {
        self.interrupt = None;
    }

    /// Follows until `goal` holds, at most for `deadline`.
    ///
    /// Errors: a process has died.
    pub fn until(&mut self, deadline: Duration, goal: impl Fn(&[Row]) -> bool) -> anyhow::Result<Ended> {
        self.follow(Some(deadline), goal)
    }

    /// Follows until the person asks to finish.
    pub fn until_interrupted(&mut self) -> anyhow::Result<Ended> {
        self.follow(None, |_| false)
    }

    fn follow(&mut self, deadline: Option<Duration>, goal: impl Fn(&[Row]) -> bool) -> anyhow::Result<Ended> {
        let begun = Instant::now();
        let ended = loop {
            self.stage.ensure_running()?;
            if self.interrupt.as_ref().is_some_and(Interrupt::asked) {
                break Ended::Interrupted;
            }
            let late = deadline.is_some_and(|deadline| begun.elapsed() >= deadline);
            match self.stage.drones() {
                Ok(drones) => {
                    let rows = picture::rows(self.stage.nodes(), &drones, &self.stage.live());
                    self.view.show(self.start.elapsed(), &rows);
                    self.flights.note(self.start.elapsed(), &rows);
                    if goal(&rows) {
                        break Ended::Reached;
                    }
                    if late {
                        break Ended::TimedOut(told(&rows));
                    }
                }
                Err(error) if late => break Ended::TimedOut(format!("{error:#}")),
                // The API server may be busy; it is asked again.
                Err(_) => {}
            }
            std::thread::sleep(EVERY);
        };
        self.view.settle();
        Ok(ended)
    }
}

fn told(rows: &[Row]) -> String {
    let one = |row: &Row| format!("{} is {} ({})", row.node, row.phase, row.message);
    rows.iter().map(one).collect::<Vec<_>>().join("; ")
}

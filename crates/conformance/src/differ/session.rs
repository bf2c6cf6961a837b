//! Many scripts on one autopilot.

use std::path::PathBuf;

use super::generate::generate;
use super::judge::{Outcome, judge};
use super::live::{Live, LiveError};
use super::run::Run;
use super::script::{Act, Script};
use super::shrink::shrink;
use crate::replay::Comparison;
use sitl::model::{Autopilot, Firmware};

#[derive(Clone, Debug)]
pub struct Settings {
    pub autopilot: Autopilot,
    pub firmware: Firmware,
    /// The first seed; the scripts have successive ones.
    pub seed: u64,
    /// Folder for records of the real autopilot.
    pub keep: Option<PathBuf>,
    /// Runs of shortened scripts for each that differs; 0: no shrinking.
    pub tries: usize,
}

#[derive(Debug)]
pub struct Report {
    pub script: Script,
    pub found: Found,
}

#[derive(Debug)]
pub enum Found {
    Same,
    /// No difference within the tolerance of time.
    SameWarped,
    /// A difference that did not occur again on the real autopilot: it does not count.
    Once(Comparison),
    Differs {
        comparison: Comparison,
        /// The shortest script that still differs, and what differs in it.
        shortened: Option<(Script, Comparison)>,
    },
}

pub struct Session {
    settings: Settings,
}

impl Session {
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Shortens the script if it differs. Errors, after the report so far: the autopilot must be started again.
    pub fn run(&self, live: &mut Live, number: u64) -> (Option<Report>, Result<(), LiveError>) {
        let script = generate(
            self.settings.autopilot,
            self.settings.firmware,
            self.settings.seed.wrapping_add(number),
        );
        self.run_script(live, script, number)
    }

    /// Like [`Self::run`], for a given script.
    pub fn run_script(&self, live: &mut Live, script: Script, number: u64) -> (Option<Report>, Result<(), LiveError>) {
        let keep = |run: Run| -> Result<Outcome, LiveError> {
            if let Some(folder) = &self.settings.keep {
                super::corpus::save(folder, number, &run, &script.to_string())?;
            }
            Ok(judge(&run))
        };
        let first = match live.play(&script).and_then(keep) {
            Err(error) => return (None, Err(error)),
            Ok(outcome) => outcome,
        };
        let comparison = match first {
            Outcome::Same => {
                return (
                    Some(Report {
                        script,
                        found: Found::Same,
                    }),
                    Ok(()),
                );
            }
            Outcome::SameWarped => {
                return (
                    Some(Report {
                        script,
                        found: Found::SameWarped,
                    }),
                    Ok(()),
                );
            }
            Outcome::Differs(comparison) => comparison,
        };
        if self.settings.tries == 0 {
            let found = Found::Differs {
                comparison,
                shortened: None,
            };
            return (Some(Report { script, found }), Ok(()));
        }
        let mut last = None;
        let mut differs = |script: &Script| {
            let outcome = live.play(script).map(|run| judge(&run))?;
            if let Outcome::Differs(comparison) = outcome {
                last = Some((script.clone(), comparison));
                return Ok::<bool, LiveError>(true);
            }
            Ok(false)
        };
        match differs(&script) {
            Ok(true) => {}
            Ok(false) => {
                let found = Found::Once(comparison);
                return (Some(Report { script, found }), Ok(()));
            }
            Err(error) => {
                let found = Found::Differs {
                    comparison,
                    shortened: None,
                };
                return (Some(Report { script, found }), Err(error));
            }
        }
        let (_, done) = shrink(&script, self.settings.tries, differs);
        let found = Found::Differs {
            comparison,
            shortened: last,
        };
        (Some(Report { script, found }), done)
    }
}

impl Script {
    /// Keeps only the steps at these indices as drawn.
    pub fn only(&self, places: &[usize]) -> Self {
        let others = self.steps.iter().enumerate();
        let left_out: Vec<usize> = others
            .filter(|(_, step)| !places.contains(&step.place) && step.act != Act::Wait)
            .map(|(index, _)| index)
            .collect();
        self.without(&left_out)
    }
}

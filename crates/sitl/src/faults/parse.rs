//! Reading a script from text, line by line.
//!
//! Owns: the grammar and its error lines. Must not: open files: the caller reads keys.

use mavlink::dialects::ardupilotmega::MavMessage;

use super::script::{Around, Bytes, CommandFault, Line, Script, Sudden, Turn, What, When};
use super::signing::Key;
use super::words;
use crate::wire::Address;

/// Which line is wrong, and how.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ScriptError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It does not say when the fault begins.
    #[error("begin with `at SECONDS`, `on COMMAND` or `seed NUMBER`, not with `{0}`")]
    When(String),
    /// No such command.
    #[error("`{0}` is no command; write a name such as takeoff, a MAV_CMD number, or any")]
    Command(String),
    /// No such fault.
    #[error("`{word}` is no fault; faults are {}", words::FAULTS.join(", "))]
    Fault {
        /// The word in its place.
        word: String,
    },
    /// The line ends too early.
    #[error("{0} is missing at the end")]
    Missing(&'static str),
    /// A word that is not allowed there.
    #[error("`{word}` is not {wanted}")]
    Not {
        /// The word.
        word: String,
        /// What is expected there.
        wanted: &'static str,
    },
    /// A fault of one command needs a command.
    #[error("{0} happens to a command; write `on COMMAND {0}`, without + and without `at`")]
    NeedsCommand(String),
    /// The fault has no duration.
    #[error("{0} happens at once; leave `for` out")]
    NoSpan(String),
    /// Words are left over.
    #[error("`{0}` is too much")]
    TooMuch(String),
    /// The key cannot be used.
    #[error("key file `{file}`: {why}")]
    Key {
        /// The file as written.
        file: String,
        /// Why.
        why: String,
    },
}

/// Reads the key in a file, or returns why that fails.
pub(super) type ReadKey<'a> = &'a dyn Fn(&str) -> Result<Key, String>;

impl Script {
    /// Reads a script. `read_key` reads the key files that it names.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn parse(text: &str, read_key: &dyn Fn(&str) -> Result<Key, String>) -> Result<Self, ScriptError> {
        let mut script = Self {
            seed: 1,
            lines: Vec::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = Words(line.split_whitespace().collect::<Vec<_>>().into());
            script.take(&mut words, read_key).map_err(|problem| ScriptError {
                line: index + 1,
                problem,
            })?;
        }
        Ok(script)
    }

    fn take(&mut self, words: &mut Words<'_>, read_key: ReadKey<'_>) -> Result<(), Problem> {
        let Some(mut first) = words.0.pop_front() else {
            return Ok(());
        };
        if first == "seed" {
            self.seed = words.parse("a whole number", "a number")?;
            return words.end();
        }
        let mut vehicle = None;
        if let Some(name) = first.strip_suffix(':') {
            vehicle = Some(name.to_owned());
            first = words.next("`at` or `on`")?;
        }
        let when = match first {
            "at" => When::At(words.seconds()?),
            "on" => words.trigger()?,
            other => return Err(Problem::When(other.to_owned())),
        };
        let what = words.what(read_key)?;
        if matches!(what.1, What::Command(_)) && !matches!(when, When::On { after_s: 0.0, .. }) {
            return Err(Problem::NeedsCommand(what.0));
        }
        self.lines.push(Line {
            vehicle,
            when,
            what: what.1,
        });
        words.end()
    }
}

/// The remaining words of a line.
struct Words<'a>(std::collections::VecDeque<&'a str>);

impl<'a> Words<'a> {
    fn next(&mut self, what: &'static str) -> Result<&'a str, Problem> {
        self.0.pop_front().ok_or(Problem::Missing(what))
    }

    fn end(&self) -> Result<(), Problem> {
        match self.0.front() {
            None => Ok(()),
            Some(word) => Err(Problem::TooMuch((*word).to_owned())),
        }
    }

    fn parse<T: std::str::FromStr>(&mut self, wanted: &'static str, missing: &'static str) -> Result<T, Problem> {
        let word = self.next(missing)?;
        word.parse().map_err(|_| not(word, wanted))
    }

    fn known<T>(
        &mut self,
        find: impl Fn(&str) -> Option<T>,
        wanted: &'static str,
        missing: &'static str,
    ) -> Result<T, Problem> {
        let word = self.next(missing)?;
        find(word).ok_or_else(|| not(word, wanted))
    }

    fn seconds(&mut self) -> Result<f64, Problem> {
        self.known(positive, "a number of seconds", "a number of seconds")
    }

    fn percent(&mut self) -> Result<f64, Problem> {
        let percent = |word: &str| positive(word.strip_suffix('%').unwrap_or(word)).filter(|percent| *percent <= 100.0);
        self.known(percent, "a percentage from 0 to 100", "a percentage")
    }

    fn hertz(&mut self) -> Result<f64, Problem> {
        let rate = |word: &str| positive(word).filter(|hertz| (0.01..=1000.0).contains(hertz));
        self.known(rate, "a rate from 0.01 to 1000", "a rate")
    }

    fn trigger(&mut self) -> Result<When, Problem> {
        let word = self.next("a command")?;
        let command = words::command(word).ok_or_else(|| Problem::Command(word.to_owned()))?;
        let mut turn = Turn::Nth(1);
        match self.0.front() {
            Some(&"every") => {
                turn = Turn::Every;
                self.0.pop_front();
            }
            Some(word) if word.starts_with(|c: char| c.is_ascii_digit()) => {
                turn = Turn::Nth(self.known(
                    |word| word.parse().ok().filter(|nth| *nth > 0),
                    "a turn, counted from 1",
                    "",
                )?);
            }
            _ => {}
        }
        let mut after_s = 0.0;
        if let Some(word) = self.0.front().copied().filter(|word| word.starts_with('+')) {
            after_s = positive(&word[1..]).ok_or_else(|| not(word, "a number of seconds"))?;
            self.0.pop_front();
        }
        Ok(When::On { command, turn, after_s })
    }

    /// The fault, and its name.
    fn what(&mut self, read_key: ReadKey<'_>) -> Result<(String, What), Problem> {
        let name = self.next("a fault")?;
        let what = if let Some(fault) = self.command_fault(name)? {
            What::Command(fault)
        } else if let Some(fault) = self.byte_fault(name)? {
            What::Bytes(fault, self.span()?)
        } else if let Some(fault) = self.around(name, read_key)? {
            What::Around(fault, self.span()?)
        } else if let Some(fault) = self.sudden(name)? {
            What::Sudden(fault)
        } else {
            return Err(Problem::Fault { word: name.to_owned() });
        };
        if self.0.front() == Some(&"for") {
            return Err(Problem::NoSpan(name.to_owned()));
        }
        Ok((name.to_owned(), what))
    }

    fn span(&mut self) -> Result<Option<f64>, Problem> {
        if self.0.front() != Some(&"for") {
            return Ok(None);
        }
        self.0.pop_front();
        self.seconds().map(Some)
    }

    fn result(&mut self) -> Result<u8, Problem> {
        self.known(words::result, "a result such as denied", "a result")
    }

    fn command_fault(&mut self, name: &str) -> Result<Option<CommandFault>, Problem> {
        Ok(Some(match name {
            "lose-command" => CommandFault::LoseCommand,
            "lose-ack" => CommandFault::LoseAck,
            "duplicate-ack" if self.0.is_empty() => CommandFault::DuplicateAck(1),
            "duplicate-ack" => CommandFault::DuplicateAck(self.known(
                |word| word.parse().ok().filter(|times| (1..=100).contains(times)),
                "a number of times from 1 to 100",
                "",
            )?),
            "delay-ack" => CommandFault::DelayAck(self.seconds()?),
            "deny" => CommandFault::Deny(self.result()?),
            "answer" => CommandFault::Answer(self.result()?),
            "in-progress" => CommandFault::InProgress(self.known(
                |word| positive(word).filter(|seconds| *seconds <= 3600.0),
                "a number of seconds up to 3600",
                "a number of seconds",
            )?),
            "ack-to" => CommandFault::AckTo(self.known(address, "SYSTEM/COMPONENT", "SYSTEM/COMPONENT")?),
            "ack-untargeted" => CommandFault::AckUntargeted,
            _ => return Ok(None),
        }))
    }

    fn byte_fault(&mut self, name: &str) -> Result<Option<Bytes>, Problem> {
        Ok(Some(match name {
            "lose-bytes" => Bytes::Lose(self.percent()?),
            "noise" => Bytes::Noise(self.percent()?),
            "stray" => Bytes::Stray(self.percent()?),
            "truncate" => Bytes::Truncate(self.percent()?),
            _ => return Ok(None),
        }))
    }

    fn around(&mut self, name: &str, read_key: ReadKey<'_>) -> Result<Option<Around>, Problem> {
        Ok(Some(match name {
            "silence" => Around::Silence,
            "deaf" => Around::Deaf,
            "hang-up" => Around::HangUp,
            "backlog" => Around::Backlog,
            "mavlink1" => Around::MavLink1,
            "signed" | "signed-only" => {
                let file = self.next("a key file")?;
                let key = read_key(file).map_err(|why| Problem::Key {
                    file: file.to_owned(),
                    why,
                })?;
                Around::Signed {
                    key,
                    only: name == "signed-only",
                }
            }
            "unknown-ids" => Around::UnknownIds(self.hertz()?),
            "extra-message" => Around::Extra {
                id: self.known(message, "the id of a message", "the id of a message")?,
                hertz: self.hertz()?,
            },
            "landed-state" => {
                Around::LandedState(self.known(words::landed_state, "a landed state", "a landed state")?)
            }
            "second-autopilot" => Around::SecondAutopilot(self.known(
                |word| word.parse().ok().filter(|id| *id > 0),
                "a system id from 1 to 255",
                "a system id",
            )?),
            "gimbal" => Around::Gimbal,
            "ground-station" => Around::GroundStation,
            "no-gps" => Around::NoGps,
            _ => return Ok(None),
        }))
    }

    fn sudden(&mut self, name: &str) -> Result<Option<Sudden>, Problem> {
        Ok(Some(match name {
            "reboot" => Sudden::Reboot,
            "motor-failure" => Sudden::MotorFailure,
            "battery" => Sudden::Battery(self.percent()?),
            "mode" => Sudden::Mode(self.known(words::mode, "a flight mode", "a flight mode")?),
            _ => return Ok(None),
        }))
    }
}

fn not(word: &str, wanted: &'static str) -> Problem {
    Problem::Not {
        word: word.to_owned(),
        wanted,
    }
}

fn positive(word: &str) -> Option<f64> {
    word.parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

fn message(word: &str) -> Option<u32> {
    let id = word.parse().ok()?;
    <MavMessage as mavlink::Message>::default_message_from_id(id).map(|_| id)
}

fn address(word: &str) -> Option<Address> {
    let (system, component) = word.split_once('/')?;
    Some(Address {
        system: system.parse().ok()?,
        component: component.parse().ok()?,
    })
}

#[cfg(test)]
mod tests;

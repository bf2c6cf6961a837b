//! Grammar and error lines of scripts; opens no file: the caller reads keys.

use mavlink::dialects::ardupilotmega::MavMessage;

use super::keywords;
use super::script::{Around, Bytes, CommandFault, Line, Occurrence, Script, Sudden, What, When};
use super::signing::Key;
use crate::model::{Neu, Wind};
use crate::wire::Address;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ScriptError {
    pub line: usize,
    pub problem: Problem,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("begin with `at SECONDS`, `on COMMAND` or `seed NUMBER`, not with `{0}`")]
    When(String),
    #[error("`{0}` is no command; write a name such as takeoff, a MAV_CMD number, or any")]
    Command(String),
    #[error("`{token}` is no fault; faults are {}", keywords::FAULTS.join(", "))]
    Fault { token: String },
    #[error("{0} is missing at the end")]
    Missing(&'static str),
    #[error("`{token}` is not {wanted}")]
    Not { token: String, wanted: &'static str },
    #[error("{0} happens to a command; write `on COMMAND {0}`, without + and without `at`")]
    NeedsCommand(String),
    #[error("{0} happens at once; leave `for` out")]
    NoSpan(String),
    #[error("`{0}` is too much")]
    TooMuch(String),
    #[error("key file `{file}`: {why}")]
    Key { file: String, why: String },
}

pub(super) type ReadKey<'a> = &'a dyn Fn(&str) -> Result<Key, String>;

impl Script {
    pub fn parse(text: &str, read_key: &dyn Fn(&str) -> Result<Key, String>) -> Result<Self, ScriptError> {
        let mut script = Self {
            seed: 1,
            lines: Vec::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut tokens = Tokens(line.split_whitespace().collect::<Vec<_>>().into());
            script.take(&mut tokens, read_key).map_err(|problem| ScriptError {
                line: index + 1,
                problem,
            })?;
        }
        Ok(script)
    }

    fn take(&mut self, tokens: &mut Tokens<'_>, read_key: ReadKey<'_>) -> Result<(), Problem> {
        let Some(mut first) = tokens.0.pop_front() else {
            return Ok(());
        };
        if first == "seed" {
            self.seed = tokens.parse("a whole number", "a number")?;
            return tokens.end();
        }
        let mut vehicle = None;
        if let Some(name) = first.strip_suffix(':') {
            vehicle = Some(name.to_owned());
            first = tokens.next("`at` or `on`")?;
        }
        let when = match first {
            "at" => When::At(tokens.seconds()?),
            "on" => tokens.trigger()?,
            other => return Err(Problem::When(other.to_owned())),
        };
        let what = tokens.what(read_key)?;
        if matches!(what.1, What::Command(_)) && !matches!(when, When::On { after_s: 0.0, .. }) {
            return Err(Problem::NeedsCommand(what.0));
        }
        self.lines.push(Line {
            vehicle,
            when,
            what: what.1,
        });
        tokens.end()
    }
}

struct Tokens<'a>(std::collections::VecDeque<&'a str>);

impl<'a> Tokens<'a> {
    fn next(&mut self, what: &'static str) -> Result<&'a str, Problem> {
        self.0.pop_front().ok_or(Problem::Missing(what))
    }

    fn end(&self) -> Result<(), Problem> {
        match self.0.front() {
            None => Ok(()),
            Some(token) => Err(Problem::TooMuch((*token).to_owned())),
        }
    }

    fn parse<T: std::str::FromStr>(&mut self, wanted: &'static str, missing: &'static str) -> Result<T, Problem> {
        let token = self.next(missing)?;
        token.parse().map_err(|_| not(token, wanted))
    }

    fn known<T>(
        &mut self,
        find: impl Fn(&str) -> Option<T>,
        wanted: &'static str,
        missing: &'static str,
    ) -> Result<T, Problem> {
        let token = self.next(missing)?;
        find(token).ok_or_else(|| not(token, wanted))
    }

    fn seconds(&mut self) -> Result<f64, Problem> {
        self.known(positive, "a number of seconds", "a number of seconds")
    }

    fn percent(&mut self) -> Result<f64, Problem> {
        let percent =
            |token: &str| positive(token.strip_suffix('%').unwrap_or(token)).filter(|percent| *percent <= 100.0);
        self.known(percent, "a percentage from 0 to 100", "a percentage")
    }

    fn hertz(&mut self) -> Result<f64, Problem> {
        let rate = |token: &str| positive(token).filter(|hertz| (0.01..=1000.0).contains(hertz));
        self.known(rate, "a rate from 0.01 to 1000", "a rate")
    }

    fn meters(&mut self) -> Result<f64, Problem> {
        let meters = |token: &str| token.parse().ok().filter(|meters: &f64| meters.abs() <= 100_000.0);
        self.known(
            meters,
            "a number of meters up to 100000",
            "three numbers of meters: NORTH EAST UP",
        )
    }

    fn trigger(&mut self) -> Result<When, Problem> {
        let token = self.next("a command")?;
        let command = keywords::command(token).ok_or_else(|| Problem::Command(token.to_owned()))?;
        let mut occurrence = Occurrence::Nth(1);
        match self.0.front() {
            Some(&"every") => {
                occurrence = Occurrence::Every;
                self.0.pop_front();
            }
            Some(token) if token.starts_with(|c: char| c.is_ascii_digit()) => {
                occurrence = Occurrence::Nth(self.known(
                    |token| token.parse().ok().filter(|nth| *nth > 0),
                    "a turn, counted from 1",
                    "",
                )?);
            }
            _ => {}
        }
        let mut after_s = 0.0;
        if let Some(token) = self.0.front().copied().filter(|token| token.starts_with('+')) {
            after_s = positive(&token[1..]).ok_or_else(|| not(token, "a number of seconds"))?;
            self.0.pop_front();
        }
        Ok(When::On {
            command,
            occurrence,
            after_s,
        })
    }

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
            return Err(Problem::Fault { token: name.to_owned() });
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
        self.known(keywords::result, "a result such as denied", "a result")
    }

    fn command_fault(&mut self, name: &str) -> Result<Option<CommandFault>, Problem> {
        Ok(Some(match name {
            "lose-command" => CommandFault::LoseCommand,
            "lose-ack" => CommandFault::LoseAck,
            "duplicate-ack" if self.0.is_empty() => CommandFault::DuplicateAck(1),
            "duplicate-ack" => CommandFault::DuplicateAck(self.known(
                |token| token.parse().ok().filter(|times| (1..=100).contains(times)),
                "a number of times from 1 to 100",
                "",
            )?),
            "delay-ack" => CommandFault::DelayAck(self.seconds()?),
            "deny" => CommandFault::Deny(self.result()?),
            "answer" => CommandFault::Answer(self.result()?),
            "in-progress" => CommandFault::InProgress(self.known(
                |token| positive(token).filter(|seconds| *seconds <= 3600.0),
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
                Around::LandedState(self.known(keywords::landed_state, "a landed state", "a landed state")?)
            }
            "second-autopilot" => Around::SecondAutopilot(self.known(
                |token| token.parse().ok().filter(|id| *id > 0),
                "a system id from 1 to 255",
                "a system id",
            )?),
            "gimbal" => Around::Gimbal,
            "ground-station" => Around::GroundStation,
            "aircraft" => Around::Aircraft(Neu {
                north: self.meters()?,
                east: self.meters()?,
                up: self.meters()?,
            }),
            "no-gps" => Around::NoGps,
            "wind" => Around::Wind(Wind {
                speed_m_s: self.known(
                    |token| positive(token).filter(|speed| *speed <= 60.0),
                    "a speed from 0 to 60 meters a second",
                    "a speed",
                )?,
                from_deg: self.known(
                    |token| positive(token).filter(|degrees| *degrees < 360.0),
                    "a direction from 0 up to 360 degrees",
                    "a direction",
                )?,
            }),
            "drift" => Around::Drift(self.known(
                |token| positive(token).filter(|meters| *meters <= 100.0),
                "a number of meters from 0 to 100",
                "a number of meters",
            )?),
            _ => return Ok(None),
        }))
    }

    fn sudden(&mut self, name: &str) -> Result<Option<Sudden>, Problem> {
        Ok(Some(match name {
            "reboot" => Sudden::Reboot,
            "motor-failure" => Sudden::MotorFailure,
            "battery" => Sudden::Battery(self.percent()?),
            "mode" => Sudden::Mode(self.known(keywords::mode, "a flight mode", "a flight mode")?),
            _ => return Ok(None),
        }))
    }
}

fn not(token: &str, wanted: &'static str) -> Problem {
    Problem::Not {
        token: token.to_owned(),
        wanted,
    }
}

fn positive(token: &str) -> Option<f64> {
    token
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

fn message(token: &str) -> Option<u32> {
    let id = token.parse().ok()?;
    <MavMessage as mavlink::Message>::default_message_from_id(id).map(|_| id)
}

fn address(token: &str) -> Option<Address> {
    let (system, component) = token.split_once('/')?;
    Some(Address {
        system: system.parse().ok()?,
        component: component.parse().ok()?,
    })
}

#[cfg(test)]
mod tests;

//! Faults of commands: which acks they change, and how.

use super::script::CommandFault;
use crate::wire::{Address, CommandAck};

const IN_PROGRESS: u8 = 5;
const PROGRESS_EVERY_S: f64 = 0.5;

/// Further delayed acks are lost.
const MOST_LATER: usize = 10_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Acks {
    faults: Vec<(u16, CommandFault)>,
    later: Vec<(f64, CommandAck)>,
}

impl Acks {
    /// Returns whether the vehicle receives the command.
    pub(super) fn arrived(&mut self, command: u16, from: Address, fault: Option<CommandFault>, now_s: f64) -> bool {
        self.faults.retain(|(other, _)| *other != command);
        let ack = CommandAck {
            command,
            result: IN_PROGRESS,
            target_system: from.system,
            target_component: from.component,
        };
        match fault {
            None => true,
            Some(CommandFault::LoseCommand) => false,
            Some(CommandFault::Deny(result)) => {
                self.hold(now_s, CommandAck { result, ..ack });
                false
            }
            Some(fault) => {
                if let CommandFault::InProgress(seconds) = fault {
                    let times = (seconds / PROGRESS_EVERY_S).ceil() as u32;
                    for n in 0..times {
                        self.hold(now_s + f64::from(n) * PROGRESS_EVERY_S, ack);
                    }
                }
                self.faults.push((command, fault));
                true
            }
        }
    }

    pub(super) fn sent(&mut self, ack: CommandAck, now_s: f64) -> Vec<CommandAck> {
        let fault = self.faults.iter().find(|(command, _)| *command == ack.command);
        let to = |Address { system, component }: Address| CommandAck {
            target_system: system,
            target_component: component,
            ..ack
        };
        match fault.map(|(_, fault)| *fault) {
            Some(CommandFault::LoseAck) => Vec::new(),
            Some(CommandFault::DuplicateAck(times)) => vec![ack; 1 + times as usize],
            Some(CommandFault::DelayAck(seconds) | CommandFault::InProgress(seconds)) => {
                self.hold(now_s + seconds, ack);
                Vec::new()
            }
            Some(CommandFault::Answer(result)) => vec![CommandAck { result, ..ack }],
            Some(CommandFault::AckTo(address)) => vec![to(address)],
            Some(CommandFault::AckUntargeted) => vec![to(Address {
                system: 0,
                component: 0,
            })],
            Some(CommandFault::LoseCommand | CommandFault::Deny(_)) | None => vec![ack],
        }
    }

    fn hold(&mut self, until_s: f64, ack: CommandAck) {
        if self.later.len() < MOST_LATER {
            self.later.push((until_s, ack));
        }
    }

    pub(super) fn due(&mut self, now_s: f64) -> Vec<CommandAck> {
        if self.later.is_empty() {
            return Vec::new();
        }
        let (mut due, later): (Vec<_>, Vec<_>) = self.later.drain(..).partition(|(at, _)| *at <= now_s + 1e-9);
        self.later = later;
        due.sort_by(|a, b| a.0.total_cmp(&b.0));
        due.into_iter().map(|(_, ack)| ack).collect()
    }

    pub(super) fn clear(&mut self) {
        self.faults.clear();
        self.later.clear();
    }
}

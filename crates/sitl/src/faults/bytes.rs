//! Damage to bytes: lost, changed, inserted, truncated.

use super::chance::Chance;
use super::script::Bytes;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Damage {
    lost: f64,
    changed: f64,
    stray: f64,
    cut: f64,
}

impl Damage {
    pub(super) fn add(&mut self, fault: Bytes) {
        match fault {
            Bytes::Lose(percent) => self.lost += percent,
            Bytes::Noise(percent) => self.changed += percent,
            Bytes::Stray(percent) => self.stray += percent,
            Bytes::Truncate(percent) => self.cut += percent,
        }
    }

    pub(super) fn frame(self, frame: &[u8], chance: &mut Chance) -> Vec<u8> {
        if frame.len() > 1 && chance.hits(self.cut) {
            let left = 1 + chance.below(frame.len() - 1);
            return self.run(&frame[..left], chance);
        }
        self.run(frame, chance)
    }

    pub(super) fn run(self, bytes: &[u8], chance: &mut Chance) -> Vec<u8> {
        let mut arrived = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            if chance.hits(self.stray) {
                arrived.push(if chance.below(2) == 0 { 0xFD } else { 0xFE });
            }
            if chance.hits(self.lost) {
                continue;
            }
            let change = if chance.hits(self.changed) {
                1 + chance.below(255) as u8
            } else {
                0
            };
            arrived.push(byte ^ change);
        }
        arrived
    }
}

//! Counts of a run: one in which nothing happens proves nothing.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub received: u64,
    /// Messages handed out to be written.
    pub sent: u64,
    pub orders: u64,
    pub arms: u64,
    pub takeoffs: u64,
    pub descents: u64,
    pub kills: u64,
    pub restarts: u64,
    pub refused: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.received += other.received;
        self.sent += other.sent;
        self.orders += other.orders;
        self.arms += other.arms;
        self.takeoffs += other.takeoffs;
        self.descents += other.descents;
        self.kills += other.kills;
        self.restarts += other.restarts;
        self.refused += other.refused;
    }
}

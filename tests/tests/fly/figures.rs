//! Measurements of a scenario, for its row of the table.

use anyhow::ensure;

#[derive(Default)]
pub struct Figures(Vec<String>);

impl Figures {
    pub fn note(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }

    /// Takes Unix microseconds; returns seconds.
    pub fn took(&mut self, what: &str, from: u64, to: u64) -> f64 {
        let seconds = to.saturating_sub(from) as f64 / 1e6;
        self.note(format!("{what} {seconds:.1} s"));
        seconds
    }

    /// Errors: longer than `most` seconds.
    pub fn took_at_most(&mut self, what: &str, from: u64, to: u64, most: f64) -> anyhow::Result<()> {
        let seconds = self.took(what, from, to);
        ensure!(seconds <= most, "{what}: {seconds:.1} s, at most {most} s are promised");
        Ok(())
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

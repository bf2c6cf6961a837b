//! Figures of a benchmark and the table in which they are printed.

use std::fmt;
use std::time::Duration;

#[derive(Clone, Debug)]
pub enum Figure {
    Latency(Vec<Duration>),
    Rate(usize, Duration),
    /// Bytes, resident.
    Memory(u64),
}

impl Figure {
    fn cost(&self) -> f64 {
        match self {
            Self::Latency(times) => percentile(times, 50).as_secs_f64(),
            Self::Rate(count, time) => time.as_secs_f64() / *count as f64,
            Self::Memory(bytes) => *bytes as f64,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency(times) => {
                let [p50, p99] = [50, 99].map(|percent| milliseconds(percentile(times, percent)));
                write!(f, "p50 {p50}, p99 {p99} ms")
            }
            Self::Rate(count, time) => write!(
                f,
                "{:.0} /s ({:.1} s)",
                *count as f64 / time.as_secs_f64(),
                time.as_secs_f64()
            ),
            Self::Memory(bytes) => write!(f, "{:.0} MiB", *bytes as f64 / 1_048_576.0),
        }
    }
}

pub fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(place).copied().unwrap_or_default()
}

pub fn milliseconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}

pub struct Table {
    notes: Vec<String>,
    rows: Vec<[String; 4]>,
}

impl Table {
    pub fn new(sides: [&str; 2]) -> Self {
        let head = ["", sides[0], sides[1], "ratio"].map(str::to_owned);
        Self {
            notes: Vec::new(),
            rows: vec![head, ["---"; 4].map(str::to_owned)],
        }
    }

    pub fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }

    pub fn row(&mut self, what: &str, [first, second]: [Figure; 2]) {
        let ratio = format!("{:.2}", second.cost() / first.cost());
        eprintln!("{what}: {first} | {second} | {ratio}");
        self.rows
            .push([what.to_owned(), first.to_string(), second.to_string(), ratio]);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        writeln!(
            f,
            "ratio: embedded / kube-apiserver, of times and sizes; below 1 the embedded API needs less\n"
        )?;
        for row in &self.rows {
            writeln!(f, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}

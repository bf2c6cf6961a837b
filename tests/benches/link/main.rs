//! Benchmark (`cargo xtask bench link`): what the agent needs to read an autopilot at PX4's ONBOARD rate, beside
//! MAVProxy; and how many simulated vehicles one process flies in real time. Frames are counted by their sequence
//! numbers in the logs of both.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

mod fleet;
mod flown;
mod readers;
mod recorded;

use fleet::Wire;
use skein_tests::machine;
use std::time::Duration;

/// Budgets of the design, section 8.
const MOST_MIB: f64 = 10.0;
const MOST_PERCENT: f64 = 1.0;

struct Plan {
    reading: Duration,
    flying: Duration,
    fleets: &'static [(Wire, &'static [usize])],
}

const LONG: Plan = Plan {
    reading: Duration::from_secs(60),
    flying: Duration::from_secs(10),
    fleets: &[
        (Wire::Nowhere, &[4000, 8000, 12000, 16000]),
        (Wire::Udp, &[500, 1000, 2000, 3000, 4000]),
        (Wire::Pty, &[500, 1000, 1300]),
    ],
};
const SHORT: Plan = Plan {
    reading: Duration::from_secs(10),
    flying: Duration::from_secs(3),
    fleets: &[(Wire::Udp, &[500])],
};

fn main() -> anyhow::Result<()> {
    // `cargo bench` and `cargo test --benches` pass flags of their own; only the former measures.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let plan = if std::env::args().any(|arg| arg == "--short") {
        SHORT
    } else {
        LONG
    };
    println!("{}\n", machine::describe()?);
    read(&plan)?;
    fly(&plan)
}

fn read(plan: &Plan) -> anyhow::Result<()> {
    let seconds = plan.reading.as_secs();
    println!(
        "A PX4 at its ONBOARD rate over a pseudo-terminal, both readers at once, each with a vehicle of its own, {seconds} s."
    );
    println!("Both write every frame to a .tlog; the agent also flies its vehicle and reports to a coordinator.\n");
    let [agent, peer] = readers::measure(plan.reading)?;
    println!("| | frames/s | kB/s | lost | resident MiB (peak) | CPU, % of a core |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for seen in [&agent, &peer] {
        println!(
            "| {} | {:.0} | {:.1} | {} of {} | {:.1} ({:.1}) | {:.2} |",
            seen.name,
            seen.frames as f64 / seen.seconds,
            seen.bytes as f64 / seen.seconds / 1000.0,
            seen.lost,
            seen.frames + seen.lost,
            seen.resident_mib,
            seen.peak_mib,
            seen.cpu_percent,
        );
    }
    println!();
    verdict("agent, resident MiB", agent.peak_mib, MOST_MIB);
    verdict("agent, CPU in % of a core", agent.cpu_percent, MOST_PERCENT);
    verdict("agent, frames lost", agent.lost as f64, 0.5);
    println!(
        "agent / MAVProxy: CPU {:.3}, memory {:.3}\n",
        agent.cpu_percent / peer.cpu_percent,
        agent.resident_mib / peer.resident_mib
    );
    Ok(())
}

fn verdict(what: &str, value: f64, most: f64) {
    let word = if value < most { "kept" } else { "MISSED" };
    println!("budget {word}: {what}: {value:.2}, allowed less than {most}");
}

fn fly(plan: &Plan) -> anyhow::Result<()> {
    println!(
        "Simulated PX4 of one process bound to one core, in real time: no step later than {} ms for {} s (best of {} tries), and by udp and pty all \
         in the air, sending mode Normal at full rate, read by another process. With no wire they are on the ground and send to no receiver.\n",
        fleet::LATEST.as_millis(),
        plan.flying.as_secs(),
        fleet::TRIES
    );
    println!("| wire | vehicles | kept | late p50/p99/p99.9/max, ms | CPU, % of the core | frames/s taken |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut most = Vec::new();
    for (wire, counts) in plan.fleets {
        let mut kept = None;
        for count in *counts {
            let seen = fleet::measure(*wire, *count, plan.flying)?;
            let word = if seen.in_real_time() { "yes" } else { "no" };
            let [p50, p99, p999, max] = seen.late_ms;
            println!(
                "| {} | {count} | {word} | {p50}/{p99}/{p999}/{max} | {:.0} | {:.0} |",
                wire.name(),
                seen.cpu_percent,
                seen.frames_per_s
            );
            if !seen.in_real_time() {
                break;
            }
            kept = Some((*count, seen.cpu_percent));
        }
        most.push((wire.name(), kept));
    }
    println!();
    for (wire, kept) in most {
        match kept {
            Some((count, percent)) => println!(
                "{wire}: {count} vehicles per core in real time; by CPU alone there is room for {:.0}",
                count as f64 * 100.0 / percent
            ),
            None => println!("{wire}: not even the first count kept real time; is the machine busy?"),
        }
    }
    Ok(())
}

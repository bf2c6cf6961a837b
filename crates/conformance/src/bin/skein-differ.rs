//! `skein-differ`: runs random scripts on a running autopilot and on the simulated one.

use std::io::Write;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use conformance::differ::{Found, Live, Outcome, Report, Session, Settings, Wire, generate, judge, load};
use conformance::replay::Comparison;
use sitl::model::{Autopilot, Firmware};

/// Runs random scripts on a running autopilot and on the simulated one and prints what differs. Ends with status 0 when
/// nothing does, 1 when something does, 2 when the command line is wrong, 3 when the autopilot must be started again
/// before it can continue: the last line then says with which script.
#[derive(Parser)]
#[command(name = "skein-differ", version)]
struct Args {
    /// Which stack.
    #[arg(long, value_parser = autopilot, default_value = "ardupilot")]
    autopilot: Autopilot,
    /// Which version of it the simulated one plays: copter-4.6, copter-4.8, px4-1.16 or px4-1.18 [default: the one that was recorded].
    #[arg(long, value_parser = firmware)]
    firmware: Option<Firmware>,
    /// TCP address of the autopilot.
    #[arg(long, value_name = "ADDRESS")]
    tcp: Option<SocketAddr>,
    /// UDP addresses: ours, and the autopilot's.
    #[arg(long, num_args = 2, value_name = "ADDRESS")]
    udp: Vec<SocketAddr>,
    /// Its MAVLink system id.
    #[arg(long, default_value_t = 1)]
    system: u8,
    /// How much faster than real time its clock runs.
    #[arg(long, default_value_t = 1.0)]
    speedup: f64,
    /// How many scripts.
    #[arg(long, default_value_t = 20)]
    scripts: u64,
    /// The seed of the first; the others follow.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begins with this script, counted from 0.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Only these steps of each script.
    #[arg(long, value_delimiter = ',')]
    steps: Vec<usize>,
    /// How often a script that differs is run again to shorten it; 0: never.
    #[arg(long, default_value_t = 40)]
    tries: usize,
    /// Saves what the autopilot did with each script in this folder.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Judges again what is saved in this folder, without an autopilot.
    #[arg(long, value_name = "FOLDER")]
    judge: Option<PathBuf>,
    /// Prints the scripts and runs none.
    #[arg(long)]
    show: bool,
}

fn autopilot(name: &str) -> Result<Autopilot, String> {
    match name {
        "ardupilot" => Ok(Autopilot::ArduPilot),
        "px4" => Ok(Autopilot::Px4),
        other => Err(format!("no such autopilot: {other}; write ardupilot or px4")),
    }
}

fn firmware(name: &str) -> Result<Firmware, String> {
    let found = Firmware::VERSIONS.into_iter().find(|version| version.name() == name);
    found.ok_or_else(|| {
        let all = Firmware::VERSIONS.map(Firmware::name).join(", ");
        format!("no such version: {name}; write one of {all}")
    })
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.show {
        for number in args.from..args.scripts {
            let script = generate(args.autopilot, args.firmware.unwrap_or_default(), args.seed + number);
            print_line(&format!("script {number}\n{script}"));
        }
        return ExitCode::SUCCESS;
    }
    let done = match &args.judge {
        Some(folder) => judge_again(folder),
        None => run(&args),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            print_line(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let firmware = args.firmware.unwrap_or_default();
    let of = firmware.autopilot().unwrap_or(args.autopilot);
    anyhow::ensure!(
        of == args.autopilot,
        "{} is a version of {}; give --autopilot {}",
        firmware.name(),
        of.name(),
        of.name()
    );
    let wire = match (args.tcp, args.udp.as_slice()) {
        (Some(address), []) => {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            Wire::Tcp(stream)
        }
        (None, [ours, theirs]) => {
            let socket = UdpSocket::bind(ours)?;
            socket.connect(theirs)?;
            Wire::Udp(socket)
        }
        _ => anyhow::bail!("name the autopilot's address: --tcp ADDRESS, or --udp OURS THEIRS"),
    };
    let begun = Live::new(wire, (args.autopilot, firmware), args.system, args.speedup);
    let mut live = match begun {
        Ok(live) => live,
        Err(error) => {
            print_line(&format!("{error:#}"));
            return Ok(again(args.from));
        }
    };
    let unknown = live.unknown_parameters();
    if !unknown.is_empty() {
        print_line(&format!(
            "parameters that only the simulated vehicle has: {}",
            unknown.join(" ")
        ));
    }
    let session = Session::new(Settings {
        autopilot: args.autopilot,
        firmware,
        seed: args.seed,
        tries: args.tries,
        keep: args.keep.clone(),
    });
    let mut worst = ExitCode::SUCCESS;
    for number in args.from..args.scripts {
        let (report, done) = if args.steps.is_empty() {
            session.run(&mut live, number)
        } else {
            let script =
                generate(args.autopilot, args.firmware.unwrap_or_default(), args.seed + number).only(&args.steps);
            session.run_script(&mut live, script, number)
        };
        if let Some(report) = &report {
            if matches!(report.found, Found::Differs { .. }) {
                worst = ExitCode::FAILURE;
            }
            print(number, report);
        }
        if let Err(error) = done {
            print_line(&format!("{error:#}"));
            return Ok(again(if report.is_some() { number + 1 } else { number }));
        }
    }
    Ok(worst)
}

fn judge_again(folder: &Path) -> anyhow::Result<ExitCode> {
    let (mut same, mut warped, mut differ) = (0, 0, 0);
    for (name, run, script) in load(folder)? {
        match judge(&run) {
            Outcome::Same => same += 1,
            Outcome::SameWarped => {
                same += 1;
                warped += 1;
            }
            Outcome::Differs(comparison) => {
                differ += 1;
                print_line(&format!("{name}: DIFFERS\n{script}"));
                differences(&comparison);
            }
        }
    }
    print_line(&format!(
        "{same} the same ({warped} of them within what may differ in time), {differ} differ"
    ));
    Ok(if differ == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn again(number: u64) -> ExitCode {
    print_line(&format!("start the autopilot again and continue with --from {number}"));
    ExitCode::from(3)
}

fn print(number: u64, report: &Report) {
    match &report.found {
        Found::Same => print_line(&format!("script {number}: same")),
        Found::SameWarped => print_line(&format!("script {number}: same, within what may differ in time")),
        Found::Once(comparison) => {
            print_line(&format!("script {number}: differed once, and not again"));
            differences(comparison);
        }
        Found::Differs {
            comparison,
            shortened: None,
        } => {
            print_line(&format!("script {number}: DIFFERS\n{}", report.script));
            differences(comparison);
        }
        Found::Differs {
            shortened: Some((script, comparison)),
            ..
        } => {
            let steps: Vec<String> = script
                .steps
                .iter()
                .filter(|step| step.place < usize::MAX)
                .map(|step| step.place.to_string())
                .collect();
            print_line(&format!(
                "script {number}: DIFFERS, also with only --steps {}\n{script}",
                steps.join(",")
            ));
            differences(comparison);
        }
    }
}

fn differences(comparison: &Comparison) {
    for (channel, verdict) in comparison.differences() {
        print_line(&format!("    {}: {verdict}", channel.name()));
    }
}

fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

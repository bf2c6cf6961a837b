//! Running a program to its end, with a deadline.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;

/// Errors: `command` cannot be started, or is killed at `deadline`. A failure status is not an error.
pub fn output(mut command: Command, stdin: Option<&str>, deadline: Duration) -> anyhow::Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    // A group of its own: Ctrl-C is for this process, which may need the program's answer in order to finish.
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
    let feeder = stdin.zip(child.stdin.take()).map(|(text, mut pipe)| {
        let text = text.to_owned();
        // A program that does not read its input to the end reports the reason itself.
        std::thread::spawn(move || drop(pipe.write_all(text.as_bytes())))
    });
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            anyhow::bail!(
                "{program} was not done after {} s: {:?}",
                deadline.as_secs(),
                command.get_args()
            );
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    if let Some(feeder) = feeder {
        let _ = feeder.join();
    }
    Ok(Output {
        status,
        stdout: joined(stdout),
        stderr: joined(stderr),
    })
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // The output that was read before an error is still the program's output.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn joined(reader: JoinHandle<Vec<u8>>) -> Vec<u8> {
    reader.join().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_reads_its_input_and_its_output_comes_back() {
        let out = output(Command::new("cat"), Some("hello"), Duration::from_secs(5)).unwrap();
        assert!(out.status.success());
        assert_eq!(out.stdout, b"hello");
    }

    #[test]
    fn a_program_that_hangs_is_ended_at_the_deadline() {
        let mut command = Command::new("sleep");
        command.arg("600");
        let start = Instant::now();
        let text = output(command, None, Duration::from_millis(100))
            .unwrap_err()
            .to_string();
        assert!(text.contains("sleep was not done"), "{text}");
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

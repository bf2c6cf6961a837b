//! The terminal of `skein top` after a panic of any part of the program.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and this one is about that"
)]

use cli::top::tty::Tty;
use nix::pty::openpty;
use nix::sys::termios::tcgetattr;
use std::fs::File;
use std::io::Read;
use std::process::Command;

/// Names the thread that is to panic in this program, started once more on a terminal.
const PANICS: &str = "SKEIN_TEST_PANICS";

#[test]
fn a_panic_of_any_thread_gives_the_terminal_back_with_its_message_on_it() {
    match std::env::var(PANICS).as_deref() {
        Ok("this") => {
            let _tty = Tty::take().unwrap();
            panic!("a fault on purpose");
        }
        Ok(_) => {
            let _tty = Tty::take().unwrap();
            let ended = std::thread::spawn(|| panic!("a fault on purpose")).join();
            assert!(ended.is_err());
            // Without unwinding, so that nothing else gives the terminal back.
            std::process::exit(0);
        }
        Err(_) => {}
    }
    for thread in ["this", "another"] {
        let pty = openpty(None, None).unwrap();
        let (mut master, slave) = (File::from(pty.master), File::from(pty.slave));
        let before = tcgetattr(&slave).unwrap();
        let mut child = Command::new("setsid")
            .args(["--ctty", "--"])
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "a_panic_of_any_thread_gives_the_terminal_back_with_its_message_on_it",
            ])
            .env(PANICS, thread)
            .env_remove("RUST_BACKTRACE")
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave.try_clone().unwrap())
            .spawn()
            .unwrap();
        // Its output fits into the terminal's buffer.
        child.wait().unwrap();
        let after = tcgetattr(&slave).unwrap();
        drop(slave);
        let mut bytes = Vec::new();
        // Linux ends it with an error once no process has the other end.
        let _ = master.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(
            (after.local_flags, after.input_flags, after.output_flags),
            (before.local_flags, before.input_flags, before.output_flags),
            "{thread}: {text:?}"
        );
        let left = text
            .find("\u{1b}[?1049l")
            .unwrap_or_else(|| panic!("{thread}: {text:?}"));
        assert!(
            text.contains("\u{1b}[?1049h"),
            "{thread}: the terminal was not taken: {text:?}"
        );
        assert!(text[left..].contains("a fault on purpose"), "{thread}: {text:?}");
    }
}

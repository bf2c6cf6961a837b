//! Output for the person at the terminal.

use std::io::{IsTerminal, Write};
use std::time::Duration;

pub fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints on standard error, so that it keeps its place among the output of other programs.
pub fn heading(text: &str) {
    let (bold, plain) = if std::io::stderr().is_terminal() {
        ("\x1b[1m", "\x1b[0m")
    } else {
        ("", "")
    };
    let _ = writeln!(std::io::stderr(), "{bold}==> {text}{plain}");
}

pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "    {text}");
}

pub fn error(text: &str) {
    let (red, plain) = if std::io::stderr().is_terminal() {
        ("\x1b[31m", "\x1b[0m")
    } else {
        ("", "")
    };
    let _ = writeln!(std::io::stderr(), "{red}error:{plain} {text}");
}

/// For people: `4.2 s`, `3 min 07 s`.
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs();
    if seconds < 60 {
        return format!("{:.1} s", span.as_secs_f32());
    }
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_a_person_says_them() {
        assert_eq!(duration(Duration::from_millis(4210)), "4.2 s");
        assert_eq!(duration(Duration::from_secs(187)), "3 min 07 s");
    }
}

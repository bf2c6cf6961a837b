//! Messages for the person at the terminal, from commands that run for a while.

use crate::output::Output;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

pub fn line(text: &str) {
    // Without a reader the vehicles still fly.
    let _ = writeln!(std::io::stdout(), "{text}");
}

pub fn heading(text: &str) {
    let (bold, plain) = if Output::of_this_process().color {
        ("\x1b[1m", "\x1b[0m")
    } else {
        ("", "")
    };
    line(&format!("{bold}==> {text}{plain}"));
}

pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Such as `4.2 s` and `3 min 07 s`.
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
    fn a_path_can_be_copied_into_a_shell_whatever_is_in_it() {
        for path in [
            "/home/a/.local/share/skein/kubeconfig",
            "/a b/c",
            "/it's/$HOME/`x`;\"*",
            "/plain/ümlaut",
        ] {
            let command = format!("printf %s {}", shell_word(Path::new(path)));
            let output = std::process::Command::new("sh")
                .args(["-c", &command])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), path, "{command}");
        }
        assert_eq!(shell_word(Path::new("/home/a/kubeconfig")), "/home/a/kubeconfig");
    }

    #[test]
    fn durations_are_readable() {
        assert_eq!(duration(Duration::from_millis(4210)), "4.2 s");
        assert_eq!(duration(Duration::from_secs(187)), "3 min 07 s");
    }
}

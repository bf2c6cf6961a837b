//! Properties of standard output.

use std::io::IsTerminal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output {
    pub terminal: bool,
    pub color: bool,
}

impl Output {
    pub fn of_this_process() -> Self {
        let var = |name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned());
        Self::of(
            std::io::stdout().is_terminal(),
            var("NO_COLOR").as_deref(),
            var("TERM").as_deref(),
        )
    }

    /// Escape sequences need a capable terminal, and NO_COLOR (no-color.org) turns colors off.
    fn of(terminal: bool, no_color: Option<&str>, term: Option<&str>) -> Self {
        let wanted = no_color.is_none_or(str::is_empty);
        let terminal = terminal && term != Some("dumb");
        Self {
            terminal,
            color: terminal && wanted,
        }
    }

    /// Columns and rows; `None` if unknown.
    pub fn size(self) -> Option<(usize, usize)> {
        if !self.terminal {
            return None;
        }
        terminal_size::terminal_size().map(|(w, h)| (usize::from(w.0), usize::from(h.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_for_terminals_whose_owner_wants_them() {
        let color = |terminal, no_color, term| Output::of(terminal, no_color, term).color;
        assert!(color(true, None, Some("xterm")));
        assert!(color(true, Some(""), None));
        assert!(!color(true, Some("1"), Some("xterm")));
        assert!(!color(true, None, Some("dumb")));
        assert!(!color(false, None, Some("xterm")));
    }

    #[test]
    fn nothing_is_drawn_on_a_terminal_that_knows_no_escape_sequences() {
        let terminal = |term| Output::of(true, None, term).terminal;
        assert!(terminal(Some("xterm")) && terminal(None));
        assert!(!terminal(Some("dumb")));
        assert_eq!(Output::of(true, None, Some("dumb")).size(), None);
    }
}

//! A terminal that shows one picture after another.

use std::io::Write;

/// Uses the terminal's second screen until dropped, so that the previous content comes back.
#[derive(Debug)]
pub struct Screen<W: Write> {
    to: W,
}

impl<W: Write> Screen<W> {
    pub fn take(mut to: W) -> std::io::Result<Self> {
        to.write_all(b"\x1b[?1049h\x1b[?25l")?;
        to.flush()?;
        Ok(Self { to })
    }

    pub fn show(&mut self, picture: &str, rows: Option<usize>) -> std::io::Result<()> {
        self.to.write_all(frame(picture, rows).as_bytes())?;
        self.to.flush()
    }
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"\x1b[?25h\x1b[?1049l");
        let _ = self.to.flush();
    }
}

/// Overwrites line by line, which does not flicker.
fn frame(picture: &str, rows: Option<usize>) -> String {
    let lines: Vec<&str> = picture.lines().collect();
    let (shown_lines, more) = match rows {
        Some(rows) if lines.len() > rows && rows > 1 => (rows - 1, lines.len() - rows + 1),
        _ => (lines.len(), 0),
    };
    let mut text = String::from("\u{1b}[H");
    let note = (more > 0).then(|| format!("… and {more} more lines; make the window taller or use -n or --swarm"));
    let shown: Vec<&str> = lines[..shown_lines].iter().copied().chain(note.as_deref()).collect();
    text.push_str(&shown.join("\u{1b}[K\r\n"));
    text.push_str("\u{1b}[K\u{1b}[J");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_is_given_back_as_it_was() {
        let mut written = Vec::new();
        let mut screen = Screen::take(&mut written).unwrap();
        screen.show("a\nb\n", None).unwrap();
        drop(screen);
        let text = String::from_utf8(written).unwrap();
        assert!(
            text.starts_with("\u{1b}[?1049h") && text.ends_with("\u{1b}[?1049l"),
            "{text:?}"
        );
        assert!(text.contains("\u{1b}[Ha\u{1b}[K\r\nb\u{1b}[K\u{1b}[J"), "{text:?}");
    }

    #[test]
    fn a_picture_taller_than_the_terminal_ends_with_a_note() {
        let text = frame("1\n2\n3\n4\n", Some(3));
        assert!(
            text.contains("2\u{1b}[K\r\n… and 2 more lines") && !text.contains('4'),
            "{text:?}"
        );
        assert!(!frame("1\n2\n3\n", Some(3)).contains('…'));
    }
}

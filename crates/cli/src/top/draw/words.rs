//! Wraps text.

/// Cuts between words where possible; indents all lines but the first by `indent`. Leading spaces stay.
pub fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(1);
    let indent = indent.min(width / 2);
    let mut lines = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    loop {
        let begin = if lines.is_empty() { 0 } else { indent };
        let room = width - begin;
        let line = |part: &[char]| {
            let part: String = part.iter().collect();
            format!("{}{}", " ".repeat(begin), part.trim_end())
        };
        if rest.len() <= room {
            lines.push(line(&rest));
            return lines;
        }
        let first_word = rest.iter().position(|c| *c != ' ').unwrap_or(0);
        let space = (first_word + 1..=room).rev().find(|at| rest[*at] == ' ');
        let (cut, skip) = space.map_or((room, 0), |at| (at, 1));
        lines.push(line(&rest[..cut]));
        rest.drain(..cut + skip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_words_and_a_long_word_inside() {
        assert_eq!(wrap("  a bc def", 6, 2), ["  a bc", "  def"]);
        assert_eq!(wrap("abcdefgh", 3, 0), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3, 0), [""]);
        assert_eq!(wrap("ä ö ü", 3, 1), ["ä ö", " ü"]);
    }
}

//! Tokens of a label selector.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// Key, value, or operator that is a word.
    Plain(&'a str),
    Sign(&'a str),
    End,
}

impl<'a> Word<'a> {
    pub(super) fn text(self) -> &'a str {
        match self {
            Self::Plain(text) | Self::Sign(text) => text,
            Self::End => "",
        }
    }
}

const SIGNS: [&str; 9] = ["==", "!=", "!", "=", "(", ")", ",", ">", "<"];

pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        let end = match sign {
            Some(sign) => sign.len(),
            None => rest.find(ends_a_word).unwrap_or(rest.len()),
        };
        let (word, behind) = rest.split_at(end);
        words.push(match sign {
            Some(_) => Word::Sign(word),
            None => Word::Plain(word),
        });
        rest = behind.trim_start();
    }
    words
}

fn ends_a_word(letter: char) -> bool {
    letter.is_whitespace() || "!=(),><".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_signs_stand_apart_with_and_without_spaces() {
        let expected = [
            Word::Plain("a"),
            Word::Sign("!="),
            Word::Plain("b"),
            Word::Sign(","),
            Word::Plain("c"),
            Word::Plain("in"),
            Word::Sign("("),
            Word::Plain("d"),
            Word::Sign(")"),
        ];
        assert_eq!(words("a!=b,c in (d)"), expected);
        assert_eq!(words("  a != b ,\tc in(d ) "), expected);
        assert_eq!(
            words("!!a==").as_slice(),
            [Word::Sign("!"), Word::Sign("!"), Word::Plain("a"), Word::Sign("==")]
        );
        assert!(words("  ").is_empty());
    }
}

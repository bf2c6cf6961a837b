//! The message of an event with its arguments put in (libevents: message and description of an event).
//!
//! What is marked for developers only (`<profile name="dev">`) is left out; tags that are not known go with their content.

const LONGEST: usize = 400;
const DECIMALS_AT_MOST: usize = 6;
const PROFILE: &str = "normal";

/// One line. `shown` gives argument N (from 1), with so many decimals.
pub(super) fn fill(template: &str, shown: impl Fn(usize, Option<usize>) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = template;
    // Every round takes at least one character.
    while let Some(first) = rest.chars().next() {
        if out.len() >= 4 * LONGEST {
            break;
        }
        let after = &rest[first.len_utf8()..];
        rest = match first {
            '\\' => {
                let escaped = after.chars().next();
                out.extend(escaped);
                &after[escaped.map_or(0, char::len_utf8)..]
            }
            '<' => match tag(after) {
                Some(beyond) => beyond,
                None => literal(&mut out, first, after),
            },
            '{' => match argument(after, &shown) {
                Some((text, beyond)) => {
                    out.push_str(&text);
                    beyond
                }
                None => literal(&mut out, first, after),
            },
            _ => literal(&mut out, first, after),
        };
    }
    one_line(&out)
}

fn literal<'a>(out: &mut String, first: char, after: &'a str) -> &'a str {
    out.push(first);
    after
}

/// `after` begins behind a `<`; returns where to go on.
fn tag(after: &str) -> Option<&str> {
    let (inside, beyond) = after.split_once('>')?;
    if let Some(name) = inside.strip_prefix('/') {
        return matches!(name, "param" | "a" | "profile").then_some(beyond);
    }
    let (name, attribute) = inside.split_once(' ').unwrap_or((inside, ""));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase()) {
        return None;
    }
    let kept = match name {
        "param" | "a" => true,
        "profile" => {
            let wanted = attribute.strip_prefix("name=\"")?.strip_suffix('"')?;
            match wanted.strip_prefix('!') {
                Some(unwanted) => unwanted != PROFILE,
                None => wanted == PROFILE,
            }
        }
        _ => false,
    };
    if kept {
        return Some(beyond);
    }
    let end = format!("</{name}>");
    beyond.split_once(&end).map(|(_, beyond)| beyond)
}

/// `after` begins behind a `{`; returns the argument's text and where to go on.
fn argument<'a>(after: &'a str, shown: &impl Fn(usize, Option<usize>) -> Option<String>) -> Option<(String, &'a str)> {
    let (inside, beyond) = after.split_once('}')?;
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (index, format) = inside.split_at(digits(inside));
    let (decimals, unit) = match format.strip_prefix(':') {
        Some(format) => match format.strip_prefix('.') {
            Some(format) => {
                let (decimals, unit) = format.split_at(digits(format));
                (Some(decimals.parse::<usize>().ok()?.min(DECIMALS_AT_MOST)), unit)
            }
            None => (None, format),
        },
        None => (None, format),
    };
    let unit = match unit {
        "" => "",
        "m" | "m_v" => " m",
        "m^2" => " m²",
        "m/s" => " m/s",
        "C" => " °C",
        _ => return None,
    };
    let text = shown(index.parse().ok()?, decimals)?;
    Some((format!("{text}{unit}"), beyond))
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ").chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(template: &str) -> String {
        let arguments = ["one", "2.5", "3"];
        fill(template, |n, decimals| {
            let text = arguments.get(n.checked_sub(1)?)?;
            Some(decimals.map_or_else(|| (*text).to_owned(), |d| format!("{text}/{d}")))
        })
    }

    #[test]
    fn arguments_are_put_in_by_their_number_with_decimals_and_unit() {
        assert_eq!(filled("Found {3} of {1}"), "Found 3 of one");
        assert_eq!(
            filled("{2:.1} {2:.3m_v} {3m} {3m/s} {3C} {3m^2}"),
            "2.5/1 2.5/3 m 3 m 3 m/s 3 °C 3 m²"
        );
        assert_eq!(filled("{2:.99}"), "2.5/6");
        assert_eq!(filled("{2:}"), "2.5");
    }

    #[test]
    fn what_is_no_argument_stays_as_it_is_written() {
        for text in [
            "{0}",
            "{4}",
            "{x}",
            "{1",
            "{}",
            "{1:.}",
            "{1furlongs}",
            "{99999999999999999999999}",
        ] {
            assert_eq!(filled(text), text);
        }
    }

    #[test]
    fn tags_leave_their_content_or_go_with_it() {
        assert_eq!(
            filled("Set <param>COM_ARM_WO_GPS</param> to 1"),
            "Set COM_ARM_WO_GPS to 1"
        );
        assert_eq!(
            filled(r#"See <a href="www.example.org/x">the guide</a>."#),
            "See the guide."
        );
        assert_eq!(filled("<a>www.example.org</a>"), "www.example.org");
        assert_eq!(
            filled(r#"Check it.<profile name="dev"> Or <param>X</param></profile>"#),
            "Check it."
        );
        assert_eq!(filled(r#"<profile name="!dev">keep {1}</profile>"#), "keep one");
        assert_eq!(filled(r#"<profile name="normal">keep</profile>"#), "keep");
        assert_eq!(filled("<unknown>gone</unknown>kept"), "kept");
        assert_eq!(filled(r"<unknown>content\<</unknown>test"), "test");
    }

    #[test]
    fn what_is_no_tag_stays_and_a_backslash_takes_the_meaning_away() {
        assert_eq!(filled("a < b > c"), "a < b > c");
        assert_eq!(filled("<unknown>no end"), "<unknown>no end");
        assert_eq!(filled(r"\<param\> \{1\} \\"), r"<param> {1} \");
        assert_eq!(filled("at the end \\"), "at the end");
    }

    #[test]
    fn a_text_is_one_line_and_not_too_long() {
        assert_eq!(filled("  one\n\n two\tthree \u{7}"), "one two three");
        assert_eq!(filled(&"ä".repeat(5000)).chars().count(), LONGEST);
        assert_eq!(filled(&"{1}".repeat(5000)).chars().count(), LONGEST);
    }

    proptest! {
        #[test]
        fn any_template_gives_a_short_line(template in "[<>{}\\\\/:.a-c0-3 \"=!ä\n]{0,200}") {
            let text = filled(&template);
            prop_assert!(text.chars().count() <= LONGEST && !text.contains('\n'));
        }
    }
}

//! Selectors and what they select.

use super::*;
use proptest::prelude::*;

fn selector(text: &str) -> Result<Selector, NoSelector> {
    text.parse()
}

/// Of four objects.
fn selected(text: &str) -> String {
    let objects: [(char, &[(&str, &str)]); 4] = [
        ('a', &[("team", "red"), ("skein.dev/swarm", "alpha")]),
        ('b', &[("team", "blue")]),
        ('c', &[("team", "")]),
        ('d', &[]),
    ];
    let selector = selector(text).expect(text);
    let value = |labels: &'static [(&str, &str)], key: &str| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    objects
        .into_iter()
        .filter(|(_, labels)| selector.matches(|key| value(labels, key)))
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn selectors_select_what_they_select_in_kubectl() {
    for (text, expected) in [
        ("team=red", "a"),
        (" team == red ", "a"),
        ("team!=red", "bcd"),
        ("team", "abc"),
        ("!team", "d"),
        ("! team", "d"),
        ("team in (red, blue)", "ab"),
        ("team in(red)", "a"),
        ("team notin (red)", "bcd"),
        ("team=", "c"),
        ("team in ()", "c"),
        ("team in (red,)", "ac"),
        ("team,skein.dev/swarm", "a"),
        ("team,!skein.dev/swarm", "bc"),
        ("skein.dev/swarm=alpha,team in (red,blue)", "a"),
        ("in in (in)", ""),
    ] {
        assert_eq!(selected(text), expected, "{text}");
    }
}

#[test]
fn an_empty_selector_is_not_taken_for_everything() {
    for text in ["", "  ", "\t"] {
        assert_eq!(selector(text), Err(NoSelector::Empty), "{text:?}");
    }
}

#[test]
fn what_is_no_selector_is_refused_with_what_should_be_there() {
    for (text, wanted) in [
        (",", "the key of a label"),
        ("=red", "the key of a label"),
        ("team=red,", "the key of a label"),
        ("team,,model", "the key of a label"),
        ("!!team", "the key of a label"),
        ("team red", "=, ==, !=, in or notin"),
        ("age>3", "=, ==, !=, in or notin"),
        ("team=red=blue", "a comma or the end"),
        ("!team=red", "a comma or the end"),
        ("team=red model=a", "a comma or the end"),
        ("team in (red))", "a comma or the end"),
        ("team in red", "values in brackets"),
        ("team in (red", "a comma or the closing bracket"),
        ("team in (red blue)", "a comma or the closing bracket"),
    ] {
        match selector(text) {
            Err(NoSelector::Grammar { wanted: named, .. }) => assert_eq!(named, wanted, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    for key in ["a@b", "a/b/c", "/a", "a/", "-a", "A.b/c", &"x".repeat(64)] {
        assert!(matches!(selector(key), Err(NoSelector::Key { .. })), "{key}");
    }
    for value in ["-x", "x-", "a/b", &"x".repeat(64)] {
        let text = format!("team={value}");
        assert!(matches!(selector(&text), Err(NoSelector::Value { .. })), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_upsets_the_reader(text in "[a-c!=(), /.]{0,24}") {
        if let Ok(selector) = selector(&text) {
            prop_assert!(!selector.requirements.is_empty());
            prop_assert_eq!(selector.to_string(), text.trim());
        }
    }
}

//! Licence expressions in SPDX form (SPDX 2.3, annex D): `MIT OR Apache-2.0`.

use std::collections::BTreeSet;

/// Older packages write a slash for "or".
pub fn of_package(licence: &str) -> String {
    let words = licence.split('/').map(str::trim);
    words.collect::<Vec<_>>().join(" OR ")
}

/// Joins licences by AND; duplicates, also in another order, are written once.
pub fn all_of<'a>(licences: impl IntoIterator<Item = &'a str>) -> String {
    let terms: BTreeSet<String> = licences.into_iter().flat_map(terms).collect();
    Vec::from_iter(terms).join(" AND ")
}

/// The terms that must all be kept, each one licence or a choice in parentheses.
fn terms(expression: &str) -> Vec<String> {
    let expression = unwrapped(expression.trim());
    // "And" binds more tightly than "or".
    let choices: BTreeSet<&str> = split(expression, " OR ").into_iter().collect();
    if choices.len() > 1 {
        return vec![format!("({})", Vec::from_iter(choices).join(" OR "))];
    }
    match split(expression, " AND ")[..] {
        [one] => vec![one.to_owned()],
        ref several => several.iter().flat_map(|part| terms(part)).collect(),
    }
}

fn split<'a>(expression: &'a str, word: &str) -> Vec<&'a str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, _) in expression.match_indices(word) {
        if depth(&expression[..at]) == 0 {
            parts.push(expression[from..at].trim());
            from = at + word.len();
        }
    }
    parts.push(expression[from..].trim());
    parts
}

fn unwrapped(expression: &str) -> &str {
    let inner = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let closes_early = |inner: &str| inner.match_indices(')').any(|(at, _)| depth(&inner[..=at]) < 0);
    inner.filter(|inner| !closes_early(inner)).map_or(expression, unwrapped)
}

fn depth(text: &str) -> i32 {
    text.chars().fold(0, |depth, c| match c {
        '(' => depth + 1,
        ')' => depth - 1,
        _ => depth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slash_of_older_packages_is_a_choice() {
        assert_eq!(of_package("Apache-2.0 / MIT"), "Apache-2.0 OR MIT");
        assert_eq!(of_package("MIT/Apache-2.0"), "MIT OR Apache-2.0");
    }

    #[test]
    fn the_same_choice_in_another_order_stands_once() {
        assert_eq!(
            all_of(["MIT OR Apache-2.0", "Apache-2.0 OR MIT", "MIT"]),
            "(Apache-2.0 OR MIT) AND MIT"
        );
        assert_eq!(all_of(["MIT", "MIT"]), "MIT");
        assert_eq!(all_of([]), "");
    }

    #[test]
    fn what_a_package_joins_is_taken_apart() {
        assert_eq!(
            all_of(["(MIT OR Apache-2.0) AND Unicode-3.0", "MIT AND BSD-3-Clause", "((ISC))"]),
            "(Apache-2.0 OR MIT) AND BSD-3-Clause AND ISC AND MIT AND Unicode-3.0"
        );
        assert_eq!(all_of(["(ISC) AND (MIT)"]), "ISC AND MIT");
        assert_eq!(all_of(["A AND B OR C"]), "(A AND B OR C)");
    }
}

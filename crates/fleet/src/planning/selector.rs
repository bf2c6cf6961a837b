//! Label selectors as of kubectl's `-l`: `team=red,model in (a, b),!retired`.
//!
//! Owns: their grammar (equality- and set-based), and matching. Must not: know which object has the labels, or take an empty selector for
//! everything: a person has to say so.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// All requirements have to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    text: String,
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    is: Is,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Is {
    There,
    Missing,
    OneOf(BTreeSet<String>),
    NoneOf(BTreeSet<String>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSelector {
    #[error("an empty selector would select everything; give one such as team=red, or say that all are meant")]
    Empty,
    #[error("selector {text:?}: {found} where {wanted} should be; write it as team=red,model in (a,b),!retired")]
    Grammar {
        text: String,
        found: String,
        wanted: &'static str,
    },
    #[error(
        "selector {text:?}: no label can have the key {key:?}; a key is up to 63 letters, digits, -, _ and . behind an optional DOMAIN/"
    )]
    Key { text: String, key: String },
    #[error(
        "selector {text:?}: no label can have the value {value:?}; a value is up to 63 letters, digits, -, _ and ."
    )]
    Value { text: String, value: String },
}

impl Selector {
    /// `label` returns the value of a key.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|wanted| {
            let value = label(&wanted.key);
            match &wanted.is {
                Is::There => value.is_some(),
                Is::Missing => value.is_none(),
                Is::OneOf(values) => value.is_some_and(|value| values.contains(value)),
                Is::NoneOf(values) => value.is_none_or(|value| !values.contains(value)),
            }
        })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Selector {
    type Err = NoSelector;

    fn from_str(text: &str) -> Result<Self, NoSelector> {
        let text = text.trim();
        if text.is_empty() {
            return Err(NoSelector::Empty);
        }
        let mut reader = Reader { text, rest: text };
        let mut requirements = vec![reader.requirement()?];
        while !reader.at_end() {
            reader.sign(",", "a comma or the end")?;
            requirements.push(reader.requirement()?);
        }
        let text = text.to_owned();
        Ok(Self { text, requirements })
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn at_end(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.is_empty()
    }

    /// Takes `sign`, if it is next.
    fn take(&mut self, sign: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sign(&mut self, sign: &str, wanted: &'static str) -> Result<(), NoSelector> {
        if self.take(sign) { Ok(()) } else { Err(self.not(wanted)) }
    }

    fn not(&mut self, wanted: &'static str) -> NoSelector {
        let found = if self.at_end() {
            "the end".to_owned()
        } else {
            format!("{:?}", self.rest)
        };
        let text = self.text.to_owned();
        NoSelector::Grammar { text, found, wanted }
    }

    /// May be empty.
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let end = self
            .rest
            .find(|c: char| c.is_whitespace() || "!=(),><".contains(c))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn requirement(&mut self) -> Result<Requirement, NoSelector> {
        let missing = self.take("!");
        let key = self.word().to_owned();
        if key.is_empty() {
            return Err(self.not("the key of a label"));
        }
        if !is_key(&key) {
            let text = self.text.to_owned();
            return Err(NoSelector::Key { text, key });
        }
        let is = if missing { Is::Missing } else { self.condition()? };
        Ok(Requirement { key, is })
    }

    fn condition(&mut self) -> Result<Is, NoSelector> {
        if self.at_end() || self.rest.starts_with(',') {
            return Ok(Is::There);
        }
        if self.take("!=") {
            return Ok(Is::NoneOf(BTreeSet::from([self.value()?])));
        }
        if self.take("==") || self.take("=") {
            return Ok(Is::OneOf(BTreeSet::from([self.value()?])));
        }
        let before = self.rest;
        match self.word() {
            "in" => Ok(Is::OneOf(self.values()?)),
            "notin" => Ok(Is::NoneOf(self.values()?)),
            _ => {
                self.rest = before;
                Err(self.not("=, ==, !=, in or notin"))
            }
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, NoSelector> {
        self.sign("(", "values in brackets")?;
        let mut values = BTreeSet::from([self.value()?]);
        while !self.take(")") {
            self.sign(",", "a comma or the closing bracket")?;
            values.insert(self.value()?);
        }
        Ok(values)
    }

    fn value(&mut self) -> Result<String, NoSelector> {
        let value = self.word().to_owned();
        if value.is_empty() || is_name(&value) {
            return Ok(value);
        }
        let text = self.text.to_owned();
        Err(NoSelector::Value { text, value })
    }
}

/// `[DOMAIN/]NAME`.
fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_name(key),
        Some((domain, name)) => {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let part = |part: &str| !part.is_empty() && part.chars().all(plain) && !part.starts_with('-');
            domain.len() <= 253 && domain.split('.').all(part) && is_name(name)
        }
    }
}

fn is_name(name: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.len() <= 63 && ends(name.chars().next()) && ends(name.chars().next_back()) && name.chars().all(inside)
}

#[cfg(test)]
mod tests;

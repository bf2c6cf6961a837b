//! Label selectors: `camera=thermal,fleet!=x,model in (a, b),!retired,age>3`.

use super::lexer::{Word, words};
use crate::schema::metadata::names;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) key: String,
    is: Is,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Is {
    There,
    Missing,
    OneOf(Vec<String>),
    NoneOf(Vec<String>),
    Above(i64),
    Below(i64),
}

impl Requirement {
    pub(super) fn matches(&self, label: Option<&str>) -> bool {
        let number = || label.and_then(|label| label.parse::<i64>().ok());
        match &self.is {
            Is::There => label.is_some(),
            Is::Missing => label.is_none(),
            Is::OneOf(values) => label.is_some_and(|label| values.iter().any(|value| value == label)),
            Is::NoneOf(values) => label.is_none_or(|label| values.iter().all(|value| value != label)),
            Is::Above(than) => number().is_some_and(|number| number > *than),
            Is::Below(than) => number().is_some_and(|number| number < *than),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser {
        words: words(text),
        at: 0,
    };
    let mut requirements = Vec::new();
    if parser.peek() == Word::End {
        return Ok(requirements);
    }
    loop {
        let requirement = parser.requirement();
        requirements.push(requirement.map_err(|why| format!("the label selector {text:?} cannot be read: {why}"))?);
        match parser.next() {
            Word::End => return Ok(requirements),
            Word::Sign(",") => {}
            other => {
                return Err(format!(
                    "the label selector {text:?} cannot be read: {}",
                    expected("a comma", other)
                ));
            }
        }
    }
}

fn expected(what: &str, found: Word<'_>) -> String {
    format!("expected {what}, found {:?}", found.text())
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Word<'a> {
        self.words.get(self.at).copied().unwrap_or(Word::End)
    }

    fn next(&mut self) -> Word<'a> {
        let word = self.peek();
        self.at += 1;
        word
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut word = self.next();
        let missing = word == Word::Sign("!");
        if missing {
            word = self.next();
        }
        let Word::Plain(key) = word else {
            return Err(expected("a key", word));
        };
        if let Some(why) = names::label_key(key) {
            return Err(format!("the key {key:?} {why}"));
        }
        let is = match (missing, self.peek()) {
            (true, _) => Is::Missing,
            (false, Word::End | Word::Sign(",")) => Is::There,
            (false, _) => self.comparison()?,
        };
        Ok(Requirement {
            key: key.to_owned(),
            is,
        })
    }

    fn comparison(&mut self) -> Result<Is, String> {
        let operator = self.next();
        let values = match operator {
            Word::Plain("in" | "notin") => self.list()?,
            Word::Sign("=" | "==" | "!=" | ">" | "<") => vec![self.value()?],
            other => return Err(expected("an operator", other)),
        };
        if matches!(operator, Word::Sign(">" | "<")) {
            let text = values.first().map(String::as_str).unwrap_or_default();
            let number = text.parse().map_err(|_| format!("{text:?} must be a whole number"))?;
            return Ok(match operator {
                Word::Sign(">") => Is::Above(number),
                _ => Is::Below(number),
            });
        }
        for value in &values {
            if let Some(why) = names::label_value(value) {
                return Err(format!("the value {value:?} {why}"));
            }
        }
        Ok(match operator {
            Word::Plain("notin") | Word::Sign("!=") => Is::NoneOf(values),
            _ => Is::OneOf(values),
        })
    }

    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            Word::End | Word::Sign(",") => Ok(String::new()),
            Word::Plain(value) => {
                self.next();
                Ok(value.to_owned())
            }
            other => Err(expected("a value", other)),
        }
    }

    /// Nothing between two commas, or between a comma and a parenthesis, is the empty value.
    fn list(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != Word::Sign("(") {
            return Err(expected("'('", open));
        }
        let mut values: Vec<String> = Vec::new();
        loop {
            let value = match self.peek() {
                Word::Plain(value) => {
                    self.next();
                    value
                }
                _ => "",
            };
            values.push(value.to_owned());
            match self.next() {
                Word::Sign(",") => {}
                Word::Sign(")") => break,
                other => return Err(expected("',' or ')'", other)),
            }
        }
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }
}

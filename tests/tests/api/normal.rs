//! Transcripts without the differences between any two runs: uids, times, random names, ages, addresses.
//! resourceVersions of objects become their rank, so that order and equality stay; those of lists and bookmarks, which
//! change with every write on a server, become one word. Must not: hide a difference that a user could see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::session::{Session, Step};
use crate::words;

static UID: LazyLock<Regex> = LazyLock::new(|| regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"(resourceVersion(?:\\*"?: ?\\*"|=|","value":")|Resource Version: +|ResourceVersion in record \()(\d+)"#)
});
static TIME: LazyLock<Regex> = LazyLock::new(|| regex(r"(\d{4})-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"));
static LONG_TIME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} (\d{4}) \d\d:\d\d:\d\d [+-]\d{4}"));
static AGE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)(^|\s)(\d+[smhd])+( ago)?( {2,}|\s|$)"));
static AGE_TITLE: LazyLock<Regex> = LazyLock::new(|| regex(r"\bAGE {2,}"));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| regex(r"continue=[\w%=.-]{20,}"));
static FILE: LazyLock<Regex> = LazyLock::new(|| regex(r"(LIVE|MERGED|kubectl-edit)-\d+"));
static FILE_TIME: LazyLock<Regex> = LazyLock::new(|| regex(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}"));
static NUMBERS_OF_HISTORY: LazyLock<Regex> =
    LazyLock::new(|| regex(r"resource version: \d+(, current: \d+| ?\(\d+\))?"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

pub fn transcript(mut session: Session) -> Vec<Step> {
    let mut occurrences = Occurrences::default();
    for step in &mut session.steps {
        step.result = words::without(step.result.take());
        occurrences.collect(&step.result);
    }
    let versions: BTreeMap<u64, usize> = occurrences
        .versions
        .iter()
        .enumerate()
        .map(|(rank, v)| (*v, rank + 1))
        .collect();
    let uids: BTreeMap<String, usize> = occurrences
        .uids
        .iter()
        .enumerate()
        .map(|(rank, uid)| (uid.clone(), rank + 1))
        .collect();
    let random = session
        .random
        .iter()
        .map(|name| regex(&format!("{}[a-z0-9]{{5}}", regex::escape(name))));
    let names = Names {
        versions,
        uids,
        random: random
            .zip(session.random.iter().map(|name| format!("{name}<random>")))
            .collect(),
        server: session.side().server().to_owned(),
        address: session.side().server().trim_start_matches("https://").to_owned(),
    };
    let plain = |step: Step| Step {
        action: names.text(&step.action),
        result: names.value(step.result),
    };
    session.steps.into_iter().map(plain).collect()
}

#[derive(Default)]
struct Occurrences {
    uids: Vec<String>,
    versions: BTreeSet<u64>,
}

impl Occurrences {
    fn collect(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(version) = object_version(map) {
                    self.versions.insert(version);
                }
                map.values().for_each(|value| self.collect(value));
            }
            Value::Array(all) => all.iter().for_each(|value| self.collect(value)),
            Value::String(text) => {
                for uid in UID.find_iter(text) {
                    if !self.uids.iter().any(|known| known == uid.as_str()) {
                        self.uids.push(uid.as_str().to_owned());
                    }
                }
                let versions = VERSION
                    .captures_iter(text)
                    .filter_map(|found| found[2].parse::<u64>().ok());
                self.versions.extend(versions);
            }
            _ => {}
        }
    }
}

fn object_version(map: &Map<String, Value>) -> Option<u64> {
    let version = map.get("metadata")?.get("resourceVersion")?.as_str()?;
    (!moves(map)).then(|| version.parse().ok())?
}

/// Whether this has the resourceVersion of the whole server rather than of one object.
fn moves(map: &Map<String, Value>) -> bool {
    let kind = map.get("kind").and_then(Value::as_str).unwrap_or_default();
    kind.ends_with("List")
        || kind == "Table"
        || !map["metadata"]
            .as_object()
            .is_some_and(|m| m.contains_key("uid") || m.contains_key("name"))
}

struct Names {
    versions: BTreeMap<u64, usize>,
    uids: BTreeMap<String, usize>,
    random: Vec<(Regex, String)>,
    server: String,
    address: String,
}

impl Names {
    fn value(&self, value: Value) -> Value {
        match value {
            Value::Object(mut map) => {
                self.version(&mut map);
                Value::Object(
                    map.into_iter()
                        .map(|(key, value)| (self.text(&key), self.entry(&key, value)))
                        .collect(),
                )
            }
            Value::Array(all) => all.into_iter().map(|value| self.value(value)).collect(),
            Value::String(text) => Value::String(self.text(&text)),
            other => other,
        }
    }

    fn version(&self, map: &mut Map<String, Value>) {
        let moves = map.contains_key("metadata") && moves(map);
        let Some(Value::String(version)) = map.get_mut("metadata").and_then(|m| m.get_mut("resourceVersion")) else {
            return;
        };
        if let Ok(number) = version.parse::<u64>()
            && number != 0
        {
            *version = match self.versions.get(&number) {
                _ if moves => "<now>".to_owned(),
                Some(rank) => format!("<version {rank}>"),
                None => "<version>".to_owned(),
            };
        }
    }

    fn entry(&self, key: &str, value: Value) -> Value {
        match (key, value) {
            ("continue", Value::String(token)) if !token.is_empty() => "<continue>".into(),
            ("managedFields", Value::Array(all)) => {
                let mut all: Vec<Value> = all.into_iter().map(|entry| self.value(entry)).collect();
                all.sort_by_key(Value::to_string);
                all.into()
            }
            (_, value) => self.value(value),
        }
    }

    fn text(&self, text: &str) -> String {
        let text = text
            .replace(&self.server, "<server>")
            .replace(&self.address, "<address>");
        let uid = |found: &Captures<'_>| {
            self.uids
                .get(&found[0])
                .map_or("<uid>".to_owned(), |rank| format!("<uid {rank}>"))
        };
        let text = UID.replace_all(&text, uid);
        // A case itself writes only very small and very large ones.
        let version = |found: &Captures<'_>| match found[2]
            .parse::<u64>()
            .map(|number| (number, self.versions.get(&number)))
        {
            Ok((_, Some(rank))) => format!("{}<version {rank}>", &found[1]),
            Ok((6..=900_000_000, None)) => format!("{}<now>", &found[1]),
            _ => found[0].to_owned(),
        };
        let text = VERSION.replace_all(&text, version);
        // Times that a case wrote itself are of the year 2001.
        let time = |found: &Captures<'_>| match (&found[1], found.get(2)) {
            ("2001", _) => found[0].to_owned(),
            (_, Some(_)) => "<time in microseconds>".to_owned(),
            (_, None) => "<time>".to_owned(),
        };
        let text = TIME.replace_all(&text, time);
        let text = LONG_TIME.replace_all(&text, |found: &Captures<'_>| {
            if &found[1] == "2001" {
                found[0].to_owned()
            } else {
                "<time>".to_owned()
            }
        });
        let text = TOKEN.replace_all(&text, "continue=<continue>");
        let text = FILE.replace_all(&text, "$1-<number>");
        let text = FILE_TIME.replace_all(&text, "<time>");
        let text = NUMBERS_OF_HISTORY.replace_all(&text, "resource version: <now>");
        let age = |found: &Captures<'_>| {
            let after = if found[4].starts_with("  ") { "   " } else { &found[4] };
            format!(
                "{}<age>{}{after}",
                &found[1],
                found.get(3).map_or("", |ago| ago.as_str())
            )
        };
        let text = AGE.replace_all(&text, age);
        let mut text = AGE_TITLE.replace_all(&text, "AGE   ").into_owned();
        for (name, stands) in &self.random {
            text = name.replace_all(&text, stands.as_str()).into_owned();
        }
        text
    }
}

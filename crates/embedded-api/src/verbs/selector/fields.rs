//! Field selectors: `metadata.name=a,spec.nodeName!=n-1`.

use crate::resource::Resource;
use crate::schema::Type;
use crate::store::Object;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    place: Place,
    equal: bool,
    value: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Name,
    Namespace,
    /// Path, with the value of an object that lacks it.
    Path(String, &'static str),
}

const OF_EVENTS: [(&str, &str); 2] = [
    ("regarding.", "involvedObject."),
    ("reportingController", "reportingComponent"),
];

impl Field {
    pub(super) fn matches(&self, object: &Object) -> bool {
        let value = match &self.place {
            Place::Name => &object.key.name,
            Place::Namespace => &object.key.namespace,
            Place::Path(path, default) => object.facts.field(path).unwrap_or(default),
        };
        (value == self.value) == self.equal
    }
}

pub(super) fn parse(text: &str, resource: &Resource) -> Result<Vec<Field>, String> {
    let mut fields = Vec::new();
    for term in terms(text) {
        if term.is_empty() {
            continue;
        }
        let cut = ["!=", "==", "="]
            .iter()
            .filter_map(|sign| term.find(sign).map(|at| (at, *sign)));
        // Where two operators start at the same place, the longer one is meant; it comes first.
        let Some((at, sign)) = cut.min_by_key(|(at, _)| *at) else {
            return Err(format!("invalid selector: '{text}'; can't understand '{term}'"));
        };
        let (path, value) = (&term[..at], &term[at + sign.len()..]);
        fields.push(Field {
            value: unescaped(value)?,
            place: place(path, resource).ok_or_else(|| format!("field label not supported: {path}"))?,
            equal: sign != "!=",
        });
    }
    Ok(fields)
}

fn place(path: &str, resource: &Resource) -> Option<Place> {
    match path {
        "metadata.name" => return Some(Place::Name),
        "metadata.namespace" if resource.namespaced || !resource.custom => return Some(Place::Namespace),
        _ => {}
    }
    if !resource.selectable_fields.iter().any(|field| field == path) {
        return None;
    }
    let default = match type_at(resource, path) {
        Some(Type::Boolean) if !resource.custom => "false",
        _ => "",
    };
    let alias = OF_EVENTS.iter().find_map(|(shown, stored)| {
        let rest = path.strip_prefix(shown)?;
        Some(format!("{stored}{rest}"))
    });
    Some(Place::Path(alias.unwrap_or_else(|| path.to_owned()), default))
}

fn type_at(resource: &Resource, path: &str) -> Option<Type> {
    let schema = path
        .split('.')
        .try_fold(&*resource.schema, |schema, part| schema.properties.get(part));
    schema.and_then(|schema| schema.type_)
}

fn terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(next @ ('\\' | ',' | '=')) => plain.push(next),
                _ => {
                    return Err(format!(
                        "the value {text:?} has a backslash before another letter than \\\\ , and ="
                    ));
                }
            },
            ',' | '=' => {
                return Err(format!(
                    "the value {text:?} has a comma or = without a backslash before it"
                ));
            }
            other => plain.push(other),
        }
    }
    Ok(plain)
}

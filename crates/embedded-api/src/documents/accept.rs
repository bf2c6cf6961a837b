//! Representation of an answer by the client's `Accept` header: the first of those listed there, best first, that is
//! served here. kubectl asks for a table and then for plain JSON, typed clients for protobuf and then for JSON.

use crate::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Representation {
    pub format: Format,
    pub shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Yaml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Whole,
    Table(&'static str),
    Partial(&'static str),
    PartialList(&'static str),
    AggregatedDiscovery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requested {
    Object,
    List,
    Watch,
    Groups,
    Document,
}

impl Format {
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

impl Representation {
    pub const JSON: Self = Self {
        format: Format::Json,
        shape: Shape::Whole,
    };

    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self.shape {
            Shape::AggregatedDiscovery => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            _ => self.format.media_type(),
        }
    }
}

struct Clause<'a> {
    type_: &'a str,
    subtype: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

/// An empty header accepts anything. Errors: 406 when nothing that the client understands is served.
pub fn choose(accept: &str, requested: Requested) -> Result<Representation, Refusal> {
    if accept.trim().is_empty() {
        return Ok(Representation::JSON);
    }
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(clause).collect();
    // Best first; among equals a named type before a wildcard, then in the client's order.
    let rank = |clause: &Clause<'_>| (clause.type_ == "*", clause.subtype == "*");
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality).then(rank(a).cmp(&rank(b))));
    let found = clauses
        .iter()
        .filter(|clause| clause.quality > 0.0)
        .find_map(|clause| offer(clause, requested));
    found
        .ok_or_else(|| refusal(requested))
        .and_then(|found| fitting(found, requested))
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let (type_, subtype) = parts.next()?.split_once('/')?;
    let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
    let quality = parameters.iter().find(|(name, _)| *name == "q");
    let quality = quality.and_then(|(_, value)| value.parse().ok()).unwrap_or(1.0);
    Some(Clause {
        type_,
        subtype,
        quality,
        parameters,
    })
}

impl Clause<'_> {
    fn parameter(&self, name: &str) -> &str {
        let found = self.parameters.iter().find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| *value)
    }
}

fn offer(clause: &Clause<'_>, requested: Requested) -> Option<Representation> {
    let format = match (clause.type_, clause.subtype) {
        ("*" | "application", "*") | ("application", "json") => Format::Json,
        ("application", "yaml") if requested != Requested::Watch => Format::Yaml,
        _ => return None,
    };
    let stream = clause.parameter("stream");
    if !stream.is_empty() && stream != "watch" {
        return None;
    }
    let version = match clause.parameter("v") {
        "v1" => "v1",
        "v1beta1" => "v1beta1",
        _ => "",
    };
    let of_objects = matches!(requested, Requested::Object | Requested::List | Requested::Watch);
    let of_meta = of_objects && clause.parameter("g") == "meta.k8s.io" && !version.is_empty();
    let of_discovery = requested == Requested::Groups
        && format == Format::Json
        && (clause.parameter("g"), clause.parameter("v")) == ("apidiscovery.k8s.io", "v2");
    let shape = match clause.parameter("as") {
        "" => Shape::Whole,
        "Table" if of_meta => Shape::Table(version),
        "PartialObjectMetadata" if of_meta => Shape::Partial(version),
        "PartialObjectMetadataList" if of_meta => Shape::PartialList(version),
        "APIGroupDiscoveryList" if of_discovery => Shape::AggregatedDiscovery,
        _ => return None,
    };
    Some(Representation { format, shape })
}

/// A list is not an object and an object is not a list; a watch sends objects.
fn fitting(found: Representation, requested: Requested) -> Result<Representation, Refusal> {
    let (requested_kind, actual) = match (found.shape, requested) {
        (Shape::Partial(_), Requested::List) => ("PartialObjectMetadata", "a list"),
        (Shape::PartialList(_), Requested::Object) => ("PartialObjectMetadataList", "not a list"),
        (Shape::PartialList(version), Requested::Watch) => {
            return Ok(Representation {
                shape: Shape::Partial(version),
                ..found
            });
        }
        _ => return Ok(found),
    };
    Err(Refusal::new(
        406,
        "NotAcceptable",
        format!("you requested {requested_kind}, but the requested object is {actual}"),
    ))
}

fn refusal(requested: Requested) -> Refusal {
    let served = match requested {
        Requested::Watch => "application/json;stream=watch",
        _ => "application/json, application/yaml",
    };
    Refusal::new(
        406,
        "NotAcceptable",
        format!("only the following media types are accepted: {served}"),
    )
}

#[cfg(test)]
mod tests;

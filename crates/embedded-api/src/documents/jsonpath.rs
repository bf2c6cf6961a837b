//! The JSONPath of printer columns, read as RFC 9535. Kubernetes' dialect differs in names with dashes or escaped dots:
//! such a path is refused; in RFC 9535 it is `.metadata.labels['a.b/c-d']`.

use serde_json::Value;
use serde_json_path::JsonPath;

#[derive(Debug, PartialEq, thiserror::Error)]
#[error(
    "JSONPath {path:?} is not understood: {why}; write it as .spec.name or .status.list[?(@.name==\"value\")].value"
)]
pub struct PathError {
    path: String,
    why: String,
}

#[derive(Clone, Debug)]
pub struct Path(JsonPath);

impl Path {
    pub fn new(path: &str) -> Result<Self, PathError> {
        let error = |why: String| PathError {
            path: path.to_owned(),
            why,
        };
        if !path.starts_with('.') {
            return Err(error("it does not begin with a dot".to_owned()));
        }
        let parsed = JsonPath::parse(&format!("${path}"));
        parsed.map(Self).map_err(|why| error(why.to_string()))
    }

    #[must_use]
    pub fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.0.query(object).first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_find_what_kubernetes_finds() {
        let object = json!({
            "a": [1, "two"], "none": null, "o": {"x": 1}, "labels": {"a.b/c-d": "label"},
            "l": [{"type": "x", "v": 1}, {"type": "y", "v": 2}],
        });
        let cases = [
            (".o.x", json!(1)),
            (".a", json!([1, "two"])),
            (".a[0]", json!(1)),
            (".a[9]", Value::Null),
            (".a[*]", json!(1)),
            (".none", Value::Null),
            (".q.r", Value::Null),
            (".labels['a.b/c-d']", json!("label")),
            (r#".l[?(@.type=="y")].v"#, json!(2)),
            (r#".l[?(@.type=="nothing")].v"#, Value::Null),
        ];
        for (path, value) in cases {
            let found = Path::new(path).map(|path| path.first(&object).cloned().unwrap_or_default());
            assert_eq!(found, Ok(value), "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in [
            "status.phase",
            ".a[0",
            ".l[?(@.k=='y'].v",
            ".a[x]",
            ".a b",
            ".d-ash",
            r".a\.b",
        ] {
            assert!(Path::new(path).is_err(), "{path}");
        }
    }
}

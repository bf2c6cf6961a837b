//! The `fieldPath` of a rule: which field of the value the message names.
//!
//! Owns: reading `.spec.nodeName` and `.labels['a.b']` against the schema. Must not: read objects.

use crate::schema::Schema;

/// The path as messages write it, without a leading dot; or what is wrong with it.
pub(super) fn within(path: &str, schema: &Schema) -> Result<String, String> {
    let mut rest = path;
    let mut schema = schema;
    let mut out = String::new();
    while !rest.is_empty() {
        let (name, after) = step(rest).ok_or_else(|| format!("{path:?} is no path of fields"))?;
        let (next, is_field) = match (schema.properties.get(name.as_str()), schema.additional.as_deref()) {
            (Some(inner), _) => (inner, true),
            (None, Some(inner)) if schema.properties.is_empty() => (inner, false),
            (None, _) => return Err(format!("{path:?} does not refer to a field of the schema")),
        };
        if is_field {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
        } else {
            out.push_str(&format!("[{name}]"));
        }
        schema = next;
        rest = after;
    }
    Ok(out)
}

/// The first name of a path, and the text after it.
fn step(path: &str) -> Option<(String, &str)> {
    if let Some(behind) = path.strip_prefix('.') {
        let end = behind.find(['.', '[']).unwrap_or(behind.len());
        let (name, after) = behind.split_at_checked(end)?;
        return (!name.is_empty()).then(|| (name.to_owned(), after));
    }
    let behind = path.strip_prefix("['")?;
    let mut name = String::new();
    let mut chars = behind.char_indices();
    while let Some((at, each)) = chars.next() {
        match each {
            '\'' => return Some((name, behind.get(at..)?.strip_prefix("']")?)),
            '\\' => match chars.next()?.1 {
                escaped @ ('\'' | '\\') => name.push(escaped),
                'n' => name.push('\n'),
                'r' => name.push('\r'),
                't' => name.push('\t'),
                _ => return None,
            },
            _ => name.push(each),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_are_read_against_the_schema() {
        let schema = Schema::parse(&json!({"properties": {
            "a": {"properties": {"b-c": {}, "d.e": {}}},
            "m": {"additionalProperties": {"properties": {"x": {}}}},
        }}))
        .unwrap();
        let cases = [
            (".a", Ok("a")),
            (".a.b-c", Ok("a.b-c")),
            (".a['b-c']", Ok("a.b-c")),
            (".a['d.e']", Ok("a.d.e")),
            (".m.k.x", Ok("m[k].x")),
            (".m['it\\'s']", Ok("m[it's]")),
            (".z", Err("does not refer")),
            (".a.", Err("is no path")),
            ("a", Err("is no path")),
            (".a['b", Err("is no path")),
        ];
        for (path, wanted) in cases {
            match (within(path, &schema), wanted) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted),
                (Err(found), Err(wanted)) => assert!(found.contains(wanted), "{path}: {found}"),
                (found, _) => panic!("{path}: {found:?}"),
            }
        }
    }
}

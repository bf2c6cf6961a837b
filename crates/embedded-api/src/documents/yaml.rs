//! An answer as YAML, for clients that prefer it.
//!
//! Owns: the rewriting. Must not: be used for watches, which are JSON.

use crate::refusal::Refusal;
use bytes::Bytes;
use serde_json::Value;

/// A JSON document as YAML.
///
/// # Errors
/// 500 when `json` is not JSON, which would be a bug.
pub fn of(json: &[u8]) -> Result<Bytes, Refusal> {
    let fault = |error: &dyn std::fmt::Display| Refusal::internal(format!("an answer could not be written: {error}"));
    let document: Value = serde_json::from_slice(json).map_err(|error| fault(&error))?;
    let text = serde_saphyr::to_string(&document).map_err(|error| fault(&error))?;
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn yaml_says_the_same_as_json() {
        let document = json!({
            "kind": "Boat", "spec": {"crew": 3, "length": 2.5, "afloat": true, "harbour": null, "notes": []},
            "texts": ["true", "3", "", "a: b", "- c", "two\nlines", "2026-11-21T05:00:00Z", "no", "0x10", "1e3", "~"],
        });
        let yaml = of(document.to_string().as_bytes()).expect("written");
        let yaml = std::str::from_utf8(&yaml).expect("text");
        let back: Value = serde_saphyr::from_str(yaml).expect("YAML");
        assert_eq!(back, document, "{yaml}");
        assert!(
            yaml.contains("\"no\"") || yaml.contains("'no'"),
            "older readers take it for false: {yaml}"
        );
    }

    #[test]
    fn what_is_no_json_is_our_fault() {
        assert_eq!(of(b"{").map_err(|refusal| refusal.code), Err(500));
    }
}

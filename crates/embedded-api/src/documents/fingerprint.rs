//! Short hash of a document's content, for ETags and for links that change with their target.

use std::hash::{DefaultHasher, Hasher};

#[must_use]
pub fn of(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    format!("{:016X}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_content_has_another_name() {
        assert_eq!(of(b"a").len(), 16);
        assert_eq!(of(b"a"), of(b"a"));
        assert_ne!(of(b"a"), of(b"b"));
    }
}

//! The page of `skein map`, as files in the binary. [FEED.md](../FEED.md) says what its server has to serve it.
//!
//! Owns: the page (TypeScript, built by npm from its lockfile when this crate is built), and the reason if it is not there.
//! Must not: serve it.

/// A file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Its path below the root, such as `assets/page.js`.
    pub path: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// What is in it.
    pub bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The page itself.
pub const INDEX: &str = "index.html";

/// The file at `path`, below the root and without a slash before it.
#[must_use]
pub fn file(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

/// Why there is no page in this binary, and how to get it; `None`: it is there.
#[must_use]
pub fn missing() -> Option<String> {
    MISSING.map(|why| {
        format!(
            "this skein was built without the page of the map: {why}. Build it again where Node.js 20 or newer with npm and the npm \
             registry can be used: SKEIN_MAP_PAGE=require cargo build"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_or_the_reason_is_known() {
        assert_eq!(missing().is_none(), file(INDEX).is_some());
        assert_eq!(file("../Cargo.toml"), None);
        for file in FILES {
            assert!(!file.bytes.is_empty() && file.media_type.contains('/'), "{}", file.path);
        }
    }

    /// What the page decides by itself, in its own language, where it was built with its packages.
    #[test]
    fn the_tests_of_the_page_pass() {
        assert_eq!(missing(), None);
        let output = std::process::Command::new("npm")
            .args(["run", "--silent", "test"])
            .current_dir(concat!(env!("OUT_DIR"), "/page"))
            .output()
            .expect("npm is there");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("# pass") && !text.contains("# pass 0"),
            "{text}"
        );
    }
}

//! The page of `skein map` (TypeScript) as files in the binary, or why it is missing. [FEED.md](../FEED.md) says what a
//! server has to serve. Must not: serve it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Below the root, such as `assets/page.js`.
    pub path: &'static str,
    pub media_type: &'static str,
    pub bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

pub const INDEX: &str = "index.html";

/// `path`: below the root and without a slash before it.
pub fn file(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

/// With how to get the page; `None`: it is there.
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
    use std::path::Path;

    #[test]
    fn the_page_is_whole_or_the_reason_is_known() {
        assert_eq!(missing().is_none(), file(INDEX).is_some());
        assert_eq!(file("../Cargo.toml"), None);
        for file in FILES {
            assert!(!file.bytes.is_empty() && file.media_type.contains('/'), "{}", file.path);
        }
    }

    /// Reproducible releases depend on it.
    #[test]
    fn the_page_is_the_same_byte_for_byte_from_another_folder() {
        assert_eq!(missing(), None);
        let built = Path::new(concat!(env!("OUT_DIR"), "/page"));
        let other = Path::new(concat!(env!("OUT_DIR"), "/again/in/another/folder"));
        let _ = std::fs::remove_dir_all(other);
        std::fs::create_dir_all(other.join("ts")).unwrap();
        for name in [
            "package.json",
            "tsconfig.json",
            "build.mjs",
            "index.html",
            "favicon.svg",
        ] {
            std::fs::copy(built.join(name), other.join(name)).unwrap();
        }
        for file in std::fs::read_dir(built.join("ts")).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), other.join("ts").join(file.file_name())).unwrap();
        }
        std::os::unix::fs::symlink(built.join("node_modules"), other.join("node_modules")).unwrap();
        let node = std::process::Command::new("node")
            .arg("build.mjs")
            .current_dir(other)
            .status();
        assert!(node.unwrap().success());
        assert!(FILES.len() > 3);
        for file in FILES {
            let again = std::fs::read(other.join("dist").join(file.path)).unwrap();
            assert!(again == file.bytes, "{} differs", file.path);
        }
    }

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

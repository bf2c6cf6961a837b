//! Which Skein this is, as `--version` says it.

use std::sync::LazyLock;

static VERSION: LazyLock<String> =
    LazyLock::new(|| with_commit(env!("CARGO_PKG_VERSION"), option_env!("SKEIN_COMMIT")));

/// With the commit in brackets where the build got it: `0.1.0 (4be1f0c2a9d3)`.
pub fn version() -> &'static str {
    &VERSION
}

fn with_commit(version: &str, commit: Option<&str>) -> String {
    match commit {
        Some(commit) if !commit.is_empty() => format!("{version} ({commit})"),
        _ => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_names_its_commit_only_where_it_is_known() {
        assert_eq!(with_commit("1.2.3", Some("4be1f0c2a9d3")), "1.2.3 (4be1f0c2a9d3)");
        assert_eq!(with_commit("1.2.3", Some("")), "1.2.3");
        assert_eq!(with_commit("1.2.3", None), "1.2.3");
    }
}

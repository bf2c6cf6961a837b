//! Paths, and what they name.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    Paths,
    /// `/healthz`, `/livez`, and paths below them and below `/readyz`.
    Health,
    Ready,
    Version,
    CoreVersions,
    Groups,
    Group(String),
    /// The core group is empty.
    GroupVersion {
        group: String,
        version: String,
    },
    OpenApiV2,
    /// Group and version below it: `apis/skein.dev/v1alpha1`, or empty for the index.
    OpenApiV3(String),
    Objects(Target),
    Unknown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub subresource: Option<String>,
}

#[must_use]
pub fn route(path: &str) -> Route {
    let Some(path) = path.strip_prefix('/') else {
        return Route::Unknown;
    };
    let parts: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
    match parts.as_slice() {
        [""] => Route::Paths,
        ["readyz"] if !path.ends_with('/') => Route::Ready,
        ["healthz" | "livez" | "readyz", ..] if !path.ends_with('/') => Route::Health,
        ["version"] => Route::Version,
        ["openapi", "v2"] => Route::OpenApiV2,
        ["openapi", "v3", rest @ ..] => Route::OpenApiV3(rest.join("/")),
        all if all.iter().any(|part| part.is_empty()) => Route::Unknown,
        ["api"] => Route::CoreVersions,
        ["apis"] => Route::Groups,
        ["apis", group] => Route::Group((*group).to_owned()),
        ["api", version, rest @ ..] => below("", version, rest),
        ["apis", group, version, rest @ ..] => below(group, version, rest),
        _ => Route::Unknown,
    }
}

fn below(group: &str, version: &str, rest: &[&str]) -> Route {
    let target = |plural: &str, namespace: Option<&str>, more: &[&str]| {
        let owned = |index: usize| more.get(index).map(|&part| part.to_owned());
        Route::Objects(Target {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: owned(0),
            subresource: owned(1),
        })
    };
    match rest {
        [] => Route::GroupVersion {
            group: group.to_owned(),
            version: version.to_owned(),
        },
        // A namespace has subresources of its own, which look like kinds within it.
        ["namespaces", name, part @ ("status" | "finalize")] => target("namespaces", None, &[name, part]),
        ["namespaces", namespace, plural, more @ ..] if more.len() <= 2 => target(plural, Some(namespace), more),
        ["namespaces", _, _, ..] => Route::Unknown,
        [plural, more @ ..] if more.len() <= 2 => target(plural, None, more),
        _ => Route::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(path: &str) -> (String, String, String, [Option<String>; 3]) {
        match route(path) {
            Route::Objects(to) => (to.group, to.version, to.plural, [to.namespace, to.name, to.subresource]),
            other => panic!("{path} is {other:?}"),
        }
    }

    fn parts(parts: [&str; 3]) -> [Option<String>; 3] {
        parts.map(|part| (!part.is_empty()).then(|| part.to_owned()))
    }

    #[test]
    fn paths_name_objects() {
        let table = [
            ("/api/v1/nodes", ("", "v1", "nodes", ["", "", ""])),
            ("/api/v1/nodes/n-1", ("", "v1", "nodes", ["", "n-1", ""])),
            ("/api/v1/nodes/n-1/status", ("", "v1", "nodes", ["", "n-1", "status"])),
            ("/api/v1/namespaces", ("", "v1", "namespaces", ["", "", ""])),
            ("/api/v1/namespaces/x", ("", "v1", "namespaces", ["", "x", ""])),
            (
                "/api/v1/namespaces/x/status",
                ("", "v1", "namespaces", ["", "x", "status"]),
            ),
            (
                "/api/v1/namespaces/x/finalize",
                ("", "v1", "namespaces", ["", "x", "finalize"]),
            ),
            ("/api/v1/namespaces/x/events", ("", "v1", "events", ["x", "", ""])),
            (
                "/api/v1/namespaces/x/events/status",
                ("", "v1", "events", ["x", "status", ""]),
            ),
            ("/apis/a.dev/v1/things", ("a.dev", "v1", "things", ["", "", ""])),
            (
                "/apis/a.dev/v1/namespaces/x/things/t/scale",
                ("a.dev", "v1", "things", ["x", "t", "scale"]),
            ),
            (
                "/apis/a.dev/v1/namespaces/x/things/t/",
                ("a.dev", "v1", "things", ["x", "t", ""]),
            ),
        ];
        for (path, (group, version, plural, rest)) in table {
            let expected = (group.to_owned(), version.to_owned(), plural.to_owned(), parts(rest));
            assert_eq!(objects(path), expected, "{path}");
        }
    }

    #[test]
    fn documents_have_paths_of_their_own() {
        let table = [
            ("/", Route::Paths),
            ("/api", Route::CoreVersions),
            ("/api/", Route::CoreVersions),
            ("/apis", Route::Groups),
            ("/apis/a.dev", Route::Group("a.dev".to_owned())),
            ("/version", Route::Version),
            ("/livez", Route::Health),
            ("/readyz", Route::Ready),
            ("/readyz/ping", Route::Health),
            ("/openapi/v2", Route::OpenApiV2),
            ("/openapi/v3", Route::OpenApiV3(String::new())),
            (
                "/openapi/v3/apis/a.dev/v1",
                Route::OpenApiV3("apis/a.dev/v1".to_owned()),
            ),
        ];
        for (path, expected) in table {
            assert_eq!(route(path), expected, "{path}");
        }
        let core = Route::GroupVersion {
            group: String::new(),
            version: "v1".to_owned(),
        };
        assert_eq!(route("/api/v1"), core);
    }

    #[test]
    fn other_paths_are_unknown() {
        let all = [
            "",
            "x",
            "/nowhere",
            "/healthz/",
            "/apis//x",
            "/api//nodes",
            "/api/v1/nodes/a/b/c",
            "/api/v1/namespaces/x/y/z/a/b",
        ];
        for path in all {
            assert_eq!(route(path), Route::Unknown, "{path}");
        }
    }
}

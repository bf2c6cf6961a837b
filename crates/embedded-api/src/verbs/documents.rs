//! Documents that are not objects: discovery, OpenAPI, the version, health.

use super::answer;
use super::core::Core;
use super::route::Route;
use crate::discovery;
use crate::documents::accept::{Representation, Requested, Shape, choose};
use crate::documents::fingerprint;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};

pub(super) fn answer(core: &Core, route: &Route, request: &ApiRequest) -> Option<Result<Answer, Refusal>> {
    if matches!(route, Route::Objects(_)) {
        return None;
    }
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Some(match route {
            Route::Unknown => Ok(answer::no_such_page()),
            _ => Err(answer::method_not_allowed()),
        });
    }
    Some(match route {
        Route::Health => Ok(answer::text(StatusCode::OK, "ok")),
        Route::Ready => Ok(ready(core.store.failing())),
        Route::Paths => document(request, Some(paths(core))),
        Route::Version => document(request, Some(discovery::version())),
        Route::CoreVersions => groups(core, true, request),
        Route::Groups => groups(core, false, request),
        Route::Group(name) => document(request, discovery::group(&core.registry, name)),
        Route::GroupVersion { group, version } => {
            let found = discovery::resources(&core.registry, group, version);
            match (found, group.as_str()) {
                (None, "") => Err(answer::no_such_resource()),
                (found, _) => document(request, found),
            }
        }
        Route::OpenApiV3(path) => {
            let found = match path.as_str() {
                "" => Some(core.openapi.index()),
                path => core.openapi.document(path),
            };
            Ok(found.map_or_else(answer::no_such_page, tagged))
        }
        Route::OpenApiV2 => Ok(openapi_v2(request)),
        Route::Unknown | Route::Objects(_) => Ok(answer::no_such_page()),
    })
}

/// Not ready while the disk fails; the process is alive, and objects can be read.
fn ready(failing: Option<String>) -> Answer {
    match failing {
        None => answer::text(StatusCode::OK, "ok"),
        Some(why) => {
            let message = format!("[-]objects cannot be kept: {why}\nreadyz check failed\n");
            answer::text(StatusCode::INTERNAL_SERVER_ERROR, &message)
        }
    }
}

fn document(request: &ApiRequest, found: Option<Value>) -> Result<Answer, Refusal> {
    let Some(value) = found else {
        return Ok(answer::no_such_page());
    };
    let as_ = choose(&request.accept, Requested::Document)?;
    Ok(answer::document(StatusCode::OK, as_, value.to_string().into()))
}

fn groups(core: &Core, of_core: bool, request: &ApiRequest) -> Result<Answer, Refusal> {
    let as_ = choose(&request.accept, Requested::Groups)?;
    if as_.shape == Shape::AggregatedDiscovery {
        let (value, tag) = discovery::aggregated(&core.registry, of_core);
        let mut answer = answer::document(StatusCode::OK, as_, value.to_string().into());
        answer.headers.push(("etag", tag));
        answer.headers.push(("vary", "Accept".to_owned()));
        return Ok(answer);
    }
    let value = match of_core {
        true => discovery::core_versions(&core.registry),
        false => discovery::groups(&core.registry),
    };
    Ok(answer::document(StatusCode::OK, as_, value.to_string().into()))
}

/// Empty: kubectl searches it for kinds in no version 3 document, such as a `List` in a file, and checks only what it
/// finds.
fn openapi_v2(request: &ApiRequest) -> Answer {
    const ACCEPT: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    // The requested name has a character that a `Content-Type` cannot contain.
    const CONTENT_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    if request.accept.contains(ACCEPT) {
        return Answer {
            content_type: CONTENT_TYPE.to_owned(),
            ..answer::text(StatusCode::OK, "")
        };
    }
    let info = json!({"title": "see /openapi/v3", "version": discovery::GIT_VERSION});
    answer::json(StatusCode::OK, &json!({"swagger": "2.0", "info": info, "paths": {}}))
}

fn tagged(json: Bytes) -> Answer {
    let tag = format!("\"{}\"", fingerprint::of(&json));
    let mut answer = answer::document(StatusCode::OK, Representation::JSON, json);
    answer.headers.push(("etag", tag));
    answer
}

fn paths(core: &Core) -> Value {
    let mut paths = vec!["/api".to_owned(), "/apis".to_owned()];
    for kind in core.registry.iter() {
        let (group, version) = (&kind.group, &kind.version);
        match group.is_empty() {
            true => paths.push(format!("/api/{version}")),
            false => paths.extend([format!("/apis/{group}"), format!("/apis/{group}/{version}")]),
        }
    }
    paths.extend(["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    paths.sort_unstable();
    paths.dedup();
    json!({"paths": paths})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Body;

    #[test]
    fn it_is_ready_when_the_disk_takes_what_is_written() {
        let readiness = |failing: Option<&str>| {
            let answer = ready(failing.map(str::to_owned));
            let Body::Whole(text) = answer.body else {
                panic!("a stream")
            };
            (answer.code.as_u16(), String::from_utf8_lossy(&text).into_owned())
        };
        assert_eq!(readiness(None), (200, "ok".to_owned()));
        let (code, text) = readiness(Some("the disk of /data is full"));
        assert_eq!(code, 500);
        assert_eq!(
            text,
            "[-]objects cannot be kept: the disk of /data is full\nreadyz check failed\n"
        );
    }
}

//! Rules of Events: the old form only has to be about an object in its own namespace; the new form, with an
//! `eventTime`, names its reporter. The group `events.k8s.io` accepts the new form only.

use crate::refusal::Cause;
use crate::resource::Resource;
use crate::schema::cause;
use crate::schema::metadata::{names, text, wrong};
use serde_json::Value;

/// Namespaces in which an Event may be about an object without a namespace.
const FOR_ALL: [&str; 2] = ["default", "kube-system"];
const LONGEST_NOTE: usize = 1024;
const LONGEST_TEXT: usize = 128;

pub(super) fn check(resource: &Resource, event: &Value, is_created: bool, causes: &mut Vec<Cause>) {
    let newer = resource.group == "events.k8s.io";
    let (about, reporter, note) = match newer {
        true => ("regarding", "reportingController", "note"),
        false => ("involvedObject", "reportingComponent", "message"),
    };
    let has_time = event.get("eventTime").is_some_and(|time| !time.is_null());
    about_namespace(event, event.get(about), has_time, causes);
    if has_time {
        let name = text(event, reporter);
        if name.is_empty() {
            causes.push(cause::required(reporter, ""));
        }
        wrong(reporter, name, names::label_key(name), causes);
        for key in ["reportingInstance", "action", "reason"] {
            match text(event, key) {
                "" => causes.push(cause::required(key, "")),
                word => at_most(LONGEST_TEXT, key, word, causes),
            }
        }
        at_most(LONGEST_NOTE, "message", text(event, note), causes);
    }
    if newer && is_created {
        if !has_time {
            causes.push(cause::required("eventTime", ""));
        }
        let type_ = text(event, "type");
        if !["Normal", "Warning"].contains(&type_) {
            causes.push(cause::invalid("type", &type_.into(), "must be Normal or Warning"));
        }
    }
}

fn about_namespace(event: &Value, about: Option<&Value>, has_time: bool, causes: &mut Vec<Cause>) {
    let about = about.map_or("", |about| text(about, "namespace"));
    let own = event.get("metadata").map_or("", |metadata| text(metadata, "namespace"));
    let elsewhere = match (about.is_empty(), has_time) {
        _ if own.is_empty() => false,
        (true, true) => !FOR_ALL.contains(&own),
        (true, false) => own != "default",
        (false, true) => false,
        (false, false) => about != own,
    };
    if elsewhere {
        let detail = "must be the namespace of the Event";
        causes.push(cause::invalid("involvedObject.namespace", &about.into(), detail));
    }
}

fn at_most(most: usize, field: &str, text: &str, causes: &mut Vec<Cause>) {
    if text.len() > most {
        let detail = format!("must have at most {most} bytes");
        causes.push(cause::invalid(field, &Value::Null, &detail));
    }
}

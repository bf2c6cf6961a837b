//! One case on one server: it sends requests, and the answers are recorded.

use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::client::Body;
use serde_json::{Map, Value, json};

use crate::side::{PATIENCE, Side};

pub const JSON_PATCH: &str = "application/json-patch+json";
pub const MERGE: &str = "application/merge-patch+json";
pub const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub const APPLY: &str = "application/apply-patch+yaml";

const HEADERS: [&str; 5] = ["content-type", "warning", "www-authenticate", "allow", "retry-after"];

pub struct Step {
    pub action: String,
    pub result: Value,
}

pub struct Session {
    side: &'static Side,
    pub steps: Vec<Step>,
    pub random: Vec<String>,
    ns: String,
}

pub struct Answer {
    pub code: u16,
    pub body: Value,
}

impl Answer {
    /// The object's resourceVersion, or the list's.
    pub fn version(&self) -> String {
        let version = self.body["metadata"]["resourceVersion"].as_str();
        version
            .unwrap_or_else(|| panic!("no resourceVersion in {}", self.body))
            .to_owned()
    }

    pub fn uid(&self) -> String {
        self.body["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
    }
}

pub struct RequestBuilder<'a> {
    session: &'a mut Session,
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    known: bool,
    quiet: bool,
    description: String,
}

impl Session {
    pub fn new(side: &'static Side, case: &str) -> Self {
        let ns = format!("c-{:08x}", hash(case));
        let mut session = Self {
            side,
            steps: Vec::new(),
            random: Vec::new(),
            ns: ns.clone(),
        };
        let created = session.request("POST", "/api/v1/namespaces").quietly();
        let created = created.json(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}}));
        let created = created.send();
        assert!([201, 409].contains(&created.code), "no namespace: {}", created.body);
        session
    }

    /// The namespace of this case; also a prefix for names of objects without a namespace.
    pub fn ns(&self) -> &str {
        &self.ns
    }

    pub fn side(&self) -> &'static Side {
        self.side
    }

    pub fn drone(&self, name: &str) -> String {
        self.at("/apis/skein.dev/v1alpha1", "drones", name)
    }

    pub fn swarm(&self, name: &str) -> String {
        self.at("/apis/skein.dev/v1alpha1", "swarms", name)
    }

    pub fn at(&self, api: &str, plural: &str, name: &str) -> String {
        let path = format!("{api}/namespaces/{}/{plural}/{name}", self.ns);
        path.trim_end_matches('/').to_owned()
    }

    pub fn request(&mut self, method: &str, path: impl Into<String>) -> RequestBuilder<'_> {
        let path = path.into();
        RequestBuilder {
            description: format!("{method} {path}"),
            session: self,
            method: method.parse().unwrap(),
            path,
            headers: vec![("user-agent", "case/1.0".to_owned())],
            body: Vec::new(),
            known: true,
            quiet: false,
        }
    }

    pub fn get(&mut self, path: impl Into<String>) -> Answer {
        self.request("GET", path).send()
    }

    pub fn post(&mut self, path: impl Into<String>, body: &Value) -> Answer {
        self.request("POST", path).json(body).send()
    }

    pub fn put(&mut self, path: impl Into<String>, body: &Value) -> Answer {
        self.request("PUT", path).json(body).send()
    }

    pub fn delete(&mut self, path: impl Into<String>) -> Answer {
        self.request("DELETE", path).send()
    }

    pub fn delete_with(&mut self, path: impl Into<String>, options: &Value) -> Answer {
        let mut options = options.clone();
        options["apiVersion"] = "v1".into();
        options["kind"] = "DeleteOptions".into();
        self.request("DELETE", path).json(&options).send()
    }

    pub fn patch(&mut self, media: &str, path: impl Into<String>, body: &Value) -> Answer {
        self.request("PATCH", path).text(media, body.to_string()).send()
    }

    pub fn given(&mut self, path: impl Into<String>, body: &Value) -> Answer {
        let answer = self.request("POST", path).json(body).quietly().send();
        assert_eq!(answer.code, 201, "{}", answer.body);
        answer
    }

    pub fn note(&mut self, action: &str, result: Value) {
        self.steps.push(Step {
            action: action.to_owned(),
            result,
        });
    }

    pub fn until(&mut self, what: &str, path: impl Into<String>, satisfied: impl Fn(&Answer) -> bool) -> Answer {
        let path = path.into();
        let start = Instant::now();
        loop {
            let answer = self.request("GET", path.clone()).quietly().send();
            if satisfied(&answer) {
                let mut body = answer.body.clone();
                // The order of background work may vary.
                if let Some(metadata) = body["metadata"].as_object_mut() {
                    metadata.remove("resourceVersion");
                }
                let result = json!({"code": answer.code, "body": body});
                self.note(&format!("until {what}: GET {path}"), result);
                return answer;
            }
            assert!(start.elapsed() < PATIENCE, "never came: {what}: {}", answer.body);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Events are recorded when they are taken.
    pub fn watch(&mut self, path: impl Into<String>) -> Watch {
        let path = path.into();
        let sign = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{sign}watch=true");
        let request = Request::get(&path)
            .header("user-agent", "case/1.0")
            .body(Body::empty())
            .unwrap();
        Watch::new(self.side, path, request)
    }

    pub fn watch_as(&mut self, accept: &str, path: impl Into<String>) -> Watch {
        let path = format!("{}&watch=true", path.into());
        let request = Request::get(&path)
            .header("accept", accept)
            .body(Body::empty())
            .unwrap();
        Watch::new(self.side, path, request)
    }

    pub fn watched(&mut self, path: impl Into<String>) -> Vec<Value> {
        self.watch(path).until_end(self)
    }
}

impl RequestBuilder<'_> {
    pub fn json(self, body: &Value) -> Self {
        // A server orders writers by the second first, so objects differ where one began between them.
        let mut described = body.clone();
        if let Some(Value::Array(writers)) = described.pointer_mut("/metadata/managedFields") {
            let text = |writer: &Value, key: &str| writer[key].as_str().unwrap_or_default().to_owned();
            writers.sort_by_key(|writer| ["subresource", "manager", "operation"].map(|key| text(writer, key)));
        }
        self.sent("application/json", body.to_string().into(), &described.to_string())
    }

    pub fn text(self, media: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let described = String::from_utf8_lossy(&body).into_owned();
        self.sent(media, body, &described)
    }

    fn sent(mut self, media: &str, body: Vec<u8>, described: &str) -> Self {
        self.body = body;
        let short = described.chars().take(300).collect::<String>();
        self.description += &format!(" {media} {short}");
        self.header("content-type", media)
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        if !["content-type", "user-agent"].contains(&name) {
            self.description += &format!(" [{name}: {value}]");
        }
        self
    }

    pub fn accept(self, value: &str) -> Self {
        self.header("accept", value)
    }

    pub fn anonymous(mut self) -> Self {
        self.known = false;
        self.description += " [no credential]";
        self
    }

    pub fn quietly(mut self) -> Self {
        self.quiet = true;
        self
    }

    pub fn send(self) -> Answer {
        self.send_and(|body| body)
    }

    pub fn send_and(self, part: impl Fn(Value) -> Value) -> Answer {
        let mut request = Request::builder().method(self.method).uri(&self.path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let side = self.session.side;
        let response = side.send(request.body(Body::from(self.body)).unwrap(), self.known);
        let (head, body) = response.into_parts();
        let bytes = side.read(body);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let code = head.status.as_u16();
        if !self.quiet {
            let mut headers = Map::new();
            for name in HEADERS {
                let all: Vec<_> = head
                    .headers
                    .get_all(name)
                    .iter()
                    .map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned())
                    .collect();
                if !all.is_empty() {
                    headers.insert(name.to_owned(), all.into());
                }
            }
            let result = json!({"code": code, "headers": headers, "body": part(body.clone())});
            self.session.note(&self.description, result);
        }
        Answer { code, body }
    }
}

pub struct Watch {
    side: &'static Side,
    path: String,
    code: u16,
    body: Body,
    rest: Vec<u8>,
}

impl Watch {
    fn new(side: &'static Side, path: String, request: Request<Body>) -> Self {
        let (head, body) = side.send(request, true).into_parts();
        Self {
            side,
            path,
            code: head.status.as_u16(),
            body,
            rest: Vec::new(),
        }
    }

    pub fn until(&mut self, session: &mut Session, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let mut events = Vec::new();
        while !enough(&events) {
            match self.next() {
                Some(event) => events.push(event),
                None => panic!("{} ended after {events:#?}", self.path),
            }
        }
        self.record(session, &events);
        events
    }

    pub fn take(&mut self, session: &mut Session, count: usize) -> Vec<Value> {
        self.until(session, |events| events.len() == count)
    }

    pub fn until_end(mut self, session: &mut Session) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next() {
            events.push(event);
        }
        self.record(session, &events);
        events
    }

    fn record(&self, session: &mut Session, events: &[Value]) {
        let result = json!({"code": self.code, "events": events});
        session.note(&format!("WATCH {}", self.path), result);
    }

    fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let text = String::from_utf8_lossy(&line);
                return Some(serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned())));
            }
            match self.side.piece(&mut self.body) {
                Some(more) => self.rest.extend(more),
                None if self.rest.is_empty() => return None,
                None => self.rest.push(b'\n'),
            }
        }
    }
}

/// FNV-1a, 32 bits: the same name for the same case on both servers and in each run.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

//! Admission of the one browser that got the address, and of no other page in it.
//!
//! | against | check |
//! |---|---|
//! | another user of this machine, another program | token of 256 random bits in the fragment of the address, good once; then a session that the page sends in a header. No cookie: a browser sends those to all ports of a host |
//! | a page elsewhere whose name leads here (DNS rebinding) | `Host` is the address that was printed |
//! | a page elsewhere that sends requests here | `Origin` and `Sec-Fetch-Site` are this page's own; `POST` needs `Origin` |
//! | a page elsewhere that leads a browser here | the page is given to a navigation from elsewhere with the door key only, which is in the file that a browser is opened with |
//! | what gets into this page all the same | `Content-Security-Policy`: scripts, styles and requests of this server only |

use super::json_answer::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Own scripts and workers, and requests to this server. MapLibre makes images and its worker from blobs.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
    font-src 'self'; connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    ),
    (header::CACHE_CONTROL, "no-store"),
];

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

const DOOR: &str = "door=";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("this is not the address that `skein map` printed; open that one")]
    Host,
    #[error("requests of other pages are not answered; open the address that `skein map` printed")]
    Foreign,
    #[error(
        "this address is wrong, or was opened before, and it is good once; if you did not open it, somebody else did: end `skein map`, and run it again"
    )]
    Token,
    #[error("this request has no session; run `skein map` and open the address that it prints")]
    Session,
}

impl Refusal {
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Foreign | Self::Token => StatusCode::FORBIDDEN,
            Self::Session => StatusCode::UNAUTHORIZED,
        }
    }
}

pub const SESSION_PATH: &str = "/api/session";

pub struct Guard {
    host: String,
    origin: String,
    session: String,
    /// `None` once used.
    token: Mutex<Option<String>>,
    /// Valid until the token is used.
    printed: String,
    /// Admits a navigation from elsewhere, such as from a file, to the page, which is the same for everybody.
    door: String,
    used: CancellationToken,
}

impl Guard {
    pub fn new(port: u16) -> Self {
        let (token, session, door) = (secret(), secret(), secret());
        Self {
            host: format!("127.0.0.1:{port}"),
            origin: format!("http://127.0.0.1:{port}"),
            session,
            // A browser never sends a fragment.
            printed: format!("http://127.0.0.1:{port}/#token={token}"),
            token: Mutex::new(Some(token)),
            door,
            used: CancellationToken::new(),
        }
    }

    pub fn address(&self) -> String {
        self.printed.clone()
    }

    pub fn address_from_a_file(&self) -> String {
        self.printed.replacen("/#", &format!("/?{DOOR}{}#", self.door), 1)
    }

    pub fn used(&self) -> CancellationToken {
        self.used.clone()
    }

    fn admit(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let path = uri.path();
        let one = |name: &HeaderName| {
            let mut values = headers.get_all(name).iter();
            match (values.next(), values.next()) {
                (None, _) => Ok(None),
                // An unreadable header equals nothing.
                (Some(value), None) => Ok(Some(value.to_str().unwrap_or("?"))),
                (Some(_), Some(_)) => Err(Refusal::Foreign),
            }
        };
        if one(&header::HOST)? != Some(self.host.as_str()) {
            return Err(Refusal::Host);
        }
        let origin = one(&header::ORIGIN)?;
        let safe = method == Method::GET || method == Method::HEAD;
        if origin.is_some_and(|origin| origin != self.origin) || (origin.is_none() && !safe) {
            return Err(Refusal::Foreign);
        }
        let is_foreign = one(&SEC_FETCH_SITE)?.is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if is_foreign {
            let navigates = one(&SEC_FETCH_MODE)? == Some("navigate") && one(&SEC_FETCH_DEST)? == Some("document");
            let door = uri.query().and_then(|query| query.strip_prefix(DOOR));
            let has_key = door.is_some_and(|given| same(given, &self.door));
            if !(safe && path == "/" && navigates && has_key) {
                return Err(Refusal::Foreign);
            }
        }
        // A browser requests the page, which is the same for everybody, without our headers.
        let is_page = safe && (path == "/" || path.starts_with("/assets/"));
        if is_page || path == SESSION_PATH {
            return Ok(());
        }
        let given = one(&header::AUTHORIZATION)?.and_then(|value| value.strip_prefix("Bearer "));
        match given {
            Some(given) if same(given, &self.session) => Ok(()),
            Some(_) | None => Err(Refusal::Session),
        }
    }

    /// A wrong token spends nothing.
    pub fn exchange(&self, token: &str) -> Result<&str, Refusal> {
        let mut expected = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if expected.as_deref().is_some_and(|expected| same(token, expected)) {
            *expected = None;
            self.used.cancel();
            return Ok(&self.session);
        }
        Err(Refusal::Token)
    }
}

pub async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut answer = match guard.admit(request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) if request.uri().path().starts_with("/api/") => (
            refusal.status(),
            Json(serde_json::json!({"error": refusal.to_string()})),
        )
            .into_response(),
        Err(refusal) => (refusal.status(), format!("skein map: {refusal}\n")).into_response(),
    };
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// 256 random bits in hexadecimal.
pub(super) fn secret() -> String {
    let bytes: [u8; 32] = rand::random();
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The duration of the comparison reveals only digests.
pub(super) fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one.as_bytes()) == Sha256::digest(other.as_bytes())
}

//! The same steps on a real kube-apiserver and on `skein-api`, and a comparison of the answers.
//!
//! Owns: the steps, what must differ by nature (see `normal` and `words`), and what differs on purpose (see `differences`).
//! Must not: know the right answer: the real server does. Each test is one case: a function of a [`Session`], run on
//! both; the session records its steps.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "api/compare.rs"]
mod compare;
#[path = "api/differences.rs"]
mod differences;
#[path = "api/normal.rs"]
mod normal;
#[path = "api/objects.rs"]
mod objects;
#[path = "api/session.rs"]
mod session;
#[path = "api/side.rs"]
mod side;
#[path = "api/words.rs"]
mod words;

#[path = "api/apply.rs"]
mod apply;
#[path = "api/built_in.rs"]
mod built_in;
#[path = "api/crud.rs"]
mod crud;
#[path = "api/deletion.rs"]
mod deletion;
#[path = "api/discovery.rs"]
mod discovery;
#[path = "api/kubectl.rs"]
mod kubectl;
#[path = "api/kubectl_get.rs"]
mod kubectl_get;
#[path = "api/kubectl_nodes.rs"]
mod kubectl_nodes;
#[path = "api/kubectl_queries.rs"]
mod kubectl_queries;
#[path = "api/kubectl_running.rs"]
mod kubectl_running;
#[path = "api/kubectl_write.rs"]
mod kubectl_write;
#[path = "api/lists.rs"]
mod lists;
#[path = "api/metadata.rs"]
mod metadata;
#[path = "api/patches.rs"]
mod patches;
#[path = "api/refusals.rs"]
mod refusals;
#[path = "api/strictness.rs"]
mod strictness;
#[path = "api/subresources.rs"]
mod subresources;
#[path = "api/tables.rs"]
mod tables;
#[path = "api/validation.rs"]
mod validation;
#[path = "api/versions.rs"]
mod versions;
#[path = "api/watches.rs"]
mod watches;

use session::Session;
use side::Side;

/// Runs `case` on both servers at once and compares the transcripts.
fn both<F: Fn(&mut Session) + Sync>(case: F) {
    let name = name_of(&case);
    let run = |side: &'static Side| {
        let mut session = Session::new(side, &name);
        case(&mut session);
        normal::transcript(session)
    };
    std::thread::scope(|scope| {
        let ours = scope.spawn(|| run(Side::embedded()));
        let theirs = run(Side::kubernetes());
        compare::keep(&name, "kubernetes", &theirs);
        let ours = ours
            .join()
            .unwrap_or_else(|_| panic!("{name} failed on the embedded API; see above"));
        compare::keep(&name, "embedded", &ours);
        let differ = compare::unexplained(&name, &theirs, &ours, differences::ALL);
        assert!(differ.is_empty(), "{name}:\n{}", differ.join("\n"));
    });
}

/// The name of the test whose closure this is.
fn name_of<F>(_: &F) -> String {
    let full = std::any::type_name::<F>();
    let name = full.split("::").filter(|part| !part.starts_with('{')).last();
    name.unwrap_or(full).to_owned()
}

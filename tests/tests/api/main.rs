//! The same steps on a real kube-apiserver and on `skein-api`, and a comparison of the answers: each test is a function
//! of a [`Session`], run on both. `normal` and `words` remove what must differ by nature; `differences` lists what
//! differs on purpose. Must not: know the right answer: the real server does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod compare;
mod differences;
mod normal;
mod objects;
mod session;
mod side;
mod words;

mod apply;
mod built_in;
mod crud;
mod deletion;
mod discovery;
mod kubectl;
mod kubectl_get;
mod kubectl_nodes;
mod kubectl_queries;
mod kubectl_running;
mod kubectl_write;
mod lists;
mod metadata;
mod patches;
mod refusals;
mod strictness;
mod subresources;
mod tables;
mod validation;
mod versions;
mod watches;

use session::Session;
use side::Side;

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

fn name_of<F>(_: &F) -> String {
    let full = std::any::type_name::<F>();
    let name = full.split("::").filter(|part| !part.starts_with('{')).last();
    name.unwrap_or(full).to_owned()
}

//! Raises the soft limit of open files, which is often 1024, to what the system allows. An agent needs one at the coordinator, a simulated
//! vehicle with its agent about ten. Must not: fail: an open beyond the limit fails by itself.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

pub fn raise() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    if soft < hard
        && let Err(error) = setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
    {
        tracing::debug!(%error, soft, hard, "the limit of open files stays as it is");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_what_the_system_allows() {
        raise();
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert_eq!(soft, hard);
    }
}

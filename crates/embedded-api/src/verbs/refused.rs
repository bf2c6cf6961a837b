//! Requests that an API server supports and this one does not, on purpose.

use crate::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    pub group: &'static str,
    pub plural: &'static str,
    pub part: &'static str,
    pub why: &'static str,
}

const PODS: &str = "nothing runs Pods here; use a cluster for programs in containers";
const FIXED: &str = "the definitions of custom resources are fixed while this server runs; change the files that it was \
                     started with and start it again";
const NO_KUBELET: &str = "there is no kubelet to ask on a node of this server";

const fn of_pods(part: &'static str) -> Refused {
    Refused {
        group: "",
        plural: "pods",
        part,
        why: PODS,
    }
}

pub const REFUSED: [Refused; 16] = [
    of_pods(""),
    of_pods("attach"),
    of_pods("binding"),
    of_pods("ephemeralcontainers"),
    of_pods("eviction"),
    of_pods("exec"),
    of_pods("log"),
    of_pods("portforward"),
    of_pods("proxy"),
    of_pods("resize"),
    of_pods("status"),
    Refused {
        group: "",
        plural: "nodes",
        part: "proxy",
        why: NO_KUBELET,
    },
    Refused {
        group: "",
        plural: "namespaces",
        part: "finalize",
        why: "a namespace goes when everything in it is gone; delete what is left in it, or take off its finalizers",
    },
    Refused {
        group: "apiextensions.k8s.io",
        plural: "customresourcedefinitions",
        part: "",
        why: FIXED,
    },
    Refused {
        group: "apiextensions.k8s.io",
        plural: "customresourcedefinitions",
        part: "status",
        why: FIXED,
    },
    Refused {
        group: "authentication.k8s.io",
        plural: "selfsubjectreviews",
        part: "",
        why: "a review is asked for by creating it, and not kept",
    },
];

#[must_use]
pub fn refusal(group: &str, plural: &str, part: &str) -> Option<Refusal> {
    let listed = |entry: &&Refused| (entry.group, entry.plural, entry.part) == (group, plural, part);
    let found = REFUSED.iter().find(listed)?;
    let name = match part {
        "" => plural.to_owned(),
        part => format!("{plural}/{part}"),
    };
    let message = format!("this is not done with {name}: {}", found.why);
    Some(Refusal::new(405, "MethodNotAllowed", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_done_says_why() {
        let refusal = refusal("", "pods", "log").expect("listed");
        assert_eq!(refusal.code, 405);
        assert_eq!(
            refusal.message,
            "this is not done with pods/log: nothing runs Pods here; use a cluster for programs in containers"
        );
    }

    #[test]
    fn what_is_done_is_not_refused() {
        assert_eq!(super::refusal("", "nodes", "status"), None);
        assert_eq!(super::refusal("", "nodes", ""), None);
    }

    #[test]
    fn nothing_is_listed_twice() {
        for (index, one) in REFUSED.iter().enumerate() {
            let again = REFUSED
                .iter()
                .skip(index + 1)
                .any(|other| (other.group, other.plural, other.part) == (one.group, one.plural, one.part));
            assert!(!again, "{one:?}");
        }
    }
}

//! Which parameters the peers of a recording requested.

use super::fact::Fact;
use sitl::wire::{Incoming, Request};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParamRequests {
    /// First request of the whole list, or of one parameter by its index.
    any_s: Option<f64>,
    /// First request or write of each name.
    names: Vec<(f64, [u8; 16])>,
}

impl ParamRequests {
    pub fn of(inputs: &[(f64, Incoming)]) -> Self {
        let mut requests = Self::default();
        for (at_s, incoming) in inputs {
            match &incoming.request {
                Request::ParamList { .. } => requests.any_s = requests.any_s.or(Some(*at_s)),
                Request::ParamRead { index, .. } if *index >= 0 => requests.any_s = requests.any_s.or(Some(*at_s)),
                Request::ParamRead { name, .. } | Request::ParamSet { name, .. } => {
                    let bytes = name.as_bytes();
                    let name = std::array::from_fn(|place| bytes.get(place).copied().unwrap_or(0));
                    requests.names.push((*at_s, name));
                }
                _ => {}
            }
        }
        requests
    }

    /// Whether a value sent at `at_s` was requested before.
    pub fn is_answer(&self, at_s: f64, fact: &Fact) -> bool {
        match fact {
            Fact::Param { name, .. } => {
                self.any_s.is_some_and(|requested_s| requested_s <= at_s)
                    || self
                        .names
                        .iter()
                        .any(|(requested_s, known)| known == name && *requested_s <= at_s)
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sitl::wire::Address;

    const TO: Address = Address {
        system: 1,
        component: 1,
    };

    fn value(name: &str) -> Fact {
        let bytes = name.as_bytes();
        Fact::Param {
            name: std::array::from_fn(|place| bytes.get(place).copied().unwrap_or(0)),
            bits: 0,
            kind: 9,
        }
    }

    fn after(request: Request) -> ParamRequests {
        ParamRequests::of(&[(10.0, Incoming { from: TO, request })])
    }

    #[test]
    fn what_was_not_requested_is_no_answer() {
        let set = after(Request::ParamSet {
            to: TO,
            name: "FENCE_ENABLE".to_owned(),
            value: 1.0,
            kind: 9,
        });
        assert!(set.is_answer(10.1, &value("FENCE_ENABLE")));
        assert!(!set.is_answer(10.1, &value("STAT_RUNTIME")));
        assert!(
            !set.is_answer(9.9, &value("FENCE_ENABLE")),
            "sent before it was requested"
        );
    }

    #[test]
    fn a_list_requests_everything() {
        let list = after(Request::ParamList { to: TO });
        assert!(list.is_answer(11.0, &value("STAT_RUNTIME")));
        assert!(!after(Request::Other(9)).is_answer(11.0, &value("STAT_RUNTIME")));
    }
}

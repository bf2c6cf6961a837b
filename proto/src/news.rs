//! Whether a list of vehicles says anything new.

use crate::v1;
use prost::Message as _;
use std::hash::{BuildHasher, Hasher as _};

impl v1::ListResponse {
    /// Leaves out ages, which grow. Different lists share a digest with a chance of 2⁻⁶⁴ while `keys` are secret.
    pub fn digest_without_ages(&mut self, keys: &impl BuildHasher) -> u64 {
        let mut hasher = keys.build_hasher();
        for vehicle in &mut self.vehicles {
            let age = std::mem::take(&mut vehicle.report_age_ms);
            hasher.write(&vehicle.encode_length_delimited_to_vec());
            vehicle.report_age_ms = age;
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::RandomState;

    fn vehicle(name: &str, age: u64, made_ms: u64) -> v1::Vehicle {
        v1::Vehicle {
            drone_name: name.to_owned(),
            report_age_ms: age,
            report: Some(v1::Report {
                made_ms,
                ..v1::Report::default()
            }),
            ..v1::Vehicle::default()
        }
    }

    #[test]
    fn the_age_of_a_report_is_no_news_and_all_else_is() {
        let keys = RandomState::new();
        let digest = |vehicles: &[v1::Vehicle]| {
            let mut list = v1::ListResponse {
                vehicles: vehicles.to_vec(),
            };
            let digest = list.digest_without_ages(&keys);
            assert_eq!(list.vehicles, vehicles, "nothing is changed");
            digest
        };
        let (a, b) = (vehicle("a", 5, 1), vehicle("b", 5, 1));
        let first = digest(&[a.clone(), b.clone()]);
        assert_eq!(digest(&[vehicle("a", 900, 1), b.clone()]), first);
        for other in [
            vec![b.clone(), a.clone()],
            vec![a.clone()],
            vec![a.clone(), vehicle("b", 5, 2)],
            vec![a, b, vehicle("", 0, 0)],
            vec![],
        ] {
            assert_ne!(digest(&other), first, "{other:?}");
        }
    }
}

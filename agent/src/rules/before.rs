//! What was on an autopilot before ours, and is given back to it.

use super::items::{Item, alike};
use model::units::Wgs84;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most fences of ours of which one may be on the autopilot.
const MOST_OURS: usize = 4;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Before {
    /// Once ours was sent.
    #[serde(default, rename = "fence_before")]
    pub fence: Option<Vec<Item>>,
    /// Fences of ours that may be on the autopilot: the one that was in force last, and those whose upload was begun since then.
    #[serde(default, rename = "fence_ours")]
    pub ours: Vec<Vec<Item>>,
    /// Once ours were sent.
    #[serde(default, rename = "parameters_before")]
    pub parameters: BTreeMap<String, f64>,
    /// Numbers of parameters of ours as they were last read back as wanted, by the names under which the autopilot has them. A parameter that was
    /// set since then is not among them.
    #[serde(default, rename = "parameters_ours")]
    pub ours_read: BTreeMap<String, f64>,
    /// The home with which our fence was uploaded and nothing of it was discarded.
    #[serde(default)]
    pub heard_out: Option<Wgs84>,
    /// Parameters that were set and count only after a reboot, with the time since boot when they were set, milliseconds.
    #[serde(default)]
    pub waits_for_reboot: BTreeMap<String, u32>,
}

impl Before {
    pub fn is_nothing(&self) -> bool {
        self.fence.is_none() && self.parameters.is_empty()
    }

    /// `ours` is about to take the place of `read`, which was there before it unless it is a fence of ours too.
    pub fn replaces_fence(&mut self, read: &[Item], ours: &[Item]) {
        let foreign = self.is_foreign(read) && !alike(read, ours);
        if self.fence.is_none() || foreign {
            self.fence = Some(read.to_vec());
        }
        if !self.is_ours(ours) && self.ours.len() < MOST_OURS {
            self.ours.push(ours.to_vec());
        }
    }

    fn is_ours(&self, fence: &[Item]) -> bool {
        self.ours.iter().any(|known| alike(known, fence))
    }

    /// Whether somebody else has put the fence there that was `read`, in the place of ours.
    pub fn is_foreign(&self, read: &[Item]) -> bool {
        // With more begun than are remembered, or begun by an agent that did not remember, it is not known whose it is.
        !self.ours.is_empty() && self.ours.len() < MOST_OURS && !self.is_ours(read)
    }

    /// `ours` was read back as it should be: nothing else of ours is there.
    pub fn fence_is(&mut self, ours: &[Item]) {
        if self.fence.is_some() && (self.ours.len() != 1 || !self.ours.iter().all(|known| alike(known, ours))) {
            self.ours = vec![ours.to_vec()];
        }
    }

    /// A parameter was read back as it should be: `number`.
    pub fn parameter_is(&mut self, name: &str, number: f64) {
        if let Some(known) = self.ours_read.get_mut(name) {
            *known = number;
            return;
        }
        self.ours_read.insert(name.to_owned(), number);
    }

    pub fn forget_parameter(&mut self, name: &str) {
        self.parameters.remove(name);
        self.ours_read.remove(name);
        self.waits_for_reboot.remove(name);
    }

    pub fn forget_fence(&mut self) {
        self.fence = None;
        self.ours.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::items::ItemKind;
    use super::*;

    fn fence(latitude_e7: i32) -> Vec<Item> {
        vec![Item {
            kind: ItemKind::CircleInside,
            parameter: 80.0,
            latitude_e7,
            longitude_e7: 0,
        }]
    }

    #[test]
    fn what_was_before_is_the_last_that_was_not_ours() {
        let mut before = Before::default();
        before.replaces_fence(&fence(1000), &fence(2000));
        before.replaces_fence(&fence(1000), &fence(3000));
        assert_eq!(before.fence, Some(fence(1000)));
        before.fence_is(&fence(3000));
        before.replaces_fence(&fence(3000), &fence(4000));
        assert_eq!(before.fence, Some(fence(1000)), "the one in force was ours");
        before.replaces_fence(&fence(5000), &fence(4000));
        assert_eq!(before.fence, Some(fence(5000)), "somebody else's, since then");
        before.replaces_fence(&[], &fence(4000));
        assert_eq!(before.fence, Some(vec![]), "somebody has cleared it");
        before.forget_fence();
        assert!(before.is_nothing() && before.ours.is_empty());
    }

    #[test]
    fn where_it_is_not_known_whose_a_fence_is_the_first_stays() {
        let mut before = Before {
            fence: Some(fence(1000)),
            ..Before::default()
        };
        before.replaces_fence(&fence(2000), &fence(3000));
        assert_eq!(
            before.fence,
            Some(fence(1000)),
            "written by an agent that did not remember its own"
        );
        let mut before = Before::default();
        for upload in 1..20 {
            before.replaces_fence(&fence(upload * 1000 - 1000), &fence(upload * 1000));
        }
        assert_eq!(
            before.fence,
            Some(fence(0)),
            "each upload was begun, and none observed to end"
        );
        assert!(before.ours.len() <= MOST_OURS);
    }

    #[test]
    fn what_an_earlier_version_has_written_is_read() {
        let old = r#"{"fence_before": [], "parameters_before": {"RTL_ALT": 1500.0}, "heard_out": null, "waits_for_reboot": {}}"#;
        let before: Before = serde_json::from_str(old).unwrap();
        assert_eq!((before.fence, before.parameters.len()), (Some(vec![]), 1));
    }
}

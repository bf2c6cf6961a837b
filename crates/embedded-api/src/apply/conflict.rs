//! Conflicts between the manager that applies a field and the manager that owns it.

use super::field_set::{FieldSet, Step, shown};
use super::managed::{Operation, Owner};
use crate::refusal::Refusal;
use serde_json::{Value, json};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    found: Vec<(Owner, FieldSet)>,
}

impl Conflicts {
    pub fn add(&mut self, owner: &Owner, fields: FieldSet) {
        if !fields.is_empty() {
            self.found.push((owner.clone(), fields));
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    #[must_use]
    pub fn without(self, allowed: &FieldSet) -> Self {
        let mut left = Self::default();
        for (owner, fields) in self.found {
            left.add(&owner, fields.difference(allowed));
        }
        left
    }

    /// 409, with one cause for each field.
    #[must_use]
    pub fn refusal(mut self) -> Refusal {
        self.found.sort_by(|(one, _), (other, _)| one.cmp(other));
        let named: Vec<(String, Vec<Vec<Step>>)> = self
            .found
            .iter()
            .map(|(owner, fields)| (name(owner), fields.paths()))
            .collect();
        let mut causes: Vec<Value> = Vec::new();
        let mut lines: Vec<String> = Vec::new();
        for (owner, paths) in &named {
            lines.push(format!("conflicts with {owner}:"));
            for path in paths {
                lines.push(format!("- {}", shown(path)));
                causes.push(json!({
                    "reason": "FieldManagerConflict",
                    "message": format!("conflict with {owner}"),
                    "field": shown(path),
                }));
            }
        }
        let message = match named.as_slice() {
            [(owner, paths)] if paths.len() == 1 => {
                let path: String = paths.iter().map(|path| shown(path)).collect();
                format!("Apply failed with 1 conflict: conflict with {owner}: {path}")
            }
            _ => format!("Apply failed with {} conflicts: {}", causes.len(), lines.join("\n")),
        };
        Refusal {
            details: json!({"causes": causes}),
            ..Refusal::new(409, "Conflict", message)
        }
    }
}

fn name(owner: &Owner) -> String {
    let mut name = format!("{:?}", owner.manager);
    if !owner.subresource.is_empty() {
        name += &format!(" with subresource {:?}", owner.subresource);
    }
    if owner.operation == Operation::Update {
        name += &format!(" using {}", owner.version);
    }
    name
}

//! Label and field selectors, matched against the facts in the store.

mod fields;
mod labels;
mod lexer;

use super::options::ListOptions;
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::store::Object;
use fields::Field;
use labels::Requirement;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<Field>,
}

impl Selector {
    /// Errors: 400 for a selector that cannot be read, or a field that is not selectable for this kind.
    pub fn of(options: &ListOptions, resource: &Resource) -> Result<Self, Refusal> {
        Ok(Self {
            labels: labels::parse(&options.labels).map_err(Refusal::bad_request)?,
            fields: fields::parse(&options.fields, resource).map_err(Refusal::bad_request)?,
        })
    }

    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    #[must_use]
    pub fn matches(&self, object: &Object) -> bool {
        self.labels
            .iter()
            .all(|wanted| wanted.matches(object.facts.label(&wanted.key)))
            && self.fields.iter().all(|field| field.matches(object))
    }
}

#[cfg(test)]
mod tests;

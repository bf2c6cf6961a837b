//! The parameter table of a vehicle: a small part of the real one.
//!
//! Owns: names, types, values, lookup. Must not: act on a value, or send messages.

/// MAV_PARAM_TYPE of the types in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParamKind {
    /// MAV_PARAM_TYPE_INT8 (2).
    Int8,
    /// MAV_PARAM_TYPE_INT16 (4).
    Int16,
    /// MAV_PARAM_TYPE_INT32 (6).
    Int32,
    /// MAV_PARAM_TYPE_REAL32 (9).
    Real32,
}

#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) kind: ParamKind,
    pub(super) value: f32,
}

#[derive(Clone, Debug)]
pub(super) struct Params(Vec<Param>);

impl Params {
    /// A table from (name, type, default) rows; sorted by name as real lists are.
    pub(super) fn new(rows: &[(&'static str, ParamKind, f32)]) -> Self {
        let mut table: Vec<Param> = rows
            .iter()
            .map(|&(name, kind, value)| Param { name, kind, value })
            .collect();
        table.sort_by_key(|param| param.name);
        Self(table)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn at(&self, index: usize) -> Option<&Param> {
        self.0.get(index)
    }

    pub(super) fn index_of(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|param| param.name == name)
    }

    /// The value of a parameter that is in the table by construction; 0 otherwise.
    pub(super) fn get(&self, name: &str) -> f32 {
        self.index_of(name)
            .and_then(|index| self.at(index))
            .map_or(0.0, |param| param.value)
    }

    /// Sets a value and tells where it is; `None` for an unknown name.
    pub(super) fn set(&mut self, name: &str, value: f32) -> Option<usize> {
        let index = self.index_of(name)?;
        self.0[index].value = value;
        Some(index)
    }
}

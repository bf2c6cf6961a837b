//! Parameter table of a vehicle: a small part of the real one.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParamKind {
    Int8,
    Int16,
    Int32,
    Real32,
}

impl ParamKind {
    /// MAV_PARAM_TYPE.
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Int8 => 2,
            Self::Int16 => 4,
            Self::Int32 => 6,
            Self::Real32 => 9,
        }
    }

    /// ArduPilot cuts decimals off, except for a rounding error of a hundredth (recorded: 2.6 is 2).
    pub(super) fn cut(self, value: f32) -> f32 {
        let within = |low: f32, high: f32| (value + 0.01_f32.copysign(value)).trunc().clamp(low, high);
        match self {
            Self::Int8 => within(f32::from(i8::MIN), f32::from(i8::MAX)),
            Self::Int16 => within(f32::from(i16::MIN), f32::from(i16::MAX)),
            Self::Int32 => within(i32::MIN as f32, i32::MAX as f32),
            Self::Real32 => value,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) kind: ParamKind,
    pub(super) value: f32,
    /// Written once with another value than the default: the storage contains it, with its type.
    pub(super) stored: bool,
    pub(super) read_only: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Same,
    /// Meters for centimeters, as a float.
    Hundredth,
    /// Bits that are not set in the recorded one, of which 1 stands for all.
    Skipped,
}

impl Form {
    fn of_recorded(self, value: f32) -> f32 {
        match self {
            Self::Same => value,
            Self::Hundredth => value / 100.0,
            Self::Skipped if value == 1.0 => 0.0,
            Self::Skipped => -1.0,
        }
    }

    fn recorded(self, value: f32) -> f32 {
        match self {
            Self::Same => value,
            Self::Hundredth => value * 100.0,
            Self::Skipped if value == 0.0 => 1.0,
            Self::Skipped => 0.0,
        }
    }
}

pub(super) type Rename = (&'static str, &'static str, Form);

#[derive(Clone, Debug)]
pub(super) struct Params {
    table: Vec<Param>,
    renames: &'static [Rename],
}

impl Params {
    /// Sorted by name, like real lists.
    pub(super) fn new(rows: &[(&'static str, ParamKind, f32)]) -> Self {
        let mut table: Vec<Param> = rows
            .iter()
            .map(|&(name, kind, value)| Param {
                name,
                kind,
                value,
                stored: false,
                read_only: false,
            })
            .collect();
        table.sort_by_key(|param| param.name);
        Self { table, renames: &[] }
    }

    /// The model goes on to read parameters by their recorded names.
    pub(super) fn of_version(mut self, renames: &'static [Rename], missing: &[&str]) -> Self {
        self.table.retain(|param| !missing.contains(&param.name));
        for param in &mut self.table {
            let Some((_, name, form)) = renames.iter().find(|(recorded, ..)| *recorded == param.name) else {
                continue;
            };
            (param.name, param.value) = (*name, form.of_recorded(param.value));
            if matches!(form, Form::Hundredth) {
                param.kind = ParamKind::Real32;
            }
        }
        self.table.sort_by_key(|param| param.name);
        self.renames = renames;
        self
    }

    pub(super) fn without(mut self, missing: &[String]) -> Self {
        self.table
            .retain(|param| !missing.iter().any(|name| name == param.name));
        self
    }

    pub(super) fn with_default(mut self, name: &str, value: f32) -> Self {
        if let Some(param) = self.table.iter_mut().find(|param| param.name == name) {
            param.value = value;
        }
        self
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn at(&self, index: usize) -> Option<&Param> {
        self.table.get(index)
    }

    pub(super) fn index_of(&self, name: &str) -> Option<usize> {
        self.table.binary_search_by(|param| param.name.cmp(name)).ok()
    }

    /// 0 when the table lacks it.
    pub(super) fn get(&self, name: &str) -> f32 {
        let value = |name: &str| {
            self.index_of(name)
                .and_then(|index| self.at(index))
                .map(|param| param.value)
        };
        let renamed = || {
            let (_, name, form) = self.renames.iter().find(|(recorded, ..)| *recorded == name)?;
            value(name).map(|value| form.recorded(value))
        };
        value(name).or_else(renamed).unwrap_or(0.0)
    }

    pub(super) fn make_read_only(&mut self, name: &str) {
        if let Some(param) = self.index_of(name).and_then(|index| self.table.get_mut(index)) {
            param.read_only = true;
        }
    }

    pub(super) fn set(&mut self, name: &str, value: f32) -> Option<usize> {
        let index = self.index_of(name)?;
        let param = self.table.get_mut(index)?;
        param.stored |= param.value != value;
        param.value = value;
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Params {
        Params::new(&[("B_TWO", ParamKind::Int8, 2.0), ("A_ONE", ParamKind::Real32, 1.5)])
    }

    #[test]
    fn a_table_is_sorted_and_found_by_name() {
        let table = table();
        assert_eq!(table.at(0).map(|param| param.name), Some("A_ONE"));
        assert_eq!((table.get("B_TWO"), table.index_of("C_THREE")), (2.0, None));
    }

    #[test]
    fn a_version_has_its_own_names_and_units_and_the_model_reads_the_recorded_ones() {
        let renames: &'static [Rename] = &[
            ("A_ONE", "A_ONE_M", Form::Hundredth),
            ("B_TWO", "B_SKIP", Form::Skipped),
        ];
        let mut table = table().of_version(renames, &[]);
        assert_eq!(
            (table.index_of("A_ONE"), table.at(0).map(|param| param.value)),
            (None, Some(0.015))
        );
        table.set("A_ONE_M", 2.5);
        table.set("B_SKIP", 0.0);
        assert_eq!((table.get("A_ONE"), table.get("B_TWO")), (250.0, 1.0));
        assert_eq!(table.of_version(&[], &["A_ONE_M"]).len(), 1);
    }

    #[test]
    fn a_default_that_is_written_again_is_not_stored_but_another_value_is_for_good() {
        let mut table = table();
        table.set("B_TWO", 2.0);
        assert_eq!(table.at(1).map(|param| param.stored), Some(false));
        table.set("B_TWO", 3.0);
        table.set("B_TWO", 2.0);
        assert_eq!(table.at(1).map(|param| param.stored), Some(true));
    }

    #[test]
    fn a_small_integer_takes_what_it_can_hold_of_a_value() {
        assert_eq!(ParamKind::Int8.cut(2.6), 2.0);
        assert_eq!(ParamKind::Int8.cut(2.995), 3.0);
        assert_eq!(ParamKind::Int8.cut(-2.6), -2.0);
        assert_eq!(ParamKind::Int8.cut(300.0), 127.0);
        assert_eq!(ParamKind::Int8.cut(-300.0), -128.0);
        assert_eq!(ParamKind::Real32.cut(1.6), 1.6);
    }
}

//! The path from an object's root to a value in it, and how messages write it.
//!
//! Owns: the two notations. Must not: read objects.
//!
//! A path is a chain on the stack: nothing is allocated until there is a fault.

/// The place of a value.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    before: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The object itself.
    pub const ROOT: Path<'static> = Path {
        before: None,
        step: Step::Root,
    };

    /// A named field of it.
    #[must_use]
    pub fn field(&'a self, name: &'a str) -> Self {
        self.then(Step::Field(name))
    }

    /// An entry of it, which is a map.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Self {
        self.then(Step::Key(key))
    }

    /// An item of it, which is a list.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Self {
        self.then(Step::Index(index))
    }

    fn then(&'a self, step: Step<'a>) -> Self {
        Self {
            before: Some(self),
            step,
        }
    }

    /// As schema validation writes it: `spec.labels.app`, `spec.items[0]`; empty at the root.
    #[must_use]
    pub fn dotted(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, false);
        text
    }

    /// As all other checks write it, map keys in brackets: `spec.labels[app]`; `<nil>` at the root.
    #[must_use]
    pub fn bracketed(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, true);
        if text.is_empty() { "<nil>".to_owned() } else { text }
    }

    fn write(&self, text: &mut String, brackets: bool) {
        if let Some(before) = self.before {
            before.write(text, brackets);
        }
        match self.step {
            Step::Root => {}
            Step::Index(index) => text.push_str(&format!("[{index}]")),
            Step::Key(key) if brackets => text.push_str(&format!("[{key}]")),
            Step::Field(name) | Step::Key(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_in_two_ways() {
        let spec = Path::ROOT.field("spec");
        let list = spec.field("list");
        let item = list.index(3);
        let entry = item.key("app");
        assert_eq!(entry.dotted(), "spec.list[3].app");
        assert_eq!(entry.bracketed(), "spec.list[3][app]");
    }

    #[test]
    fn the_root_has_no_name() {
        assert_eq!(Path::ROOT.dotted(), "");
        assert_eq!(Path::ROOT.bracketed(), "<nil>");
    }
}

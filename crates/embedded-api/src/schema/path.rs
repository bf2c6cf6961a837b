//! Path from an object's root to a value, as a chain on the stack: nothing is allocated until there is a fault.

#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    before: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub const ROOT: Path<'static> = Path {
        before: None,
        step: Step::Root,
    };

    #[must_use]
    pub fn field(&'a self, name: &'a str) -> Self {
        self.then(Step::Field(name))
    }

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

    /// `spec.labels.app`, `spec.items[0]`; empty at the root.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.before.map(Self::text).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Index(index) => text.push_str(&format!("[{index}]")),
            Step::Field(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_with_points_and_brackets() {
        let spec = Path::ROOT.field("spec");
        let list = spec.field("list");
        let item = list.index(3);
        assert_eq!(item.field("app").text(), "spec.list[3].app");
        assert_eq!(Path::ROOT.text(), "");
    }
}

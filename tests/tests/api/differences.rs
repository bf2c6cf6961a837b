//! What differs from a real API server on purpose.
//!
//! Owns: the list, with reasons. Must not: hold an entry that explains nothing: the test of its case then fails.

use crate::compare::Difference;

/// All of them.
pub const ALL: &[Difference] = &[];

#[test]
fn each_difference_names_a_case_that_exists() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let all: String = files.collect();
    let lost: Vec<_> = ALL
        .iter()
        .filter(|d| !all.contains(&format!("fn {}()", d.case)))
        .map(|d| d.case)
        .collect();
    assert!(lost.is_empty(), "no such case: {lost:?}");
}

//! The rooms of a crate, at every level: no room uses, directly or through others, one that uses it.
//!
//! A room is a folder with the file of the same name, or a file of its own. The module above puts rooms together and is
//! none; what it imports or re-exports belongs to the room where it is defined. Tests are left out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::{ARROWS, collect, crate_folder, read};

#[test]
fn no_room_of_a_crate_uses_one_that_uses_it() {
    let mut wrong = Vec::new();
    for (name, _) in ARROWS {
        let modules = Modules::of_crate(name);
        for (level, uses) in modules.uses() {
            let level: Vec<&str> = std::iter::once(name).chain(level.iter().map(String::as_str)).collect();
            for rooms in uses.cycles() {
                let shortest = uses.shortest_cycle(&rooms).join(" -> ");
                wrong.push(format!(
                    "{}: {shortest}, among {}",
                    level.join("::"),
                    uses.listed(&rooms)
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "these rooms use one another in a cycle; turn an arrow of each cycle:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_cycle_of_rooms_is_found_at_each_level_by_each_way_to_name_another_room() {
    let used = |file: &str, text: &str| -> Vec<String> {
        let others = [
            ("lib.rs", "pub use c::Setup;"),
            ("a.rs", "use y::Thing as Other;"),
            ("a/x.rs", ""),
            ("a/y.rs", ""),
            ("b.rs", "#[cfg(test)]\nmod tests;"),
            ("b/tests.rs", "use crate::c;"),
            ("c.rs", ""),
        ];
        let others = others.into_iter().filter(|(other, _)| *other != file);
        let modules = Modules::of(others.chain([(file, text)]));
        let mut found = Vec::new();
        for (level, Uses(arrows)) in modules.uses() {
            for (from, to) in arrows {
                let to: Vec<String> = to.into_keys().collect();
                found.push(format!("{}: {from} -> {}", level.join("::"), to.join(" ")));
            }
        }
        found
    };
    assert_eq!(used("a.rs", "use crate::b::Thing;"), [": a -> b"]);
    assert_eq!(
        used("a/x.rs", "use crate::{\n    b::{Thing, c},\n    c,\n};"),
        [": a -> b c"]
    );
    assert_eq!(used("a.rs", "use super::b;"), [": a -> b"]);
    assert_eq!(
        used("a/x.rs", "use super::b; use super::super::c::Thing;"),
        [": a -> c"]
    );
    assert_eq!(used("a.rs", "fn f(setup: &crate::Setup) {}"), [": a -> c"]);
    assert_eq!(used("a.rs", "use crate::a::x; use crate::Other;"), [""; 0]);
    assert_eq!(used("a.rs", "// crate::b\nconst TEXT: &str = \"crate::b\";"), [""; 0]);
    assert_eq!(
        used("a.rs", "#[cfg(test)]\nmod tests { use crate::b; }\nuse crate::c;"),
        [": a -> c"]
    );
    assert_eq!(used("a/x.rs", "use super::y::{self, Thing as It};"), ["a: x -> y"]);
    assert_eq!(used("a/x.rs", "fn f() -> super::Other {}"), ["a: x -> y"]);
    assert_eq!(used("a/x.rs", "use crate::a; fn f() { a::y::f() }"), ["a: x -> y"]);
    let mut uses = Uses::default();
    for (from, to) in [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")] {
        uses.add(from, to, "file.rs");
    }
    let cycles = uses.cycles();
    assert_eq!(cycles, [["a", "b", "c"]]);
    assert_eq!(
        uses.listed(&cycles[0]),
        "a -> b (file.rs), b -> c (file.rs), c -> a (file.rs)"
    );
    assert_eq!(uses.shortest_cycle(&["a", "b", "c"]), ["a", "b", "c", "a"]);
    uses.add("b", "a", "file.rs");
    assert_eq!(uses.shortest_cycle(&["a", "b", "c"]), ["a", "b", "a"]);
}

type ModulePath = Vec<String>;

#[derive(Default)]
struct Modules(BTreeMap<ModulePath, Module>);

#[derive(Default)]
struct Module {
    file: String,
    named: Vec<Vec<String>>,
    imports: BTreeMap<String, Vec<String>>,
}

impl Modules {
    fn of_crate(name: &str) -> Self {
        let folder = crate_folder(name).join("src");
        let mut files = Vec::new();
        if folder.is_dir() {
            collect(&folder, &mut files);
        }
        let inside = |file: &Path| file.strip_prefix(&folder).unwrap().display().to_string();
        let files: Vec<(String, String)> = files.iter().map(|file| (inside(file), read(file))).collect();
        Self::of(files.iter().map(|(file, text)| (file.as_str(), text.as_str())))
    }

    fn of<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let files: Vec<(ModulePath, &str, String)> = files
            .map(|(file, text)| (module_path(Path::new(file)), file, without_comments_and_literals(text)))
            .filter(|(path, ..)| path.first().is_none_or(|first| first != "bin"))
            .collect();
        let tests: BTreeSet<ModulePath> = files
            .iter()
            .flat_map(|(path, _, text)| test_modules(text).map(|module| [&path[..], &[module]].concat()))
            .collect();
        let mut modules = Self::default();
        for (path, file, text) in files {
            if (1..=path.len()).any(|length| tests.contains(&path[..length])) {
                continue;
            }
            let module = modules.0.entry(path).or_default();
            module.file = file.to_owned();
            let text = without_tests(&text);
            let (imports, others) = paths(&text);
            for (name, path) in imports {
                module.named.push(path.clone());
                module.imports.insert(name, path);
            }
            module.named.extend(others);
        }
        modules
    }

    /// Which room uses which, by the module that both are in.
    fn uses(&self) -> BTreeMap<&[String], Uses> {
        let mut levels: BTreeMap<&[String], Uses> = BTreeMap::new();
        for (path, module) in &self.0 {
            for used in module.named.iter().filter_map(|names| self.end_of(names, path, 0)) {
                let same = path.iter().zip(&used).take_while(|(one, other)| one == other);
                let common = same.count();
                if let (Some(from), Some(to)) = (path.get(common), used.get(common)) {
                    let uses = levels.entry(&path[..common]).or_default();
                    uses.add(from, to, &module.file);
                }
            }
        }
        levels
    }

    /// The module that defines what the module `path` names `names`, after so many imports; `None`: another crate.
    fn end_of(&self, names: &[String], path: &[String], imports: usize) -> Option<ModulePath> {
        let (mut at, mut rest) = (path.to_vec(), names);
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => drop(at.pop()),
                "self" => {}
                _ => break,
            }
            rest = others;
        }
        let is_from_here = rest.len() == names.len();
        for (place, name) in rest.iter().enumerate() {
            let below = [&at[..], std::slice::from_ref(name)].concat();
            if self.0.contains_key(&below) {
                at = below;
                continue;
            }
            return match self.0.get(&at).and_then(|module| module.imports.get(name)) {
                // The name of another crate leads to itself.
                Some(import) if imports < 8 => {
                    let names = [&import[..], &rest[place + 1..]].concat();
                    self.end_of(&names, &at, imports + 1)
                }
                _ => Some(at).filter(|_| place > 0 || !is_from_here),
            };
        }
        Some(at)
    }
}

pub type Import = (String, Vec<String>);

/// The imports and all other paths in `text`, which has neither comments nor literals.
pub fn paths(text: &str) -> (Vec<Import>, Vec<Vec<String>>) {
    static USES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\buse ([^;]+);").unwrap());
    static PATHS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b\w+(?:::\w+)+").unwrap());
    let imports = USES.captures_iter(text).flat_map(|found| imported(&found[1], &[]));
    let imports = imports.collect();
    let text = USES.replace_all(text, " ");
    let others = PATHS.find_iter(&text).map(|found| found.as_str().split("::"));
    (
        imports,
        others.map(|names| names.map(str::to_owned).collect()).collect(),
    )
}

fn imported(tree: &str, above: &[String]) -> Vec<Import> {
    let path = |text: &str| -> Vec<String> {
        let names = text.split("::").map(str::trim);
        let names = names.filter(|name| !matches!(*name, "" | "self"));
        above.iter().cloned().chain(names.map(str::to_owned)).collect()
    };
    if let Some((before, group)) = tree.split_once('{') {
        let (above, mut depth) = (path(before), 0);
        let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
        let parts = group.split(|letter: char| {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            letter == ',' && depth == 0
        });
        let parts = parts.filter(|part| !part.trim().is_empty());
        return parts.flat_map(|part| imported(part, &above)).collect();
    }
    let (names, name) = tree.split_once(" as ").unwrap_or((tree, ""));
    let path = path(names);
    let name = match name.trim() {
        "" => path.last().cloned().unwrap_or_default(),
        name => name.to_owned(),
    };
    vec![(name, path)]
}

/// Which room uses which, and the files that do.
#[derive(Default)]
struct Uses(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

impl Uses {
    fn add(&mut self, from: &str, to: &str, file: &str) {
        let arrows = self.0.entry(from.to_owned()).or_default();
        arrows.entry(to.to_owned()).or_default().insert(file.to_owned());
    }

    fn reached(&self, room: &str) -> BTreeSet<&str> {
        let next = |room: &str| {
            self.0
                .get(room)
                .into_iter()
                .flat_map(BTreeMap::keys)
                .map(String::as_str)
        };
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = next(room).collect();
        while let Some(room) = open.pop() {
            if reached.insert(room) {
                open.extend(next(room));
            }
        }
        reached
    }

    /// The largest sets of rooms that each use all others of their set by some way.
    fn cycles(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.0.keys().map(|room| (room.as_str(), self.reached(room))).collect();
        let cycle = |room: &str| -> Vec<&str> {
            let back = |other: &&str| reached.get(other).is_some_and(|all| all.contains(room));
            reached[room].iter().copied().filter(back).collect()
        };
        let cycles: BTreeSet<Vec<&str>> = reached.keys().map(|room| cycle(room)).collect();
        cycles.into_iter().filter(|cycle| cycle.len() > 1).collect()
    }

    /// `rooms` each use all others; the cycle ends where it begins.
    fn shortest_cycle(&self, rooms: &[&str]) -> Vec<String> {
        let cycle = |begin: &str| {
            let mut ways = VecDeque::from([vec![begin.to_owned()]]);
            let mut seen = BTreeSet::new();
            while let Some(way) = ways.pop_front() {
                let next = way.last().and_then(|last| self.0.get(last)).into_iter();
                for room in next
                    .flat_map(BTreeMap::keys)
                    .filter(|room| rooms.contains(&room.as_str()))
                {
                    let way = [&way[..], std::slice::from_ref(room)].concat();
                    if room == begin {
                        return way;
                    }
                    if seen.insert(room) {
                        ways.push_back(way);
                    }
                }
            }
            vec![]
        };
        rooms
            .iter()
            .map(|room| cycle(room))
            .min_by_key(Vec::len)
            .unwrap_or_default()
    }

    fn listed(&self, rooms: &[&str]) -> String {
        let mut arrows = Vec::new();
        for from in rooms {
            for (to, files) in self.0.get(*from).into_iter().flatten() {
                if rooms.contains(&to.as_str()) {
                    let files: Vec<&str> = files.iter().map(String::as_str).collect();
                    arrows.push(format!("{from} -> {to} ({})", files.join(" ")));
                }
            }
        }
        arrows.join(", ")
    }
}

fn module_path(inside: &Path) -> Vec<String> {
    let stem = inside.with_extension("");
    let mut path: Vec<String> = stem.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if path.last().is_some_and(|last| last == "mod") || path == ["lib"] || path == ["main"] {
        path.pop();
    }
    path
}

pub fn without_comments_and_literals(text: &str) -> String {
    static THOSE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r##"(?s)//[^\n]*|/\*.*?\*/|\br#".*?"#|\br"[^"]*"|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'"##).unwrap()
    });
    THOSE.replace_all(text, " ").into_owned()
}

const TEST: &str = "#[cfg(test)]";

/// The semicolon or the last brace of the item that begins at the start of `text`.
fn item_end(text: &str) -> usize {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn without_tests(text: &str) -> String {
    let mut parts = text.split(TEST);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, item| before + &item[item_end(item)..])
}

fn test_modules(text: &str) -> impl Iterator<Item = String> {
    let module = Regex::new(r"\bmod (\w+);").unwrap();
    let items = text.split(TEST).skip(1);
    items.filter_map(move |item| Some(module.captures(&item[..item_end(item)])?[1].to_owned()))
}

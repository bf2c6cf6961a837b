//! The rooms of a crate: no room uses, directly or through others, one that uses it.
//!
//! A room is a folder of `src` with the file of the same name, or a file of its own. What is in `lib.rs` or `main.rs` puts rooms
//! together and is no room; what it re-exports belongs to the room where it is defined. Tests are left out.
//!
//! Owns: reading which room uses which. Must not: say what belongs in a room.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::{ARROWS, collect, crate_folder, read};

#[test]
fn no_room_of_a_crate_uses_one_that_uses_it() {
    let mut wrong = Vec::new();
    for (name, _) in ARROWS {
        let uses = Uses::of_crate(name);
        for rooms in uses.cycles() {
            let shortest = uses.shortest_cycle(&rooms).join(" -> ");
            wrong.push(format!("{name}: {shortest}, among {}", uses.listed(&rooms)));
        }
    }
    assert!(
        wrong.is_empty(),
        "these rooms use one another in a cycle; turn an arrow of each cycle:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_cycle_of_rooms_is_found_by_each_way_to_name_another_room() {
    let exported = BTreeMap::from([("Setup".to_owned(), "c".to_owned())]);
    let rooms = ["a", "b", "c"].map(str::to_owned).into();
    let used = |path: &[&str], text: &str| -> Vec<String> {
        let found = used_rooms(
            &without_tests(&without_comments_and_literals(text)),
            path,
            &rooms,
            &exported,
        );
        found.into_iter().collect()
    };
    assert_eq!(used(&["a"], "use crate::b::Thing;"), ["b"]);
    assert_eq!(
        used(&["a", "x"], "use crate::{\n    b::{Thing, c},\n    c,\n};"),
        ["b", "c"]
    );
    assert_eq!(used(&["a"], "use super::b;"), ["b"]);
    assert_eq!(used(&["a", "x"], "use super::b; use super::super::c::Thing;"), ["c"]);
    assert_eq!(used(&["a"], "fn f(setup: &crate::Setup) {}"), ["c"]);
    assert_eq!(used(&["a"], "use crate::a::x; use crate::Other;"), [""; 0]);
    assert_eq!(used(&["a"], "// crate::b\nconst TEXT: &str = \"crate::b\";"), [""; 0]);
    assert_eq!(
        used(&["a"], "#[cfg(test)]\nmod tests { use crate::b; }\nuse crate::c;"),
        ["c"]
    );
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

/// Which room uses which, and the files that do.
#[derive(Default)]
struct Uses(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

impl Uses {
    fn of_crate(name: &str) -> Self {
        let folder = crate_folder(name).join("src");
        let mut files = Vec::new();
        if folder.is_dir() {
            collect(&folder, &mut files);
        }
        let modules: Vec<(Vec<String>, String, String)> = files
            .iter()
            .map(|file| {
                let inside = file.strip_prefix(&folder).unwrap();
                (
                    module_path(inside),
                    inside.display().to_string(),
                    without_comments_and_literals(&read(file)),
                )
            })
            .filter(|(path, ..)| path.first().is_none_or(|first| first != "bin"))
            .collect();
        let tests: BTreeSet<Vec<String>> = modules
            .iter()
            .flat_map(|(path, _, text)| test_modules(text).map(|module| [&path[..], &[module]].concat()))
            .collect();
        let rooms: BTreeSet<String> = modules.iter().filter_map(|(path, ..)| path.first().cloned()).collect();
        let exported = modules
            .iter()
            .filter(|(path, ..)| path.is_empty())
            .flat_map(|(_, _, text)| exports(text))
            .collect();
        let mut uses = Self::default();
        for (path, file, text) in &modules {
            let Some(room) = path.first() else { continue };
            if (1..=path.len()).any(|length| tests.contains(&path[..length])) {
                continue;
            }
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            for used in used_rooms(&without_tests(text), &path, &rooms, &exported) {
                uses.add(room, &used, file);
            }
        }
        uses
    }

    fn add(&mut self, from: &str, to: &str, file: &str) {
        let arrows = self.0.entry(from.to_owned()).or_default();
        arrows.entry(to.to_owned()).or_default().insert(file.to_owned());
    }

    /// All that `room` uses, by any way.
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

    /// The shortest cycle among `rooms`, of which each uses all others; it ends where it begins.
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

    /// The arrows among `rooms`, with the files that have them.
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

/// The module that a file of `src` is; that of `lib.rs` and `main.rs` is the root.
fn module_path(inside: &Path) -> Vec<String> {
    let stem = inside.with_extension("");
    let mut path: Vec<String> = stem.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if path.last().is_some_and(|last| last == "mod") || path == ["lib"] || path == ["main"] {
        path.pop();
    }
    path
}

/// The rooms that the module `path` names in `text`, but for its own.
fn used_rooms(
    text: &str,
    path: &[&str],
    rooms: &BTreeSet<String>,
    exported: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    static PATHS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:crate|super(?:::super)*)::(\w+|\{)").unwrap());
    let mut used = BTreeSet::new();
    for found in PATHS.captures_iter(text) {
        let up = found[0].matches("super::").count();
        // Only what begins at the root of the crate can be in another room.
        if up != 0 && up != path.len() {
            continue;
        }
        let begin = found.get(1).unwrap();
        let names = match begin.as_str() {
            "{" => first_names(&text[begin.start()..]),
            name => vec![name.to_owned()],
        };
        used.extend(names.into_iter().filter_map(|name| match rooms.contains(&name) {
            true => Some(name),
            false => exported.get(&name).cloned(),
        }));
    }
    used.retain(|room| room != path[0]);
    used
}

/// The first names of the paths in a group `{a::b, c}`.
fn first_names(group: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let (mut depth, mut path) = (0, false);
    for letter in group.chars() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => {
                names.push(String::new());
                path = false;
            }
            ':' if depth == 1 => path = true,
            ' ' if depth == 1 && names.last().is_some_and(|name| !name.is_empty()) => path = true,
            letter if depth == 1 && !path && (letter.is_alphanumeric() || letter == '_') => {
                names.last_mut().unwrap().push(letter);
            }
            _ => {}
        }
    }
    names
}

/// What a root re-exports: name and room.
fn exports(text: &str) -> Vec<(String, String)> {
    let given = Regex::new(r"pub use (?:crate::)?(\w+)::([^;]*);").unwrap();
    let name = Regex::new(r"\w+").unwrap();
    given
        .captures_iter(text)
        .flat_map(|found| {
            let (room, names) = (found[1].to_owned(), found.get(2).unwrap().as_str());
            let names: Vec<_> = name.find_iter(names).map(|name| name.as_str().to_owned()).collect();
            names.into_iter().map(move |name| (name, room.clone()))
        })
        .collect()
}

/// `text` without comments and without literals of text.
fn without_comments_and_literals(text: &str) -> String {
    static THOSE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r##"(?s)//[^\n]*|/\*.*?\*/|\br#".*?"#|\br"[^"]*"|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'"##).unwrap()
    });
    THOSE.replace_all(text, " ").into_owned()
}

const TEST: &str = "#[cfg(test)]";

/// The end of the item that begins at the start of `text`: its semicolon, or its last brace.
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

/// `text` without its items for tests.
fn without_tests(text: &str) -> String {
    let mut parts = text.split(TEST);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, item| before + &item[item_end(item)..])
}

/// The modules that are there for tests only, and lie in files of their own.
fn test_modules(text: &str) -> impl Iterator<Item = String> {
    let module = Regex::new(r"\bmod (\w+);").unwrap();
    let items = text.split(TEST).skip(1);
    items.filter_map(move |item| Some(module.captures(&item[..item_end(item)])?[1].to_owned()))
}

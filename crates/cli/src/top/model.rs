//! State of the view, and the effect of each key.

use super::keys::Key;
use super::objects::{Listed, ObjectsSnapshot, Wanted};
use super::rows::{self, List, Row, RowKey, Source};
use crate::args::Filter;
use crate::live::clock::Now;
use crate::live::fleet_feed::FleetSnapshot;
use crate::orders::{Order, Outcome, Verb, Whom};
use std::collections::{BTreeMap, BTreeSet};

const MAX_TYPED_CHARS: usize = 120;

/// Magnification, in half steps.
const ZOOM_RANGE: std::ops::RangeInclusive<i32> = -12..=24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    List(List),
    Map,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Over {
    Help,
    Details(RowKey),
    Confirm(Order),
    Outcome(Outcome),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    Command(String),
    /// Typed text, and the previous filter.
    Find(String, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Quit,
    /// Gives the terminal back until the person continues (Ctrl-Z).
    Suspend,
    /// Draws everything again (Ctrl-L).
    Redraw,
    Give(Order),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Viewport {
    /// Steps from a map of everything.
    pub zoom: i32,
    /// Steps to the east and to the north.
    pub shift: (i32, i32),
}

#[derive(Debug, Clone, Default)]
struct Cursor {
    key: Option<RowKey>,
    index: usize,
}

#[derive(Debug)]
pub struct Model {
    pub route: String,
    pub objects_from: String,
    pub filter: Filter,
    pub fleet: FleetSnapshot,
    pub objects: ObjectsSnapshot,
    pub view: View,
    pub over: Option<Over>,
    pub scroll: usize,
    pub prompt: Option<Prompt>,
    pub find: String,
    /// Shown until the next key.
    pub notice: Option<String>,
    pub pending: usize,
    pub marked: BTreeSet<RowKey>,
    pub viewport: Viewport,
    orders: BTreeMap<usize, rows::Order>,
    cursors: BTreeMap<usize, Cursor>,
    pub page: usize,
}

impl Model {
    pub fn new(route: String, filter: Filter) -> Self {
        Self {
            route,
            objects_from: String::new(),
            filter,
            fleet: FleetSnapshot::default(),
            objects: ObjectsSnapshot::default(),
            view: View::List(List::Drones),
            over: None,
            scroll: 0,
            prompt: None,
            find: String::new(),
            notice: None,
            pending: 0,
            marked: BTreeSet::new(),
            viewport: Viewport::default(),
            orders: BTreeMap::new(),
            cursors: BTreeMap::new(),
            page: 10,
        }
    }

    pub const fn source(&self, now: Now) -> Source<'_> {
        Source {
            fleet: &self.fleet,
            objects: &self.objects,
            filter: &self.filter,
            now,
        }
    }

    /// The map has the list of vehicles.
    pub const fn list(&self) -> List {
        match self.view {
            View::List(list) => list,
            View::Map => List::Vehicles,
        }
    }

    pub fn rows(&self, now: Now) -> Vec<Row> {
        let mut rows = self.source(now).rows(self.list());
        rows::keep(&mut rows, &self.find);
        if let Some(order) = self.order() {
            rows::sort(&mut rows, order);
        }
        rows
    }

    /// `None`: the list's own order.
    pub fn order(&self) -> Option<rows::Order> {
        self.orders.get(&number(self.list())).copied()
    }

    pub fn selected(&self, rows: &[Row]) -> Option<usize> {
        let cursor = self.cursors.get(&number(self.list())).cloned().unwrap_or_default();
        let by_key = cursor.key.and_then(|key| rows.iter().position(|row| row.key == key));
        // A row that is gone is replaced by the one in its place.
        by_key.or_else(|| rows.len().checked_sub(1).map(|last| cursor.index.min(last)))
    }

    pub fn wanted(&self) -> Wanted {
        Wanted {
            list: match self.view {
                View::List(List::Swarms) => Some(Listed::Swarms),
                View::List(List::Missions) => Some(Listed::Missions),
                View::List(List::Vehicles) | View::Map => Some(Listed::Vehicles),
                View::List(List::Drones) => None,
            },
            details: match &self.over {
                Some(Over::Details(key)) => key.object(),
                _ => None,
            },
        }
    }

    pub fn answered(&mut self, outcome: Outcome) {
        self.pending = self.pending.saturating_sub(1);
        // An order to confirm must not move under the person's finger.
        if matches!(self.over, Some(Over::Confirm(_))) {
            let failed = outcome.answers.iter().filter(|(_, done)| !done).count();
            let verdict = if failed == 0 { "done" } else { "NOT done in full" };
            self.notice = Some(format!("{}: {verdict}", outcome.verb.word()));
            return;
        }
        self.show(Over::Outcome(outcome));
    }

    pub fn press(&mut self, key: Key, now: Now) -> Option<Effect> {
        self.notice = None;
        match key {
            Key::Ctrl('c') => return Some(Effect::Quit),
            Key::Ctrl('z') => return Some(Effect::Suspend),
            Key::Ctrl('l') => return Some(Effect::Redraw),
            _ => {}
        }
        if let Some(prompt) = self.prompt.take() {
            return self.typed(prompt, key, now);
        }
        match self.over.take() {
            Some(over) => self.press_over(over, key, now),
            None => self.press_view(key, now),
        }
    }

    fn show(&mut self, over: Over) {
        (self.over, self.scroll) = (Some(over), 0);
    }

    fn press_over(&mut self, over: Over, key: Key, now: Now) -> Option<Effect> {
        match (&over, key) {
            (Over::Confirm(order), Key::Char('y')) => {
                self.pending += 1;
                self.marked.clear();
                return Some(Effect::Give(order.clone()));
            }
            (Over::Confirm(_), Key::Esc | Key::Char('n' | 'q')) => {
                self.notice = Some("nothing was ordered".to_owned());
                return None;
            }
            (Over::Outcome(_), Key::Enter) | (Over::Help, Key::Char('?')) => return None,
            (Over::Help | Over::Outcome(_) | Over::Details(_), Key::Esc | Key::Char('q')) => return None,
            (Over::Details(key_of), Key::Char(letter @ ('g' | 'r' | 'u'))) => {
                let of = key_of.clone();
                self.over = Some(over);
                return self.ask(letter, &[of], now);
            }
            (_, Key::Up | Key::Char('k')) => self.scroll = self.scroll.saturating_sub(1),
            (_, Key::Down | Key::Char('j')) => self.scroll = self.scroll.saturating_add(1),
            (_, Key::PageUp | Key::Ctrl('b')) => self.scroll = self.scroll.saturating_sub(self.page),
            (_, Key::PageDown | Key::Ctrl('f') | Key::Char(' ')) => self.scroll = self.scroll.saturating_add(self.page),
            (_, Key::Home) => self.scroll = 0,
            (_, Key::End) => self.scroll = usize::MAX,
            _ => {}
        }
        self.over = Some(over);
        None
    }

    fn press_view(&mut self, key: Key, now: Now) -> Option<Effect> {
        match key {
            Key::Char('q') => return Some(Effect::Quit),
            Key::Char('?') => self.show(Over::Help),
            Key::Char(':') => self.prompt = Some(Prompt::Command(String::new())),
            Key::Char('/') => self.prompt = Some(Prompt::Find(self.find.clone(), self.find.clone())),
            Key::Char('1') => self.go(View::List(List::Drones)),
            Key::Char('2') => self.go(View::List(List::Swarms)),
            Key::Char('3') => self.go(View::List(List::Vehicles)),
            Key::Char('4') => self.go(View::List(List::Missions)),
            Key::Char('5' | 'm') => self.go(View::Map),
            Key::Esc if !self.marked.is_empty() => self.marked.clear(),
            Key::Esc if !self.find.is_empty() => self.find.clear(),
            Key::Esc if self.view == View::Map => self.viewport = Viewport::default(),
            Key::Char(letter @ ('g' | 'r' | 'u')) => {
                let of = self.meant(now);
                return self.ask(letter, &of, now);
            }
            Key::Enter | Key::Char('d') => {
                let rows = self.rows(now);
                if let Some(index) = self.selected(&rows) {
                    self.show(Over::Details(rows[index].key.clone()));
                }
            }
            Key::Char(' ') => {
                let rows = self.rows(now);
                if let Some(index) = self.selected(&rows) {
                    let key = rows[index].key.clone();
                    if !self.marked.remove(&key) {
                        self.marked.insert(key);
                    }
                    self.select(&rows, index + 1);
                }
            }
            _ if self.view == View::Map && self.move_map(key) => {}
            Key::Up | Key::Char('k') => self.step(now, |index, _| index.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.step(now, |index, _| index + 1),
            Key::PageUp | Key::Ctrl('b') => self.step(now, |index, page| index.saturating_sub(page)),
            Key::PageDown | Key::Ctrl('f') => self.step(now, |index, page| index + page),
            Key::Home => self.step(now, |_, _| 0),
            Key::End => self.step(now, |_, _| usize::MAX),
            Key::Char(letter) if letter.is_ascii_uppercase() => self.sort_by(letter),
            _ => {}
        }
        None
    }

    fn move_map(&mut self, key: Key) -> bool {
        let Viewport { zoom, shift } = &mut self.viewport;
        match key {
            Key::Char('+' | '=') => *zoom = (*zoom + 1).min(*ZOOM_RANGE.end()),
            Key::Char('-') => *zoom = (*zoom - 1).max(*ZOOM_RANGE.start()),
            Key::Char('0') => self.viewport = Viewport::default(),
            Key::Left => shift.0 -= 1,
            Key::Right => shift.0 += 1,
            Key::Up => shift.1 += 1,
            Key::Down => shift.1 -= 1,
            _ => return false,
        }
        true
    }

    fn go(&mut self, view: View) {
        if self.view != view {
            self.view = view;
            self.marked.clear();
        }
    }

    fn step(&mut self, now: Now, to: impl FnOnce(usize, usize) -> usize) {
        let rows = self.rows(now);
        let index = self.selected(&rows).unwrap_or(0);
        self.select(&rows, to(index, self.page.max(1)));
    }

    fn select(&mut self, rows: &[Row], index: usize) {
        let index = index.min(rows.len().saturating_sub(1));
        let key = rows.get(index).map(|row| row.key.clone());
        self.cursors.insert(number(self.list()), Cursor { key, index });
    }

    fn sort_by(&mut self, letter: char) {
        let list = self.list();
        let Some(column) = list.columns().iter().position(|column| column.key == letter) else {
            return;
        };
        let reversed = self
            .order()
            .is_some_and(|order| order.column == column && !order.reversed);
        self.orders.insert(number(list), rows::Order { column, reversed });
    }

    /// Marked rows, else the selected one.
    fn meant(&self, now: Now) -> Vec<RowKey> {
        if !self.marked.is_empty() {
            return self.marked.iter().cloned().collect();
        }
        let rows = self.rows(now);
        let index = self.selected(&rows);
        index.map(|index| rows[index].key.clone()).into_iter().collect()
    }

    fn ask(&mut self, letter: char, of: &[RowKey], now: Now) -> Option<Effect> {
        let verb = match letter {
            'g' => Verb::Ground,
            'r' => Verb::Release,
            _ => Verb::Resume,
        };
        let rows = self.source(now).rows(self.list());
        let drones = |key: &RowKey| {
            let row = rows.iter().find(|row| row.key == *key);
            let drones = row.map(|row| row.drones.clone()).unwrap_or_default();
            drones.into_iter().map(|(namespace, name)| Whom::Drone(namespace, name))
        };
        let named = |key: &RowKey| key.whom().map_or_else(|| drones(key).collect(), |whom| vec![whom]);
        let whom: Vec<Whom> = match verb {
            Verb::Ground | Verb::Release => of.iter().flat_map(named).collect(),
            Verb::Resume => of.iter().flat_map(drones).collect(),
        };
        if whom.is_empty() {
            self.notice = Some(match verb {
                Verb::Resume => "only Drones are resumed; none is selected".to_owned(),
                Verb::Ground | Verb::Release if of.is_empty() => "nothing is selected".to_owned(),
                Verb::Ground | Verb::Release => {
                    "no Drone flies this Mission now; spec.suspend keeps it from beginning".to_owned()
                }
            });
            return None;
        }
        self.show(Over::Confirm(Order { verb, whom }));
        None
    }

    fn typed(&mut self, prompt: Prompt, key: Key, now: Now) -> Option<Effect> {
        let (mut text, before) = match prompt {
            Prompt::Command(text) => (text, None),
            Prompt::Find(text, before) => (text, Some(before)),
        };
        match (key, &before) {
            (Key::Esc, Some(before)) => {
                self.find.clone_from(before);
                return None;
            }
            (Key::Esc, None) => return None,
            (Key::Enter, Some(_)) => {
                self.find = text;
                return None;
            }
            (Key::Enter, None) => return self.command(text.trim(), now),
            (Key::Backspace, _) if text.is_empty() => {
                return None;
            }
            (Key::Backspace, _) => {
                text.pop();
            }
            (Key::Ctrl('u' | 'w'), _) => text.clear(),
            (Key::Char(c), _) if text.chars().count() < MAX_TYPED_CHARS => text.push(c),
            _ => {}
        }
        if before.is_some() {
            self.find.clone_from(&text);
        }
        self.prompt = Some(match before {
            None => Prompt::Command(text),
            Some(before) => Prompt::Find(text, before),
        });
        None
    }

    fn command(&mut self, text: &str, now: Now) -> Option<Effect> {
        match text {
            "" => {}
            "q" | "q!" | "quit" | "exit" => return Some(Effect::Quit),
            "drones" | "drone" | "dr" => self.go(View::List(List::Drones)),
            "swarms" | "swarm" | "sw" => self.go(View::List(List::Swarms)),
            "vehicles" | "vehicle" | "vh" => self.go(View::List(List::Vehicles)),
            "missions" | "mission" | "ms" => self.go(View::List(List::Missions)),
            "map" => self.go(View::Map),
            "help" | "h" | "?" => self.show(Over::Help),
            "ground all" | "release all" => {
                let verb = if text.starts_with('g') {
                    Verb::Ground
                } else {
                    Verb::Release
                };
                let whom = vec![Whom::All];
                self.show(Over::Confirm(Order { verb, whom }));
            }
            "ground" | "release" | "resume" => {
                let of = self.meant(now);
                let letter = match text {
                    "ground" => 'g',
                    "release" => 'r',
                    _ => 'u',
                };
                return self.ask(letter, &of, now);
            }
            _ => {
                self.notice = Some(format!(
                    "there is no command :{text}; there are drones, swarms, vehicles, missions, map, ground [all], release [all], resume, help, quit"
                ));
            }
        }
        None
    }
}

const fn number(list: List) -> usize {
    match list {
        List::Drones => 0,
        List::Swarms => 1,
        List::Vehicles => 2,
        List::Missions => 3,
    }
}

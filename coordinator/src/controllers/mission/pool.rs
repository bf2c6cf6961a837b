//! Surveys that are planned beside the controllers: what one namespace's work costs delays nobody else's.
//!
//! Owns: [`Pool`]: the queue, in which namespaces take turns, and the results until they are fetched. Must not: decide what is planned when.

use super::work::Job;
use crds::MissionSpec;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// Areas with so few corners are planned at once: that takes less than to wait for another thread.
const CORNERS_AT_ONCE: usize = 16;

/// Surveys that are planned at the same time: one core stays free for all else.
const AT_A_TIME: usize = 1;

/// Surveys of one namespace that wait; of more, the rest is asked for again later.
const MOST_WAITING: usize = 256;

/// The reason of a Mission whose survey the planner fails at.
const FAULT: &str = "spec.survey: planning it ended in a fault of this program, which its log has; change the area or the spacing, and report it";

/// The work of a Mission in one of its generations.
type Of = (String, Option<i64>);

/// Cheap to clone; clones share state.
#[derive(Clone, Default)]
pub struct Pool(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    waiting: BTreeMap<String, VecDeque<(Of, MissionSpec)>>,
    /// The namespace whose turn was last.
    last: Option<String>,
    /// What is planned now.
    planning: Vec<Of>,
    done: HashMap<Of, Result<Job, String>>,
}

/// What became of a request.
pub enum Asked {
    /// It is planned.
    Job(Result<Job, String>),
    /// It waits behind so many others, or is planned now.
    Waits(usize),
}

impl Pool {
    /// The work of the Mission with this `uid` and `generation`, as `spec` describes it; begins to plan it.
    pub fn job(&self, (namespace, uid): (&str, &str), generation: Option<i64>, spec: &MissionSpec) -> Asked {
        if corners(spec) <= CORNERS_AT_ONCE {
            return Asked::Job(Job::of(spec, None));
        }
        let of = (uid.to_owned(), generation);
        let mut queue = self.lock();
        let job = queue.done.remove(&of);
        // Nobody asks for another generation of it again.
        queue.done.retain(|(known, _), _| *known != of.0);
        if let Some(job) = job {
            return Asked::Job(job);
        }
        if !queue.planning.contains(&of) {
            queue.put(namespace, &of, spec);
            if queue.planning.len() < AT_A_TIME
                && let Some(first) = queue.take()
            {
                let pool = self.clone();
                tokio::task::spawn_blocking(move || pool.plan(first, |spec| Job::of(spec, None)));
            }
        }
        Asked::Waits(queue.before(&of))
    }

    /// Forgets what was asked for Missions that are not `known`.
    pub fn retain(&self, known: impl Fn(&str) -> bool) {
        let mut queue = self.lock();
        queue.done.retain(|(uid, _), _| known(uid));
        for waiting in queue.waiting.values_mut() {
            waiting.retain(|((uid, _), _)| known(uid));
        }
    }

    /// Plans one after the other, until none waits. A planner that panics fails at one Mission only, which says so.
    fn plan(&self, first: (Of, MissionSpec), planner: impl Fn(&MissionSpec) -> Result<Job, String>) {
        let mut next = Some(first);
        while let Some((of, spec)) = next {
            let job = catch_unwind(AssertUnwindSafe(|| planner(&spec))).unwrap_or_else(|_| Err(FAULT.to_owned()));
            let mut queue = self.lock();
            queue.planning.retain(|planning| *planning != of);
            if !queue.is_overtaken(&of) {
                queue.done.insert(of, job);
            }
            next = queue.take();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Puts one at the end of its namespace's row, in the place of an older generation of it.
    fn put(&mut self, namespace: &str, of: &Of, spec: &MissionSpec) {
        let row = self.waiting.entry(namespace.to_owned()).or_default();
        let is_full = row.len() >= MOST_WAITING;
        match row.iter_mut().find(|((uid, _), _)| *uid == of.0) {
            Some(known) => *known = (of.clone(), spec.clone()),
            None if is_full => {}
            None => row.push_back((of.clone(), spec.clone())),
        }
    }

    /// The first of the namespace whose turn it is.
    fn take(&mut self) -> Option<(Of, MissionSpec)> {
        self.waiting.retain(|_, row| !row.is_empty());
        let after = |name: &&String| self.last.as_ref().is_none_or(|last| *name > last);
        let turn = self.waiting.keys().find(after).or_else(|| self.waiting.keys().next())?;
        let turn = turn.clone();
        let next = self.waiting.get_mut(&turn)?.pop_front();
        self.last = Some(turn);
        if let Some((of, _)) = &next {
            self.planning.push(of.clone());
        }
        next
    }

    /// Whether a newer generation of it waits.
    fn is_overtaken(&self, of: &Of) -> bool {
        let mut waiting = self.waiting.values().flatten();
        waiting.any(|((uid, generation), _)| *uid == of.0 && *generation > of.1)
    }

    /// How many are planned before it: those of its own row, and as many turns of each other namespace.
    fn before(&self, of: &Of) -> usize {
        let place = |row: &VecDeque<(Of, MissionSpec)>| row.iter().position(|(waiting, _)| waiting == of);
        let own = self.waiting.values().find_map(place);
        own.map_or(0, |own| {
            let turns = self.waiting.values().map(|row| row.len().min(own + 1)).sum::<usize>();
            self.planning.len() + turns.saturating_sub(1)
        })
    }
}

/// The corners of the area of a survey, with those of its holes.
fn corners(spec: &MissionSpec) -> usize {
    let area = spec.survey.as_ref().map(|survey| &survey.area);
    area.map_or(0, |area| {
        let holes = area.holes.iter().map(|hole| hole.polygon.len());
        area.polygon.len() + holes.sum::<usize>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A round field with so many corners.
    fn spec(corners: u32) -> MissionSpec {
        let corner = |number: u32| {
            let (east, north) = (f64::from(number) / f64::from(corners) * std::f64::consts::TAU).sin_cos();
            json!({"latitudeDegrees": 47.4 + 0.002 * north, "longitudeDegrees": 8.5 + 0.002 * east})
        };
        let polygon: Vec<_> = (0..corners).map(corner).collect();
        let survey = json!({"area": {"polygon": polygon}, "lineSpacingMeters": 20.0, "altitudeMeters": 30.0});
        serde_json::from_value(json!({"survey": survey})).unwrap()
    }

    fn of(uid: &str) -> Of {
        (uid.to_owned(), Some(1))
    }

    #[test]
    fn namespaces_take_turns_however_much_one_of_them_asks_for() {
        let mut queue = Queue::default();
        for number in 0..100 {
            queue.put("hostile", &of(&format!("h{number}")), &spec(20));
        }
        for name in ["a", "b", "z"] {
            queue.put(name, &of(name), &spec(20));
        }
        assert_eq!(queue.before(&of("z")), 3);
        assert_eq!(queue.before(&of("h99")), 102);
        let turns: Vec<String> = (0..6).map(|_| queue.take().unwrap().0.0).collect();
        assert_eq!(turns, ["a", "b", "h0", "z", "h1", "h2"]);
        for number in 100..1000 {
            queue.put("hostile", &of(&format!("h{number}")), &spec(20));
        }
        assert_eq!(queue.waiting["hostile"].len(), MOST_WAITING);
    }

    #[test]
    fn an_edit_takes_the_place_of_what_waits() {
        let mut queue = Queue::default();
        queue.put("a", &of("one"), &spec(20));
        queue.put("a", &of("two"), &spec(20));
        queue.put("a", &("one".to_owned(), Some(2)), &spec(30));
        let (of, taken) = queue.take().unwrap();
        assert_eq!((of.1, corners(&taken)), (Some(2), 30));
        assert_eq!(queue.waiting["a"].len(), 1);
    }

    #[test]
    fn of_a_mission_that_is_edited_again_and_again_no_result_but_the_newest_is_kept() {
        let pool = Pool::default();
        let edited = |generation| ("one".to_owned(), Some(generation));
        let first = {
            let mut queue = pool.lock();
            queue.put("a", &edited(1), &spec(20));
            let first = queue.take().unwrap();
            queue.put("a", &edited(2), &spec(20));
            first
        };
        pool.plan(first, |spec| Job::of(spec, None));
        let kept = || pool.lock().done.keys().cloned().collect::<Vec<Of>>();
        assert_eq!(kept(), [edited(2)], "it was edited while the first was planned");
        // Another is planned meanwhile.
        pool.lock().planning.push(of("two"));
        assert!(matches!(pool.job(("a", "one"), Some(3), &spec(20)), Asked::Waits(_)));
        assert!(kept().is_empty());
    }

    #[test]
    fn a_survey_at_which_the_planner_panics_is_refused_and_those_behind_it_are_planned() {
        let pool = Pool::default();
        let first = {
            let mut queue = pool.lock();
            queue.put("a", &of("one"), &spec(20));
            queue.put("b", &of("two"), &spec(30));
            queue.take().unwrap()
        };
        pool.plan(first, |spec| {
            assert_ne!(corners(spec), 20, "a fault");
            Job::of(spec, None)
        });
        let ask = |namespace, uid, corners| pool.job((namespace, uid), Some(1), &spec(corners));
        assert!(matches!(ask("b", "two", 30), Asked::Job(Ok(_))));
        match ask("a", "one", 20) {
            Asked::Job(Err(why)) => assert_eq!(why, FAULT),
            _ => panic!("it is planned for ever"),
        }
        assert!(pool.lock().planning.is_empty());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_large_survey_is_planned_beside_whoever_asks_and_a_small_one_at_once() {
        let pool = Pool::default();
        let ask = |corners| pool.job(("a", "one"), Some(1), &spec(corners));
        assert!(matches!(ask(16), Asked::Job(Ok(_))));
        assert!(matches!(ask(40), Asked::Waits(0)));
        let planned = async {
            loop {
                tokio::task::yield_now().await;
                if let Asked::Job(job) = ask(40) {
                    return job;
                }
            }
        };
        let job = tokio::time::timeout(std::time::Duration::from_secs(30), planned)
            .await
            .unwrap();
        assert!(job.is_ok());
        assert!(matches!(ask(40), Asked::Waits(_)), "fetched once");
        pool.retain(|_| false);
    }
}

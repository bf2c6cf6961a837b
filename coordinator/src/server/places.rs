//! Limits of streams of people: in all, and of one person, so that one keeps no other from having any.

use crate::server::auth::Who;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tonic::Status;

#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// There are too many in all, with what to do.
    pub full: &'static str,
    /// What one person does too often; completes "they …".
    pub own: &'static str,
    /// What they have to end one of.
    pub end: &'static str,
}

/// Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct Places {
    taken: Arc<Mutex<BTreeMap<String, usize>>>,
    most: usize,
    most_of_one: usize,
    words: Words,
}

/// One place; dropping it frees it, however its task has ended.
#[derive(Debug)]
pub struct Place {
    taken: Arc<Mutex<BTreeMap<String, usize>>>,
    name: String,
}

impl Places {
    pub fn new(most: usize, most_of_one: usize, words: Words) -> Self {
        Self {
            taken: Arc::default(),
            most,
            most_of_one,
            words,
        }
    }

    /// Takes one for `who`, or RESOURCE_EXHAUSTED.
    pub fn take(&self, who: &Who) -> Result<Place, Status> {
        let Words { full, own: does, end } = self.words;
        let name = who.name();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.values().sum::<usize>() >= self.most {
            return Err(Status::resource_exhausted(full));
        }
        let own = taken.get(&name).copied().unwrap_or_default();
        // Where links are not secured, callers cannot be distinguished.
        if own >= self.most_of_one && *who != Who::Unauthenticated {
            let why = format!("{name} {does} {own} times already; end another {end}");
            return Err(Status::resource_exhausted(why));
        }
        taken.insert(name.clone(), own + 1);
        drop(taken);
        Ok(Place {
            taken: Arc::clone(&self.taken),
            name,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.name) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.remove(&self.name);
            }
        }
    }
}

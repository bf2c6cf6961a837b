//! The rules of one vehicle, made again only when their ingredients change.

use super::objects::{Fence, Values};
use fleet::planning::geofence::{Compiled, NoFence, ReturnLimit, Wanted, compile_around, suits_home};
use fleet::planning::parameters::{NoParameters, Profile, Resolved, Variables, compose, resolve};
use model::geo::offset;
use model::ids::Term;
use model::report::Report;
use model::rules::{MOST_PARAMETERS, Rules, WantedParameter};
use model::units::{AltitudeAboveHome, Wgs84};
use model::vehicle::{Autopilot, Identity};
use std::sync::Arc;

/// A home that has moved less since compiling is the same: autopilots correct theirs, and home has several meters to every edge.
const HOME_EPSILON_M: f64 = 0.5;

/// Compiled fences, for all vehicles whose homes make no difference to them.
#[derive(Debug, Default)]
pub struct Fences(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    fences: Vec<Arc<Fence>>,
    autopilot: Autopilot,
    home: Wgs84,
    /// Homes within this many meters give the same fence.
    same: f64,
    compiled: Result<Compiled, NoFence>,
}

/// A few for each site.
const MAX_KEPT: usize = 256;

impl Fences {
    fn compile(&mut self, of: &Ingredients) -> Result<Compiled, NoFence> {
        let wanted: Vec<&Wanted> = of.fences.iter().map(|fence| &*fence.wanted).collect();
        let known = of.home.and_then(|home| {
            self.0.iter().find(|entry| {
                let near = || distance(entry.home, home) < entry.same;
                entry.autopilot == of.autopilot
                    && same(&entry.fences, &of.fences)
                    && near()
                    && suits_home(&entry.compiled, &wanted, home)
            })
        });
        if let Some(entry) = known {
            return entry.compiled.clone();
        }
        let (compiled, same) = compile_around(&wanted, of.autopilot, of.home);
        if let Some(home) = of.home.filter(|_| same > 0.0) {
            if self.0.len() >= MAX_KEPT {
                self.0.remove(0);
            }
            self.0.push(Entry {
                fences: of.fences.clone(),
                autopilot: of.autopilot,
                home,
                same,
                compiled: compiled.clone(),
            });
        }
        compiled
    }

    /// Forgets those of objects that are gone or have changed.
    pub fn keep(&mut self, fences: &[Arc<Fence>]) {
        let is_there = |fence: &Arc<Fence>| fences.iter().any(|other| Arc::ptr_eq(fence, other));
        self.0.retain(|entry| entry.fences.iter().all(is_there));
    }
}

fn distance(one: Wgs84, other: Wgs84) -> f64 {
    let (east, north) = offset(one, other);
    east.hypot(north)
}

#[derive(Debug)]
pub struct Made {
    of: Ingredients,
    pub fence: Arc<Result<Compiled, NoFence>>,
    pub values: Arc<Result<Resolved, NoParameters>>,
    /// With all values that are wanted.
    pub all: Arc<Rules>,
    /// Without values.
    pub none: Arc<Rules>,
    other: Option<(Vec<WantedParameter>, Arc<Rules>)>,
}

#[derive(Debug)]
struct Ingredients {
    term: Term,
    fences: Vec<Arc<Fence>>,
    profiles: Vec<Arc<Values>>,
    autopilot: Autopilot,
    home: Option<Wgs84>,
    returns: Option<AltitudeAboveHome>,
    variables: Variables,
}

impl Ingredients {
    fn makes_same_fence(&self, before: &Self) -> bool {
        let same_home = match (self.home, before.home) {
            (Some(one), Some(other)) => distance(one, other) <= HOME_EPSILON_M,
            (one, other) => one == other,
        };
        // Whether there is a fence waits for the altitude of the return to be known.
        let same_return = self.returns.is_some() == before.returns.is_some();
        same(&self.fences, &before.fences) && self.autopilot == before.autopilot && same_home && same_return
    }

    fn makes_same_values(&self, before: &Self) -> bool {
        same(&self.profiles, &before.profiles)
            && self.variables == before.variables
            && self.returns == before.returns
            && self.term == before.term
    }
}

fn same<T>(one: &[Arc<T>], other: &[Arc<T>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
}

impl Made {
    /// The rules of `before`, as far as nothing of them has changed.
    pub fn renewed(
        before: Option<Self>,
        (fences, profiles): (&[&Arc<Fence>], &[&Arc<Values>]),
        (report, identity): (&Report, &Identity),
        variables: &Variables,
        (term, known): (Term, &mut Fences),
    ) -> Self {
        let of = Ingredients {
            term,
            fences: fences.iter().map(|&fence| Arc::clone(fence)).collect(),
            profiles: profiles.iter().map(|&values| Arc::clone(values)).collect(),
            autopilot: identity.autopilot,
            home: report.home.map(|home| home.at),
            returns: report.return_height,
            variables: *variables,
        };
        let fence = match before {
            Some(before) if of.makes_same_fence(&before.of) => {
                if of.makes_same_values(&before.of) {
                    return before;
                }
                // The home that it was compiled for stays, so that one that drifts is compared with that.
                let of = Ingredients {
                    home: before.of.home,
                    ..of
                };
                return Self::with_fence(of, before.fence);
            }
            _ => Arc::new(fence(&of, known)),
        };
        Self::with_fence(of, fence)
    }

    fn with_fence(of: Ingredients, fence: Arc<Result<Compiled, NoFence>>) -> Self {
        let mut values = values(&of, fence.as_ref().as_ref().ok());
        if let (Ok(values), Some(limit)) = (&mut values, limit(&fence)) {
            limit.overrule(values);
        }
        let wanted = values.as_ref().map(|values| &values.parameters[..]).unwrap_or_default();
        let rules = |values: &[WantedParameter]| Arc::new(rules(&of, &fence, values));
        let (all, none) = (rules(wanted), rules(&[]));
        Self {
            of,
            fence,
            values: Arc::new(values),
            all,
            none,
            other: None,
        }
    }

    pub fn with(&mut self, granted: &[WantedParameter]) -> Arc<Rules> {
        if let Ok(values) = &*self.values
            && values.parameters == granted
        {
            return Arc::clone(&self.all);
        }
        if granted.is_empty() {
            return Arc::clone(&self.none);
        }
        if let Some((of, rules)) = &self.other
            && of == granted
        {
            return Arc::clone(rules);
        }
        let rules = Arc::new(rules(&self.of, &self.fence, granted));
        self.other = Some((granted.to_vec(), Arc::clone(&rules)));
        rules
    }

    pub const fn term(&self) -> Term {
        self.of.term
    }

    /// Whether the parameter may belong to the fence.
    pub fn is_own(&self, name: &str) -> bool {
        self.is_own_beside(name, &[])
    }

    /// Whether the parameter belongs to the fence, beside these values of profiles.
    pub fn is_own_beside(&self, name: &str, granted: &[WantedParameter]) -> bool {
        let Ok(compiled) = &*self.fence else { return false };
        let limits = compiled.returns.as_ref().is_some_and(|limit| {
            let by_profile = granted.iter().any(|value| value.name == name && limit.allows(value));
            limit.name == name && !by_profile
        });
        limits || compiled.parameters.iter().any(|own| own.name == name)
    }
}

fn limit(fence: &Result<Compiled, NoFence>) -> Option<&ReturnLimit> {
    fence.as_ref().ok()?.returns.as_ref()
}

fn fence(of: &Ingredients, known: &mut Fences) -> Result<Compiled, NoFence> {
    let compiled = known.compile(of)?;
    // Its unreadable part is missing here, so the fence on board stays.
    let faulty = of.fences.iter().find_map(|fence| Some((fence, fence.fault.as_ref()?)));
    if let Some((fence, fault)) = faulty {
        return Err(NoFence::Faulty {
            geofence: fence.name.clone(),
            fault: fault.clone(),
        });
    }
    if compiled.returns.is_some() && of.returns.is_none() {
        return Err(NoFence::NoReturnHeight);
    }
    Ok(compiled)
}

fn values(of: &Ingredients, compiled: Option<&Compiled>) -> Result<Resolved, NoParameters> {
    let own = compiled.map_or(&[][..], |compiled| &compiled.parameters[..]);
    let profiles: Vec<&Profile> = of.profiles.iter().map(|values| &values.profile).collect();
    let resolved = resolve(&profiles, of.autopilot, &of.variables, own)?;
    let limit = compiled.and_then(|compiled| compiled.returns.as_ref());
    let by_profile = |limit: &ReturnLimit| resolved.parameters.iter().any(|wanted| wanted.name == limit.name);
    let limited = usize::from(limit.is_some_and(|limit| !by_profile(limit)));
    let all = resolved.parameters.len() + own.len() + limited;
    if all > MOST_PARAMETERS {
        return Err(NoParameters::TooMany(all));
    }
    let faulty = of.profiles.iter().find(|values| values.is_unread);
    if let Some((values, fault)) = faulty.and_then(|values| Some((values, values.fault.as_ref()?))) {
        return Err(NoParameters::Faulty {
            profile: values.profile.name.clone(),
            fault: fault.clone(),
        });
    }
    Ok(resolved)
}

/// Without a fence: the values alone, which are not sent.
fn rules(of: &Ingredients, fence: &Result<Compiled, NoFence>, values: &[WantedParameter]) -> Rules {
    let none = Compiled::default();
    let compiled = fence.as_ref().unwrap_or(&none);
    let limit = compiled.returns.as_ref();
    let returns = limit
        .zip(of.returns)
        .and_then(|(limit, now)| limit.parameter(now, values));
    let may = |value: &&WantedParameter| {
        compiled.parameters.iter().all(|own| own.name != value.name) && limit.is_none_or(|limit| limit.allows(value))
    };
    let mut all: Vec<WantedParameter> = compiled.parameters.iter().cloned().chain(returns).collect();
    // Values granted before there was a fence may leave no room for all, and the fence goes first.
    let room = MOST_PARAMETERS.saturating_sub(all.len());
    all.extend(values.iter().filter(may).take(room).cloned());
    compose(of.term, compiled.fence.clone(), all)
}

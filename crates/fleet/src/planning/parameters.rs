//! ParameterProfiles of a vehicle's autopilot, as one list of values, and the [`Rules`] of which they are a part.
//!
//! Owns: [`Profile`], which value counts where several name a parameter ([`resolve`]), the digest of rules ([`compose`]).
//! [`model::denied_parameters`] has what no profile may set, [`rollout`] which vehicle gets changed values next.
//! Must not: know MAVLink or Kubernetes, or count a value as set: only what was read back is.
//!
//! Higher precedence wins. Different values of one precedence are a conflict, and nothing is chosen. What belongs to a fence
//! ([`crate::planning::geofence`]) wins over all profiles.

mod expression;
pub mod rollout;
pub mod settings;

pub use expression::{BadExpression, Variable, Variables};
use model::denied_parameters;
use model::ids::Term;
use model::parameter_meaning;
use model::rules::{Enforce, Fence, MOST_PARAMETERS, Outline, Rules, RulesDigest, Side, WantedParameter};
use model::vehicle::Autopilot;
pub use settings::{Action, Setting, SettingValue};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    pub name: String,
    pub precedence: i32,
    pub enforce: Enforce,
    /// Whether autopilots may be rebooted for it, on the ground and idle.
    pub may_reboot: bool,
    /// By name: numbers, or `{{ expressions }}`.
    pub ardupilot: BTreeMap<String, String>,
    pub px4: BTreeMap<String, String>,
    /// Values for every autopilot, by meaning.
    pub settings: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoParameters {
    #[error("ParameterProfile {profile}: {fault}")]
    Faulty { profile: String, fault: String },
    #[error(
        "ParameterProfile {profile}: {name:?} is no parameter name; write 1 to 16 capital letters, digits and _, a letter first"
    )]
    Name { profile: String, name: String },
    #[error("ParameterProfile {profile}: {name} cannot be set by a profile: {why}; remove it")]
    Denied {
        profile: String,
        name: String,
        why: &'static str,
    },
    #[error("ParameterProfile {profile}: {name}: {why}")]
    Value {
        profile: String,
        name: String,
        why: BadExpression,
    },
    #[error("ParameterProfile {profile}: {name}: {why}; correct the value")]
    Implausible {
        profile: String,
        /// The parameter, or the setting.
        name: String,
        why: String,
    },
    #[error(
        "ParameterProfile {profile}: {first} and {second} are one parameter; give it once, best under spec.settings, where it fits every version"
    )]
    Twice {
        profile: String,
        first: String,
        second: String,
    },
    #[error(
        "ParameterProfiles {one} and {other} have the same precedence and want {name} to be {first} and {second}; give one of them a higher spec.precedence, or change the value"
    )]
    Conflict {
        one: String,
        other: String,
        name: String,
        first: f64,
        second: f64,
    },
    #[error(
        "{0} parameters are wanted of the vehicle, and {MOST_PARAMETERS} are the most; remove some from its ParameterProfiles"
    )]
    TooMany(usize),
}

impl Profile {
    pub const fn values(&self, autopilot: Autopilot) -> &BTreeMap<String, String> {
        match autopilot {
            Autopilot::ArduPilot => &self.ardupilot,
            Autopilot::Px4 => &self.px4,
        }
    }

    /// # Errors
    /// The first invalid value, whichever vehicle the profile selects.
    pub fn check(&self) -> Result<(), NoParameters> {
        let any = Variables {
            slot: Some(1),
            number: Some(1),
            system_id: Some(1),
        };
        for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
            for want in self.wants(autopilot)? {
                let is_expression = matches!(want.value, WantedValue::Text(text) if text.contains("{{"));
                match self.evaluate(autopilot, &want, &any) {
                    // A value that divides by zero, or is too low, here may suit other vehicles.
                    Ok(_)
                    | Err(NoParameters::Value {
                        why: BadExpression::NoNumber(_),
                        ..
                    }) => {}
                    Err(NoParameters::Implausible { .. }) if is_expression => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn wants(&self, autopilot: Autopilot) -> Result<Vec<Want<'_>>, NoParameters> {
        let settings = self.settings.iter().filter_map(|setting| {
            let name = setting.name(autopilot)?.name;
            let value = match &setting.value {
                SettingValue::Number(text) => WantedValue::Text(text),
                SettingValue::Action(action) => WantedValue::Number(action.code(autopilot, setting.meaning)?),
            };
            Some(Want {
                name,
                value,
                field: Some(setting.field),
            })
        });
        let raw = self.values(autopilot).iter().map(|(name, text)| Want {
            name,
            value: WantedValue::Text(text),
            field: None,
        });
        let wants: Vec<Want<'_>> = settings.chain(raw).collect();
        let mut known: BTreeMap<&str, &Want<'_>> = BTreeMap::new();
        for want in &wants {
            if let Some(first) = known.insert(parameter_meaning::newest(autopilot, want.name), want) {
                return Err(NoParameters::Twice {
                    profile: self.name.clone(),
                    first: first.words(),
                    second: want.words(),
                });
            }
        }
        Ok(wants)
    }

    /// In the unit of the parameter's name.
    fn evaluate(&self, autopilot: Autopilot, want: &Want<'_>, of: &Variables) -> Result<f64, NoParameters> {
        let value = match (want.value, want.field) {
            (WantedValue::Text(text), None) => self.value(autopilot, want.name, text, of)?,
            (WantedValue::Text(text), Some(_)) => {
                let value = expression::evaluate(text, of).and_then(|value| expression::fits(autopilot, value));
                let value = value.map_err(|why| NoParameters::Value {
                    profile: self.name.clone(),
                    name: want.words(),
                    why,
                })?;
                // The newest name has the unit of the meaning.
                parameter_meaning::find(autopilot, want.name).map_or(value, |(_, name)| name.write(value))
            }
            (WantedValue::Number(value), _) => value,
        };
        match parameter_meaning::implausible(autopilot, want.name, value) {
            Some(why) => Err(NoParameters::Implausible {
                profile: self.name.clone(),
                name: want.words(),
                why,
            }),
            None => Ok(value),
        }
    }

    fn value(&self, autopilot: Autopilot, name: &str, text: &str, of: &Variables) -> Result<f64, NoParameters> {
        let profile = || self.name.clone();
        let named = name.len() <= 16
            && name.starts_with(|c: char| c.is_ascii_uppercase())
            && name
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if !named {
            return Err(NoParameters::Name {
                profile: profile(),
                name: name.chars().take(32).collect(),
            });
        }
        let refused = |why| NoParameters::Denied {
            profile: profile(),
            name: name.to_owned(),
            why,
        };
        if let Some(why) = denied_parameters::name(autopilot, name) {
            return Err(refused(why));
        }
        let value = expression::evaluate(text, of).and_then(|value| expression::fits(autopilot, value));
        let value = value.map_err(|why| NoParameters::Value {
            profile: profile(),
            name: name.to_owned(),
            why,
        })?;
        match denied_parameters::value(autopilot, name, value) {
            Some(why) => Err(refused(why)),
            None => Ok(value),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    /// By name, each once.
    pub parameters: Vec<WantedParameter>,
    /// The profile of each parameter, without those of a fence.
    pub owners: BTreeMap<String, String>,
    pub overruled: Vec<Overruled>,
    /// Of unknown variables: the parameter, its profile, the variable.
    pub waiting: Vec<(String, String, Variable)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overruled {
    pub name: String,
    pub profile: String,
    /// The profile whose value counts; `None`: a Geofence's.
    pub by: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Want<'a> {
    name: &'a str,
    value: WantedValue<'a>,
    /// The field of the settings; `None`: named as the autopilot has it.
    field: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
enum WantedValue<'a> {
    Text(&'a str),
    Number(f64),
}

impl Want<'_> {
    fn words(&self) -> String {
        self.field
            .map_or_else(|| self.name.to_owned(), |field| format!("settings.{field}"))
    }
}

struct Claim<'a> {
    profile: &'a Profile,
    name: &'a str,
    any_name: bool,
    value: f64,
}

/// The values of `profiles`, which all select the vehicle, beside its `fence`'s parameters.
///
/// # Errors
/// [`NoParameters`], naming the profile and what to change.
pub fn resolve(
    profiles: &[&Profile],
    autopilot: Autopilot,
    of: &Variables,
    fence: &[WantedParameter],
) -> Result<Resolved, NoParameters> {
    let mut sorted = profiles.to_vec();
    sorted.sort_by(|one, other| (other.precedence, &one.name).cmp(&(one.precedence, &other.name)));
    let mut claims: BTreeMap<&str, Claim<'_>> = BTreeMap::new();
    let mut resolved = Resolved::default();
    let overruled = |name: &str, profile: &Profile, by: Option<&Profile>| Overruled {
        name: name.to_owned(),
        profile: profile.name.clone(),
        by: by.map(|profile| profile.name.clone()),
    };
    let in_meaning =
        |name: &str, value: f64| parameter_meaning::find(autopilot, name).map_or(value, |(_, known)| known.read(value));
    for profile in sorted {
        for want in profile.wants(autopilot)? {
            let name = want.name;
            let newest = parameter_meaning::newest(autopilot, name);
            if fence
                .iter()
                .any(|wanted| parameter_meaning::newest(autopilot, &wanted.name) == newest)
            {
                resolved.overruled.push(overruled(name, profile, None));
                continue;
            }
            let waits = resolved
                .waiting
                .iter()
                .find(|(waiting, ..)| parameter_meaning::newest(autopilot, waiting) == newest);
            let value = match profile.evaluate(autopilot, &want, of) {
                Ok(value) => value,
                Err(NoParameters::Value {
                    why: BadExpression::Unknown(variable),
                    ..
                }) => {
                    if !claims.contains_key(newest) && waits.is_none() {
                        resolved.waiting.push((name.to_owned(), profile.name.clone(), variable));
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some((_, before, _)) = waits {
                // The winner has no value yet; another's is not used meanwhile.
                let by = profiles.iter().find(|profile| profile.name == *before).copied();
                let lost = overruled(name, profile, by);
                resolved.overruled.push(lost);
                continue;
            }
            match claims.get(newest) {
                None => {
                    let any_name = want.field.is_some();
                    claims.insert(
                        newest,
                        Claim {
                            profile,
                            name,
                            any_name,
                            value,
                        },
                    );
                }
                #[allow(clippy::float_cmp, reason = "the same text gives the same value")]
                Some(claim)
                    if claim.profile.precedence == profile.precedence
                        && in_meaning(claim.name, claim.value) != in_meaning(name, value) =>
                {
                    return Err(NoParameters::Conflict {
                        one: claim.profile.name.clone(),
                        other: profile.name.clone(),
                        name: newest.to_owned(),
                        first: in_meaning(claim.name, claim.value),
                        second: in_meaning(name, value),
                    });
                }
                Some(claim) => resolved.overruled.push(overruled(name, profile, Some(claim.profile))),
            }
        }
    }
    for claim in claims.into_values() {
        resolved
            .owners
            .insert(claim.name.to_owned(), claim.profile.name.clone());
        resolved.parameters.push(WantedParameter {
            name: claim.name.to_owned(),
            value: claim.value,
            enforce: claim.profile.enforce,
            may_reboot: claim.profile.may_reboot,
            any_name: claim.any_name,
        });
    }
    let all = resolved.parameters.len() + fence.len();
    if all > MOST_PARAMETERS {
        return Err(NoParameters::TooMany(all));
    }
    Ok(resolved)
}

/// With their digest. The order of `parameters` does not matter.
pub fn compose(term: Term, fence: Option<Fence>, mut parameters: Vec<WantedParameter>) -> Rules {
    parameters.sort_by(|one, other| one.name.cmp(&other.name));
    Rules {
        term,
        digest: digest(fence.as_ref(), &parameters),
        fence,
        parameters,
    }
}

/// For each part the first 128 bits of the SHA-256 of a text with each value exactly once: positions on the grid of the wire, other numbers
/// by their bits.
fn digest(fence: Option<&Fence>, parameters: &[WantedParameter]) -> RulesDigest {
    let mut shapes = String::new();
    for shape in fence.iter().flat_map(|fence| &fence.shapes) {
        let side = match shape.side {
            Side::Inside => "inside",
            Side::Outside => "outside",
        };
        let at = |at: &model::units::Wgs84| {
            let grid = |degrees: f64| (degrees * 1e7).round();
            format!(" {} {}", grid(at.latitude_deg), grid(at.longitude_deg))
        };
        let _ = match &shape.outline {
            Outline::Polygon(vertices) => {
                writeln!(shapes, "{side} polygon{}", vertices.iter().map(at).collect::<String>())
            }
            Outline::Circle { center, radius } => {
                writeln!(shapes, "{side} circle{} {:016x}", at(center), radius.0.to_bits())
            }
        };
    }
    let mut values = String::new();
    for WantedParameter {
        name,
        value,
        enforce,
        may_reboot,
        any_name,
    } in parameters
    {
        let enforce = match enforce {
            Enforce::Apply => "apply",
            Enforce::Report => "report",
        };
        // Left out where it is not so: rules from before the field keep their digest.
        let any_name = if *any_name { " any name" } else { "" };
        let bits = (value + 0.0).to_bits();
        let _ = writeln!(values, "{name} {bits:016x} {enforce} {may_reboot}{any_name}");
    }
    RulesDigest(part("fence", &shapes) + &part("parameters", &values))
}

fn part(what: &str, text: &str) -> String {
    if text.is_empty() {
        return "0".repeat(RulesDigest::PART);
    }
    let hash = Sha256::digest(format!("skein {what} 2\n{text}"));
    let mut digits = String::new();
    for byte in hash.iter().take(RulesDigest::PART / 2) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests;

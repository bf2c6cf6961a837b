//! The command lines about a Swarm: `skein ground` and `skein release`.
//!
//! Owns: how a person names a Swarm. Must not: do anything.

use super::WhereArgs;
use crate::failure::Failure;
use clap::Args;
use std::fmt;
use std::str::FromStr;

/// Arguments of `skein ground` and `skein release`.
#[derive(Debug, Args)]
#[group(skip)]
pub struct GroundArgs {
    /// Which coordinator.
    #[command(flatten)]
    pub place: WhereArgs,
    /// The Swarm, as NAME or NAMESPACE/NAME.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub swarm: Option<SwarmRef>,
    /// Namespace of the Swarm.
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "all")]
    pub namespace: Option<String>,
    /// Every Swarm and every Drone of every namespace.
    #[arg(long)]
    pub all: bool,
}

impl GroundArgs {
    /// With the namespace that was named before the command, or `usual`, where none was named for a Swarm.
    ///
    /// # Errors
    /// All of all namespaces were asked for as well.
    pub fn default_namespace(
        &mut self,
        before: Option<String>,
        usual: impl FnOnce() -> Option<String>,
    ) -> Result<(), Failure> {
        let Some(swarm) = &self.swarm else {
            return match before {
                None => Ok(()),
                Some(_) => Err(Failure::Usage(
                    "-n and --all exclude one another: leave out one of them".to_owned(),
                )),
            };
        };
        if self.namespace.is_none() {
            self.namespace = before;
        }
        if self.namespace.is_none() && swarm.namespace.is_none() {
            self.namespace = usual();
        }
        Ok(())
    }
}

/// A Swarm as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwarmRef {
    /// The namespace, when it was given with the name.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl FromStr for SwarmRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, text),
        };
        if name.is_empty() || name.contains('/') || namespace.as_deref() == Some("") {
            return Err("give the Swarm as NAME or NAMESPACE/NAME".into());
        }
        Ok(Self {
            namespace,
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for SwarmRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

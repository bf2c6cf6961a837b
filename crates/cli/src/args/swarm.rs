//! The command lines about a Swarm: `skein ground` and `skein release`.

use super::WhereArgs;
use super::drone::ObjectRef;
use crate::failure::Failure;
use clap::{ArgGroup, Args};
use fleet::planning::selector::Selector;

/// Arguments of `skein ground` and `skein release`.
#[derive(Debug, Args)]
#[group(skip)]
#[command(group = ArgGroup::new("which").required(true).args(["swarm", "selector", "all", "drone", "vehicle"]))]
pub struct GroundArgs {
    /// Which coordinator.
    #[command(flatten)]
    pub place: WhereArgs,
    /// The Swarm, as NAME or NAMESPACE/NAME.
    pub swarm: Option<ObjectRef>,
    /// Swarms and Drones by their labels, as kubectl's -l has it: team=red,model in (a,b),!retired
    ///
    /// A Drone counts with its own labels and those of its Swarm, a Swarm with its own and those of its template. A Swarm that
    /// matches is meant as a whole, else each of its Drones that matches. What it selects when the order is given stays covered,
    /// and so does what it selects later, where you may ground all there. `skein status -l` shows the same Drones.
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<Selector>,
    /// One Drone, as NAME or NAMESPACE/NAME.
    #[arg(long, value_name = "DRONE")]
    pub drone: Option<ObjectRef>,
    /// The vehicle of one node, whatever Drone it serves, now and later.
    #[arg(long, visible_alias = "node", value_name = "NODE")]
    pub vehicle: Option<String>,
    /// Namespace of the Swarm or Drone, or the only one in which --selector selects.
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with_all = ["all", "all_namespaces", "vehicle"])]
    pub namespace: Option<String>,
    /// With --selector: in all namespaces; this is the default.
    #[arg(short = 'A', long, requires = "selector", conflicts_with_all = ["all", "swarm", "drone", "vehicle"])]
    pub all_namespaces: bool,
    /// Every Swarm and every Drone of every namespace.
    #[arg(long)]
    pub all: bool,
}

impl GroundArgs {
    /// Falls back to the namespace named `before` the command, or to `usual` for a Swarm. Without one a selector
    /// selects in all namespaces, as `skein status` shows all. Errors: all namespaces and one were asked for.
    pub fn default_namespace(
        &mut self,
        before: Option<String>,
        usual: impl FnOnce() -> Option<String>,
    ) -> Result<(), Failure> {
        let clash = |with: &str| {
            Err(Failure::Usage(format!(
                "-n and {with} exclude one another: leave out one of them"
            )))
        };
        let Some(swarm) = self.swarm.as_ref().or(self.drone.as_ref()) else {
            match (before, &self.selector) {
                (None, _) => {}
                (Some(_), None) if self.vehicle.is_some() => return clash("--vehicle"),
                (Some(_), None) => return clash("--all"),
                (Some(_), Some(_)) if self.all_namespaces => return clash("-A"),
                (before, Some(_)) => self.namespace = self.namespace.take().or(before),
            }
            return Ok(());
        };
        if self.namespace.is_none() {
            self.namespace = before;
        }
        if self.namespace.is_none() && !swarm.names_namespace() {
            self.namespace = usual();
        }
        Ok(())
    }
}

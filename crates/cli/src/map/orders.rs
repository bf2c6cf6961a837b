//! Ground, release and resume from the page.

use super::vehicles;
use crate::orders::{Order, Outcome, Verb, Whom};
use crate::vehicle::Vehicle;
use proto::v1;
use serde::Deserialize;
use serde_json::{Value, json};

const MAX_NAMED: usize = 500;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    verb: AskedVerb,
    whom: Vec<AskedWhom>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum AskedVerb {
    Ground,
    Release,
    Resume,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum AskedWhom {
    Swarm(String),
    Drone(String),
    Node(String),
    All(bool),
}

impl Asked {
    pub fn order(self) -> Result<Order, String> {
        let verb = match self.verb {
            AskedVerb::Ground => Verb::Ground,
            AskedVerb::Release => Verb::Release,
            AskedVerb::Resume => Verb::Resume,
        };
        if self.whom.is_empty() || self.whom.len() > MAX_NAMED {
            return Err(format!("{} are named; name 1 to {MAX_NAMED}", self.whom.len()));
        }
        let mut whom = self
            .whom
            .into_iter()
            .map(AskedWhom::whom)
            .collect::<Result<Vec<_>, _>>()?;
        if verb == Verb::Resume && whom.iter().any(|whom| !matches!(whom, Whom::Drone(..))) {
            return Err("only Drones are resumed; select those".to_owned());
        }
        whom.sort();
        whom.dedup();
        Ok(Order { verb, whom })
    }
}

impl AskedWhom {
    fn whom(self) -> Result<Whom, String> {
        let both = |text: String| {
            let found = text
                .split_once('/')
                .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
            found
                .map(|(namespace, name)| (namespace.to_owned(), name.to_owned()))
                .ok_or_else(|| format!("{text:?} is no name; give NAMESPACE/NAME"))
        };
        match self {
            Self::Swarm(text) => both(text).map(|(namespace, name)| Whom::Swarm(namespace, name)),
            Self::Drone(text) => both(text).map(|(namespace, name)| Whom::Drone(namespace, name)),
            Self::Node(name) if name.is_empty() => Err("a node has no name; give it".to_owned()),
            Self::Node(name) => Ok(Whom::Node(name)),
            Self::All(true) => Ok(Whom::All),
            Self::All(false) => Err("\"all\": false names no vehicle; leave it out".to_owned()),
        }
    }
}

pub fn preview(order: &Order, fleet: &[v1::Vehicle]) -> Value {
    let concerns: Vec<Value> = fleet
        .iter()
        .filter(|vehicle| order.concerns(vehicle))
        .map(|vehicle| {
            let shown = Vehicle::from(vehicle.clone());
            let mut one = json!({"id": vehicles::id(vehicle), "title": shown.title()});
            if let Some(flying) = shown.flying {
                one["flying"] = json!(flying);
            }
            one
        })
        .collect();
    json!({
        "verb": order.verb.word(),
        "does": order.verb.does(),
        "whom": order.whom.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "concerns": concerns,
    })
}

pub fn answers(outcome: &Outcome) -> Value {
    let answers: Vec<Value> = outcome
        .answers
        .iter()
        .map(|(text, done)| json!({"text": text, "done": done}))
        .collect();
    json!({"answers": answers})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::tests::holding;

    fn order(asked: Value) -> Result<Order, String> {
        serde_json::from_value::<Asked>(asked)
            .map_err(|why| why.to_string())?
            .order()
    }

    #[test]
    fn an_order_names_whom_it_concerns_before_it_is_given() {
        let order = order(
            json!({"verb": "ground", "whom": [{"drone": "default/a"}, {"node": "node-c"}, {"drone": "default/a"}]}),
        )
        .unwrap();
        assert_eq!(order.whom.len(), 2);
        let shown = preview(&order, &[holding("a"), holding("b"), holding("c")]);
        assert_eq!(shown["concerns"].as_array().unwrap().len(), 2, "{shown}");
        assert_eq!(
            shown["concerns"][0],
            json!({"id": "drone/default/a", "title": "default/a", "flying": true})
        );
        assert_eq!(shown["whom"], json!(["Drone default/a", "the vehicle of node node-c"]));
    }

    #[test]
    fn of_whom_nothing_is_known_is_not_said_to_be_on_the_ground() {
        let order = order(json!({"verb": "ground", "whom": [{"all": true}]})).unwrap();
        let mut vehicle = holding("a");
        vehicle.agent_connected = false;
        let shown = preview(&order, &[vehicle]);
        assert!(shown["concerns"][0].get("flying").is_none(), "{shown}");
    }

    #[test]
    fn an_order_without_a_clear_target_is_none() {
        for (asked, why) in [
            (json!({"verb": "ground", "whom": []}), "name 1 to 500"),
            (json!({"verb": "ground", "whom": [{"all": false}]}), "names no vehicle"),
            (
                json!({"verb": "ground", "whom": [{"drone": "a"}]}),
                "give NAMESPACE/NAME",
            ),
            (
                json!({"verb": "resume", "whom": [{"all": true}]}),
                "only Drones are resumed",
            ),
            (json!({"verb": "kill", "whom": [{"all": true}]}), "unknown variant"),
            (json!({"verb": "ground"}), "missing field"),
            (
                json!({"verb": "ground", "whom": [{"all": true}], "now": 1}),
                "unknown field",
            ),
        ] {
            let text = order(asked.clone()).unwrap_err();
            assert!(text.contains(why), "{asked}: {text}");
        }
    }
}

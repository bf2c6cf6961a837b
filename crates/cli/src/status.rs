//! `skein status`: the fleet as it is now.

use crate::args::{Filter, Format, StatusArgs};
use crate::failure::Failure;
use crate::output::Output;
use crate::route::Route;
use crate::server::{Server, Which};
use crate::table::{self, Layout};
use crate::vehicle::{Vehicle, shown};
use std::fmt::Write as _;
use std::io::Write as _;

pub async fn run(route: &Route, args: &StatusArgs, out: &Output) -> Result<(), Failure> {
    let answer = Server::connect(route).await?.list(&Which::from(&args.filter)).await?;
    let vehicles = shown(answer, &args.filter);
    let layout = Layout {
        one_namespace: args.filter.namespace.is_some(),
        color: out.color,
        // Never cut, for the sake of the message.
        ..Layout::default()
    };
    let text = format(&vehicles, args.output, layout).map_err(std::io::Error::other)?;
    if text.is_empty() {
        let _ = writeln!(std::io::stderr(), "{}", nothing(&args.filter));
    }
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// For standard error, so that programs read an empty answer.
pub fn nothing(filter: &Filter) -> &'static str {
    if filter.namespace.is_some() || filter.swarm.is_some() || filter.selector.is_some() {
        "No such Drones."
    } else {
        "No Drones, and no agent is connected."
    }
}

fn format(vehicles: &[Vehicle], format: Format, layout: Layout) -> serde_json::Result<String> {
    Ok(match format {
        Format::Table => table::render(vehicles, layout),
        Format::Wide => table::render(vehicles, Layout { wide: true, ..layout }),
        Format::Json => format!(
            "{}\n",
            serde_json::to_string_pretty(&serde_json::json!({"vehicles": vehicles}))?
        ),
        Format::Name => vehicles
            .iter()
            .filter(|v| !v.drone.is_empty())
            .fold(String::new(), |mut text, v| {
                let _ = writeln!(text, "drone.skein.dev/{}", v.drone);
                text
            }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::tests::{holding, pending};
    use proto::v1;

    fn fleet() -> Vec<Vehicle> {
        let idle = v1::Vehicle {
            node: "spare".into(),
            phase: "Idle".into(),
            ..v1::Vehicle::default()
        };
        vec![holding("a").into(), pending("b").into(), idle.into()]
    }

    #[test]
    fn names_are_those_that_kubectl_takes_and_idle_vehicles_have_none() {
        assert_eq!(
            format(&fleet(), Format::Name, Layout::default()).unwrap(),
            "drone.skein.dev/a\ndrone.skein.dev/b\n"
        );
    }

    #[test]
    fn programs_can_distinguish_unknown_from_not_flying() {
        let text = format(&fleet(), Format::Json, Layout::default()).unwrap();
        let tree: serde_json::Value = serde_json::from_str(&text).unwrap();
        let vehicles = &tree["vehicles"];
        assert_eq!(
            (&vehicles[0]["flying"], &vehicles[0]["node"]),
            (&true.into(), &"node-a".into())
        );
        assert_eq!(vehicles[1]["flying"], false);
        assert!(vehicles[2].as_object().unwrap().contains_key("flying") && vehicles[2]["flying"].is_null());
        assert_eq!(vehicles[0]["position"]["altitudeAboveHomeMeters"], 10.04);
        assert_eq!(vehicles[2]["phase"], "Idle");
    }

    #[test]
    fn no_vehicles_are_an_empty_list_for_programs() {
        let text = format(&[], Format::Json, Layout::default()).unwrap();
        assert_eq!(text.split_whitespace().collect::<String>(), r#"{"vehicles":[]}"#);
    }
}

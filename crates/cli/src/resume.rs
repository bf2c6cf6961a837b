//! `skein resume`.

use crate::args::{ObjectKey, ResumeArgs, Resumed};
use crate::failure::Failure;
use crate::route::Route;
use crate::server::Server;
use crate::vehicle::Vehicle;
use proto::v1;
use std::io::Write;

pub async fn run(route: &Route, args: &ResumeArgs) -> Result<(), Failure> {
    let meant = args.meant().map_err(Failure::Usage)?;
    let mut server = Server::connect(route).await?;
    let text = match meant {
        Resumed::Drone(drone) => resumed(&drone, &server.resume(&drone).await?),
        Resumed::Vehicle(node) => stood_up(&node, &server.stand_up(&node).await?),
    };
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

fn stood_up(node: &str, answer: &v1::ResumeResponse) -> String {
    let flew_for = answer.stood_down.as_ref().map_or_else(String::new, |down| {
        format!(" It had flown for Drone {}/{}.", down.drone_namespace, down.drone_name)
    });
    format!("The vehicle of node {node} may fly again, for any Drone that is bound to it.{flew_for}")
}

pub(crate) fn resumed(drone: &ObjectKey, answer: &v1::ResumeResponse) -> String {
    let of = |n: u32| {
        if n == 1 {
            "1 takeover".to_owned()
        } else {
            format!("{n} takeovers")
        }
    };
    let vehicle = answer.vehicle.clone().map(Vehicle::from).unwrap_or_default();
    let next = match vehicle.activity.as_deref() {
        Some("HandsOffOtherMode") => format!(
            "Its vehicle is still in somebody else's mode ({}); Skein takes it up when it is back in one of its own.",
            vehicle.mode.as_deref().unwrap_or("unknown")
        ),
        Some("HandsOffFlightOver") => {
            "Its vehicle is on the ground and stays there: ground and release it to fly again.".to_owned()
        }
        _ => "Skein takes its vehicle up again now (`skein watch`).".to_owned(),
    };
    format!("Drone {drone} goes on after {}. {next}", of(answer.takeovers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::tests::holding;

    #[test]
    fn the_output_says_what_the_vehicle_still_waits_for() {
        let drone = ObjectKey {
            namespace: "field".into(),
            name: "goose".into(),
        };
        let text = |activity: v1::Activity, takeovers| {
            let mut vehicle = holding("goose");
            if let Some(report) = vehicle.report.as_mut() {
                report.activity = activity.into();
            }
            let vehicle = Some(vehicle);
            let answer = v1::ResumeResponse {
                takeovers,
                vehicle,
                stood_down: None,
            };
            resumed(&drone, &answer)
        };
        assert_eq!(
            text(v1::Activity::HandsOffTakenOver, 1),
            "Drone field/goose goes on after 1 takeover. Skein takes its vehicle up again now (`skein watch`)."
        );
        let still = text(v1::Activity::HandsOffOtherMode, 2);
        assert!(
            still.contains("after 2 takeovers") && still.contains("(AUTO.LOITER)"),
            "{still}"
        );
        assert!(text(v1::Activity::HandsOffFlightOver, 1).contains("ground and release it"));
        let down = v1::StandDown {
            drone_namespace: "field".into(),
            drone_name: "goose".into(),
            ..v1::StandDown::default()
        };
        let answer = v1::ResumeResponse {
            stood_down: Some(down),
            ..v1::ResumeResponse::default()
        };
        assert_eq!(
            stood_up("pine", &answer),
            "The vehicle of node pine may fly again, for any Drone that is bound to it. It had flown for Drone field/goose."
        );
    }
}

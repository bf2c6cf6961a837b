//! Conversions of a Mission to types of `fleet`, and of waypoints to a Mission.

use super::{Action, ActionType, Corner, Route, Survey, SurveyPattern, Waypoint};
use crate::drone::AltitudeReference;
use fleet::planning::mission::{self, BadSurvey, Pattern, Spacing};
use model::plan::{self, BadRoute};
use model::station::Altitude;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Heading, Meters, MetersPerSecond, Percent, Wgs84};
use std::time::Duration;

impl Route {
    pub fn to_route(&self) -> Result<plan::Route, BadRoute> {
        plan::Route::new(self.waypoints.iter().map(waypoint).collect())
    }

    pub fn of_waypoints(waypoints: &[plan::Waypoint]) -> Self {
        Self {
            waypoints: waypoints.iter().map(written).collect(),
        }
    }
}

impl Survey {
    /// Errors: [`BadSurvey`], a bad area; planning finds the rest.
    pub fn to_survey(&self) -> Result<mission::Survey, BadSurvey> {
        let ring = |corners: &[Corner]| corners.iter().map(place).collect::<Vec<Wgs84>>();
        let holes: Vec<Vec<Wgs84>> = self.area.holes.iter().map(|hole| ring(&hole.polygon)).collect();
        let heading = self.heading_degrees.map(Heading);
        let spacing = match &self.camera {
            Some(camera) => Spacing::Camera(mission::Camera {
                sensor_width_mm: camera.sensor_width_millimeters,
                sensor_height_mm: camera.sensor_height_millimeters,
                focal_length_mm: camera.focal_length_millimeters,
                side_overlap: percent(camera.side_overlap_percent),
                front_overlap: percent(camera.front_overlap_percent),
            }),
            // A missing distance is refused as zero.
            None => Spacing::Fixed(Meters(self.line_spacing_meters.unwrap_or_default())),
        };
        Ok(mission::Survey {
            area: mission::Area::new(&ring(&self.area.polygon), &holes)?,
            pattern: match self.pattern {
                SurveyPattern::Lines => Pattern::Lines { heading },
                SurveyPattern::ExpandingSquare => Pattern::ExpandingSquare {
                    center: self.center.as_ref().map(place),
                    heading: heading.unwrap_or(Heading(0.0)),
                },
            },
            spacing,
            altitude: altitude(self.altitude_meters, self.altitude_reference),
            speed: MetersPerSecond(self.speed_meters_per_second),
            trigger: self.photo_distance_meters.map(Meters),
        })
    }
}

fn place(corner: &Corner) -> Wgs84 {
    Wgs84 {
        latitude_deg: corner.latitude_degrees,
        longitude_deg: corner.longitude_degrees,
    }
}

/// An invalid percentage becomes 100, which is refused as an overlap.
fn percent(value: i32) -> Percent {
    u8::try_from(value).ok().and_then(Percent::new).unwrap_or(ALL)
}

const ALL: Percent = match Percent::new(100) {
    Some(all) => all,
    None => unreachable!(),
};

fn altitude(meters: f64, reference: AltitudeReference) -> Altitude {
    match reference {
        AltitudeReference::AboveHome => Altitude::AboveHome(AltitudeAboveHome(meters)),
        AltitudeReference::AboveMeanSeaLevel => Altitude::Amsl(AltitudeAmsl(meters)),
    }
}

fn waypoint(waypoint: &Waypoint) -> plan::Waypoint {
    plan::Waypoint {
        at: Wgs84 {
            latitude_deg: waypoint.latitude_degrees,
            longitude_deg: waypoint.longitude_degrees,
        },
        altitude: altitude(waypoint.altitude_meters, waypoint.altitude_reference),
        speed: waypoint.speed_meters_per_second.map(MetersPerSecond),
        // An invalid time becomes the longest, which is refused.
        hold: Duration::try_from_secs_f64(waypoint.hold_seconds).unwrap_or(Duration::MAX),
        heading: waypoint.heading_degrees.map(Heading),
        actions: waypoint.actions.iter().map(action).collect(),
    }
}

fn action(action: &Action) -> plan::Action {
    match action.kind {
        ActionType::Photo => plan::Action::Photo,
        ActionType::PhotoEvery => plan::Action::TriggerEvery(Meters(action.distance_meters.unwrap_or_default())),
        ActionType::EndPhotos => plan::Action::StopTrigger,
    }
}

fn written(waypoint: &plan::Waypoint) -> Waypoint {
    let (altitude_meters, altitude_reference) = match waypoint.altitude {
        Altitude::AboveHome(height) => (height.0, AltitudeReference::AboveHome),
        Altitude::Amsl(height) => (height.0, AltitudeReference::AboveMeanSeaLevel),
    };
    let action = |action: &plan::Action| match *action {
        plan::Action::Photo => Action {
            kind: ActionType::Photo,
            distance_meters: None,
        },
        plan::Action::TriggerEvery(distance) => Action {
            kind: ActionType::PhotoEvery,
            distance_meters: Some(distance.0),
        },
        plan::Action::StopTrigger => Action {
            kind: ActionType::EndPhotos,
            distance_meters: None,
        },
    };
    Waypoint {
        latitude_degrees: waypoint.at.latitude_deg,
        longitude_degrees: waypoint.at.longitude_deg,
        altitude_meters,
        altitude_reference,
        speed_meters_per_second: waypoint.speed.map(|speed| speed.0),
        hold_seconds: waypoint.hold.as_secs_f64(),
        heading_degrees: waypoint.heading.map(|heading| heading.0),
        actions: waypoint.actions.iter().map(action).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_that_is_written_down_says_the_same() {
        let route = plan::Route::new(vec![plan::Waypoint {
            at: Wgs84 {
                latitude_deg: 47.4,
                longitude_deg: 8.5,
            },
            altitude: Altitude::Amsl(AltitudeAmsl(500.0)),
            speed: Some(MetersPerSecond(6.0)),
            hold: Duration::from_millis(2500),
            heading: Some(Heading(90.0)),
            actions: vec![
                plan::Action::Photo,
                plan::Action::TriggerEvery(Meters(5.0)),
                plan::Action::StopTrigger,
            ],
        }]);
        let route = route.unwrap();
        assert_eq!(Route::of_waypoints(route.waypoints()).to_route(), Ok(route));
    }

    #[test]
    fn what_the_schema_would_refuse_is_refused_without_it_too() {
        let mut route = Route {
            waypoints: vec![Waypoint {
                altitude_meters: 20.0,
                hold_seconds: -1.0,
                ..Waypoint::default()
            }],
        };
        assert!(route.to_route().is_err());
        route.waypoints[0].hold_seconds = 0.0;
        assert!(route.to_route().is_ok());
        route.waypoints[0].actions = vec![Action {
            kind: ActionType::PhotoEvery,
            distance_meters: None,
        }];
        assert!(route.to_route().is_err());
    }
}

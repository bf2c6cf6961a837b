//! The plane around the fleet that the map shows.

use super::model::Viewport;
use proto::v1;

const METERS_PER_DEGREE: f64 = 111_195.0;

/// Each way.
const MIN_SHOWN_M: f64 = 20.0;

const MARGIN_RATIO: f64 = 1.25;

/// North and east.
pub type Degrees = (f64, f64);

/// East and north of the middle.
pub type Meters = (f64, f64);

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plane {
    middle: Degrees,
}

impl Plane {
    pub fn around(places: &[Degrees]) -> Option<Self> {
        let &(latitude, longitude) = places.first()?;
        let first = Self {
            middle: (latitude, longitude),
        };
        let on_it = places.iter().map(|place| first.meters(*place));
        let (mut west, mut south, mut east, mut north) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
        for (x, y) in on_it {
            (west, east) = (west.min(x), east.max(x));
            (south, north) = (south.min(y), north.max(y));
        }
        let (x, y) = (f64::midpoint(west, east), f64::midpoint(south, north));
        let middle = (
            latitude + y / METERS_PER_DEGREE,
            longitude + x / (METERS_PER_DEGREE * shrink(latitude)),
        );
        Some(Self { middle })
    }

    pub fn meters(&self, (latitude, longitude): Degrees) -> Meters {
        // The short way around the 180th meridian.
        let east = (longitude - self.middle.1 + 540.0).rem_euclid(360.0) - 180.0;
        (
            east * METERS_PER_DEGREE * shrink(self.middle.0),
            (latitude - self.middle.0) * METERS_PER_DEGREE,
        )
    }
}

/// Relative length of a degree of longitude.
fn shrink(latitude: f64) -> f64 {
    latitude.to_radians().cos().max(0.01)
}

/// `None` off the Earth.
pub fn place(latitude: f64, longitude: f64) -> Option<Degrees> {
    let real = latitude.is_finite() && longitude.is_finite() && latitude.abs() <= 90.0 && longitude.abs() <= 360.0;
    real.then_some((latitude, longitude))
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Places {
    pub at: Option<Degrees>,
    pub home: Option<Degrees>,
    /// Corners up to the place where it is to hold.
    pub route: Vec<Degrees>,
}

impl Places {
    pub fn of(vehicle: &v1::Vehicle) -> Self {
        let Some(report) = &vehicle.report else {
            return Self::default();
        };
        let at = report.position.as_ref();
        let order = report.route.as_ref().and_then(|route| route.order.as_ref());
        let corners = order.map(|order| order.places.as_slice()).unwrap_or_default();
        let of = |waypoint: &v1::Waypoint| place(waypoint.latitude_deg, waypoint.longitude_deg);
        Self {
            at: at.and_then(|at| place(at.latitude_deg, at.longitude_deg)),
            home: report.home.as_ref().and_then(of),
            route: corners.iter().filter_map(of).collect(),
        }
    }

    pub fn all(&self) -> impl Iterator<Item = Degrees> {
        self.at.into_iter().chain(self.home).chain(self.route.iter().copied())
    }
}

/// Part of the plane on a screen of dots, equally scaled in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    pub east: [f64; 2],
    pub north: [f64; 2],
    pub dot: f64,
}

impl Frame {
    pub fn showing(places: &[Meters], (width, height): (f64, f64), viewport: Viewport) -> Self {
        let far = places
            .iter()
            .fold((MIN_SHOWN_M / 2.0, MIN_SHOWN_M / 2.0), |far: Meters, (x, y)| {
                (far.0.max(x.abs()), far.1.max(y.abs()))
            });
        let (width, height) = (width.max(1.0), height.max(1.0));
        let fit = (2.0 * far.0 / width).max(2.0 * far.1 / height) * MARGIN_RATIO;
        let dot = fit / 1.5_f64.powi(viewport.zoom);
        let (wide, high) = (dot * width / 2.0, dot * height / 2.0);
        let (x, y) = (
            f64::from(viewport.shift.0) * wide / 4.0,
            f64::from(viewport.shift.1) * high / 4.0,
        );
        Self {
            east: [x - wide, x + wide],
            north: [y - high, y + high],
            dot,
        }
    }

    pub fn has(&self, (x, y): Meters) -> bool {
        (self.east[0]..=self.east[1]).contains(&x) && (self.north[0]..=self.north[1]).contains(&y)
    }

    /// A round length of at most `dots` dots, and its dots.
    pub fn scale(&self, dots: f64) -> (f64, f64) {
        let most = self.dot * dots;
        let power = 10_f64.powf(most.log10().floor());
        let steps = [5.0, 2.0, 1.0];
        let length = steps
            .into_iter()
            .map(|step| step * power)
            .find(|length| *length <= most);
        let length = length.unwrap_or(power);
        (length, length / self.dot)
    }
}

pub fn length_text(meters: f64) -> String {
    if meters >= 1000.0 {
        format!("{} km", meters / 1000.0)
    } else {
        format!("{meters} m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_degree_of_longitude_is_as_long_as_it_is_there_even_across_the_180th_meridian() {
        let plane = Plane::around(&[(60.0, 10.0)]).unwrap();
        let (x, y) = plane.meters((60.001, 10.001));
        assert!((x - 55.6).abs() < 0.1 && (y - 111.2).abs() < 0.1, "{x} {y}");
        let plane = Plane::around(&[(0.0, 179.999), (0.0, -179.999)]).unwrap();
        let (west, east) = (plane.meters((0.0, 179.999)).0, plane.meters((0.0, -179.999)).0);
        assert!(
            (west + 111.2).abs() < 0.1 && (east - 111.2).abs() < 0.1,
            "{west} {east}"
        );
        assert_eq!(Plane::around(&[]), None);
    }

    #[test]
    fn all_places_are_shown_with_equal_lengths_both_ways_until_a_person_looks_closer() {
        let places = [(-100.0, 5.0), (100.0, -5.0)];
        let frame = Frame::showing(&places, (160.0, 80.0), Viewport::default());
        assert!(places.iter().all(|place| frame.has(*place)));
        let (wide, high) = (frame.east[1] - frame.east[0], frame.north[1] - frame.north[0]);
        assert!((wide / 160.0 - high / 80.0).abs() < 1e-9);
        let closer = Viewport { zoom: 2, shift: (0, 0) };
        assert!(!Frame::showing(&places, (160.0, 80.0), closer).has(places[0]));
        let alone = Frame::showing(&[(0.0, 0.0)], (160.0, 80.0), Viewport::default());
        assert!(alone.dot > 0.0 && alone.has((0.0, 0.0)));
    }

    #[test]
    fn the_scale_is_of_a_round_length_that_fits() {
        for dot in [0.03, 0.2, 1.0, 3.7, 900.0] {
            let frame = Frame {
                east: [0.0, 1.0],
                north: [0.0, 1.0],
                dot,
            };
            let (length, dots) = frame.scale(40.0);
            assert!((10.0..=40.0).contains(&dots), "{dot}: {length} in {dots}");
            assert!((length / dot - dots).abs() < 1e-9);
        }
        assert_eq!((length_text(50.0), length_text(2000.0)), ("50 m".into(), "2 km".into()));
    }

    #[test]
    fn a_place_that_is_none_is_not_shown() {
        assert_eq!(place(f64::NAN, 0.0), None);
        assert_eq!(place(91.0, 0.0), None);
        let mut vehicle = crate::vehicle::tests::holding("a");
        assert_eq!(Places::of(&vehicle).all().count(), 1);
        vehicle.report = None;
        assert_eq!(Places::of(&vehicle).all().count(), 0);
    }
}

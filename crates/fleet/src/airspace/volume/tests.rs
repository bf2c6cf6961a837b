//! Shapes against points picked from them.

use super::*;
use proptest::prelude::*;

fn place() -> impl Strategy<Value = Local> {
    (-60.0..60.0, -60.0..60.0, 0.0..40.0).prop_map(|(east, north, up)| Local { east, north, up })
}

#[derive(Clone, Debug)]
struct Shape {
    places: Vec<Local>,
    radius: f64,
    tall: f64,
}

impl Shape {
    fn tube(&self) -> Tube {
        Tube::around(&self.places, self.radius, self.tall, self.tall)
    }

    /// A point of it, by five numbers from 0 to 1.
    fn point(&self, n: &[f64; 5]) -> Local {
        let mut shares: Vec<f64> = n[..self.places.len()].iter().map(|share| share + 1e-6).collect();
        let sum: f64 = shares.iter().sum::<f64>();
        shares.iter_mut().for_each(|share| *share /= sum);
        let mix = |part: fn(&Local) -> f64| self.places.iter().zip(&shares).map(|(p, s)| part(p) * s).sum::<f64>();
        let angle = n[3] * std::f64::consts::TAU;
        let (low, high) = self
            .places
            .iter()
            .fold((f64::MAX, f64::MIN), |(l, h), p| (l.min(p.up), h.max(p.up)));
        Local {
            east: mix(|p| p.east) + self.radius * n[4] * angle.cos(),
            north: mix(|p| p.north) + self.radius * n[4] * angle.sin(),
            up: low - self.tall + (high - low + 2.0 * self.tall) * n[0],
        }
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    (prop::collection::vec(place(), 1..=3), 0.1..6.0, 0.1..6.0).prop_map(|(places, radius, tall)| Shape {
        places,
        radius,
        tall,
    })
}

fn numbers() -> impl Strategy<Value = Vec<[f64; 5]>> {
    prop::collection::vec(prop::array::uniform5(0.0..=1.0), 40)
}

proptest! {
    #[test]
    fn no_points_of_two_that_are_clear_are_nearer_than_the_separation(
        (one, other, some, others) in (shape(), shape(), numbers(), numbers())
    ) {
        let rules = Rules::default();
        let clear = one.tube().clear_of(&other.tube(), &rules);
        prop_assert_eq!(clear, other.tube().clear_of(&one.tube(), &rules));
        if clear {
            for p in &some {
                for q in &others {
                    let (p, q) = (one.point(p), other.point(q));
                    let apart = p.over_ground(q) >= rules.separation.horizontal.0
                        || (p.up - q.up).abs() >= rules.separation.vertical.0;
                    prop_assert!(apart, "{p:?} {q:?}");
                }
            }
        }
    }

    #[test]
    fn two_that_are_not_clear_have_points_that_are_too_near(one in shape(), other in shape()) {
        let rules = Rules::default();
        if !one.tube().clear_of(&other.tube(), &rules) {
            // Walking the cores in small steps finds the distance to within a step.
            let walk = |shape: &Shape| -> Vec<[f64; 2]> {
                let place = |i: usize| shape.places[i.min(shape.places.len() - 1)];
                let steps = 24;
                (0..=steps).flat_map(|a| (0..=steps - a).map(move |b| (a, b))).map(|(a, b)| {
                    let (s, t) = (f64::from(a) / f64::from(steps), f64::from(b) / f64::from(steps));
                    let mix = |x: f64, y: f64, z: f64| x * s + y * t + z * (1.0 - s - t);
                    let (p, q, r) = (place(0), place(1), place(2));
                    [mix(p.east, q.east, r.east), mix(p.north, q.north, r.north)]
                }).collect()
            };
            let (walked, others) = (walk(&one), walk(&other));
            let nearest = walked.iter().flat_map(|p| others.iter().map(move |q| (p[0] - q[0]).hypot(p[1] - q[1])));
            let nearest = nearest.fold(f64::INFINITY, f64::min);
            let needed = one.radius + other.radius + rules.apart(false);
            prop_assert!(nearest < needed + 12.0, "{nearest} is far more than {needed}");
        }
    }
}

fn at(east: f64, north: f64, up: f64) -> Local {
    Local { east, north, up }
}

#[test]
fn a_triangle_that_holds_another_shape_is_not_clear_of_it() {
    let triangle = Tube::around(
        &[at(-100.0, -100.0, 0.0), at(100.0, -100.0, 0.0), at(0.0, 100.0, 0.0)],
        1.0,
        1.0,
        1.0,
    );
    let inside = Tube::around(&[at(0.0, -20.0, 0.0)], 1.0, 1.0, 1.0);
    let rules = Rules::default();
    assert!(!triangle.clear_of(&inside, &rules) && !inside.clear_of(&triangle, &rules));
    let crossing = Tube::around(&[at(-200.0, 0.0, 0.0), at(200.0, 0.0, 0.0)], 1.0, 1.0, 1.0);
    assert!(!triangle.clear_of(&crossing, &rules));
    let above = Tube::around(&[at(0.0, -20.0, 7.1)], 1.0, 1.0, 1.0);
    assert!(triangle.clear_of(&above, &rules));
}

#[test]
fn on_the_ground_the_distance_of_pads_counts() {
    let rules = Rules::default();
    let tube = |east| Tube::around(&[at(east, 0.0, 0.0)], 1.0, 1.0, 1.0);
    assert!(!tube(0.0).clear_of(&tube(3.5), &rules));
    assert!(tube(0.0).clear_of(&tube(3.5).on_the_ground(), &rules));
    assert!(!tube(0.0).clear_of(&tube(2.1).on_the_ground(), &rules));
}

#[test]
fn what_is_no_number_is_clear_of_nothing() {
    let rules = Rules::default();
    let good = Tube::around(&[at(0.0, 0.0, 0.0)], 1.0, 1.0, 1.0);
    for bad in [
        Tube::around(&[at(f64::NAN, 500.0, 0.0)], 1.0, 1.0, 1.0),
        Tube::around(&[at(500.0, 0.0, 0.0)], f64::NAN, 1.0, 1.0),
        Tube::around(&[at(500.0, 0.0, 0.0)], f64::INFINITY, 1.0, 1.0),
        Tube::around(&[], 1.0, 1.0, 1.0),
    ] {
        assert!(!bad.is_finite());
        assert!(!bad.clear_of(&good, &rules) && !good.clear_of(&bad, &rules), "{bad:?}");
    }
    let nothing = Volume::Tubes(Vec::new());
    assert!(Volume::Everywhere.clear_of(&nothing, &rules));
    assert!(!Volume::Everywhere.clear_of(&Volume::Tubes(vec![good]), &rules));
}

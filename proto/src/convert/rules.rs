//! `Rules` and `RulesState`: fence and parameters of a vehicle and their state, to and from `model::rules`.

use super::{BadMessage, filled, within};
use crate::v1;
use model::ids::Term;
use model::rules::{
    Deviation, DeviationWhy, Enforce, Fence, FenceState, MOST_DEVIATIONS, MOST_FENCE_ITEMS, MOST_PARAMETERS, Outline,
    Rules, RulesDigest, RulesReport, Shape, Side, WantedParameter,
};
use model::units::{Meters, Wgs84};

/// Of a parameter (PARAM_SET.param_id).
const LONGEST_NAME: usize = 16;

pub(super) const LONGEST_DIGEST: usize = 64;

/// Bytes.
pub(super) const LONGEST_WORDS: usize = 400;

const LARGEST_RADIUS_M: f64 = 100_000.0;

impl From<&Rules> for v1::Rules {
    fn from(rules: &Rules) -> Self {
        Self {
            term: rules.term.0,
            digest: rules.digest.0.clone(),
            fence: rules.fence.as_ref().map(|fence| v1::Fence {
                shapes: fence.shapes.iter().map(Into::into).collect(),
            }),
            parameters: rules.parameters.iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<v1::Rules> for Rules {
    type Error = BadMessage;

    fn try_from(rules: v1::Rules) -> Result<Self, BadMessage> {
        at_most(
            "rules.parameters",
            rules.parameters.len(),
            MOST_PARAMETERS,
            "at most 128 of them",
        )?;
        at_most(
            "rules.digest",
            rules.digest.len(),
            LONGEST_DIGEST,
            "at most 64 characters",
        )?;
        let parameters: Vec<_> = rules.parameters.into_iter().map(wanted).collect::<Result<_, _>>()?;
        let mut names: Vec<_> = parameters.iter().map(|parameter| &parameter.name).collect();
        names.sort_unstable();
        names.dedup();
        at_most("rules.parameters", parameters.len(), names.len(), "each name once")?;
        Ok(Self {
            term: Term(rules.term),
            digest: RulesDigest(filled("rules.digest", rules.digest)?),
            fence: rules.fence.map(fence).transpose()?,
            parameters,
        })
    }
}

pub(super) fn at_most(field: &'static str, got: usize, most: usize, must: &'static str) -> Result<(), BadMessage> {
    if got <= most {
        return Ok(());
    }
    Err(BadMessage::OutOfRange {
        field,
        got: u32::try_from(got).map_or(f64::INFINITY, f64::from),
        must,
    })
}

impl From<&Shape> for v1::FenceShape {
    fn from(shape: &Shape) -> Self {
        let (vertices, circle) = match &shape.outline {
            Outline::Polygon(vertices) => (vertices.iter().copied().map(Into::into).collect(), None),
            Outline::Circle { center, radius } => {
                let circle = v1::FenceCircle {
                    center: Some((*center).into()),
                    radius_m: radius.0,
                };
                (Vec::new(), Some(circle))
            }
        };
        Self {
            outside: shape.side == Side::Outside,
            vertices,
            circle,
        }
    }
}

fn fence(fence: v1::Fence) -> Result<Fence, BadMessage> {
    let shapes: Vec<_> = fence.shapes.into_iter().map(shape).collect::<Result<_, _>>()?;
    let fence = Fence { shapes };
    at_most(
        "rules.fence",
        fence.items(),
        MOST_FENCE_ITEMS,
        "at most 70 vertices and circles",
    )?;
    Ok(fence)
}

fn shape(shape: v1::FenceShape) -> Result<Shape, BadMessage> {
    let field = "rules.fence.shapes";
    let outline = match (shape.circle, shape.vertices.len()) {
        (Some(circle), 0) => Outline::Circle {
            center: point(circle.center.ok_or(BadMessage::Missing { field })?)?,
            radius: Meters(within(
                "rules.fence.shapes.circle.radius_m",
                circle.radius_m,
                f64::MIN_POSITIVE,
                LARGEST_RADIUS_M,
                "above 0 and at most 100,000 meters",
            )?),
        },
        (None, 3..) => Outline::Polygon(shape.vertices.into_iter().map(point).collect::<Result<_, _>>()?),
        (Some(_), _) | (None, _) => {
            return Err(BadMessage::OutOfRange {
                field,
                got: u32::try_from(shape.vertices.len()).map_or(f64::INFINITY, f64::from),
                must: "a circle, or a polygon of 3 vertices or more",
            });
        }
    };
    let side = if shape.outside { Side::Outside } else { Side::Inside };
    Ok(Shape { side, outline })
}

impl From<Wgs84> for v1::FencePoint {
    fn from(at: Wgs84) -> Self {
        Self {
            latitude_deg: at.latitude_deg,
            longitude_deg: at.longitude_deg,
        }
    }
}

fn point(at: v1::FencePoint) -> Result<Wgs84, BadMessage> {
    super::place(
        ("rules.fence.latitude_deg", at.latitude_deg),
        ("rules.fence.longitude_deg", at.longitude_deg),
    )
}

impl From<&WantedParameter> for v1::WantedParameter {
    fn from(wanted: &WantedParameter) -> Self {
        Self {
            name: wanted.name.clone(),
            value: wanted.value,
            apply: wanted.enforce == Enforce::Apply,
            may_reboot: wanted.may_reboot,
            any_name: wanted.any_name,
        }
    }
}

fn wanted(wanted: v1::WantedParameter) -> Result<WantedParameter, BadMessage> {
    let field = "rules.parameters.name";
    at_most(field, wanted.name.len(), LONGEST_NAME, "at most 16 characters")?;
    let limit = f64::from(f32::MAX);
    Ok(WantedParameter {
        name: filled(field, wanted.name)?,
        value: within(
            "rules.parameters.value",
            wanted.value,
            -limit,
            limit,
            "a number that a float32 can hold",
        )?,
        enforce: if wanted.apply { Enforce::Apply } else { Enforce::Report },
        may_reboot: wanted.may_reboot,
        any_name: wanted.any_name,
    })
}

impl From<&RulesReport> for v1::RulesState {
    fn from(report: &RulesReport) -> Self {
        let (fence, words) = match &report.fence {
            FenceState::None => (v1::FenceProgress::Unspecified, ""),
            FenceState::Working => (v1::FenceProgress::Working, ""),
            FenceState::InForce => (v1::FenceProgress::InForce, ""),
            FenceState::WaitsForGround => (v1::FenceProgress::WaitsForGround, ""),
            FenceState::Refused(words) => (v1::FenceProgress::Refused, words.as_str()),
            FenceState::Drifted(words) => (v1::FenceProgress::Drifted, words.as_str()),
        };
        Self {
            held: report.held.as_ref().map(|digest| digest.0.clone()).unwrap_or_default(),
            fence: fence.into(),
            fence_words: words.to_owned(),
            parameters_in_force: report.parameters_in_force,
            deviations: report.deviations.iter().map(Into::into).collect(),
            in_force: report.in_force,
        }
    }
}

impl TryFrom<v1::RulesState> for RulesReport {
    type Error = BadMessage;

    fn try_from(state: v1::RulesState) -> Result<Self, BadMessage> {
        at_most(
            "rules.deviations",
            state.deviations.len(),
            MOST_DEVIATIONS,
            "at most 32 of them",
        )?;
        at_most("rules.held", state.held.len(), LONGEST_DIGEST, "at most 64 characters")?;
        at_most(
            "rules.fence_words",
            state.fence_words.len(),
            LONGEST_WORDS,
            "at most 400 bytes",
        )?;
        // An unknown state, as from a newer agent, is not in force.
        let progress = v1::FenceProgress::try_from(state.fence).unwrap_or(v1::FenceProgress::Working);
        let words = state.fence_words;
        Ok(Self {
            held: Some(state.held).filter(|digest| !digest.is_empty()).map(RulesDigest),
            fence: match progress {
                v1::FenceProgress::Unspecified => FenceState::None,
                v1::FenceProgress::Working => FenceState::Working,
                v1::FenceProgress::InForce => FenceState::InForce,
                v1::FenceProgress::WaitsForGround => FenceState::WaitsForGround,
                v1::FenceProgress::Refused => FenceState::Refused(words),
                v1::FenceProgress::Drifted => FenceState::Drifted(words),
            },
            parameters_in_force: state.parameters_in_force,
            deviations: state.deviations.into_iter().map(deviation).collect::<Result<_, _>>()?,
            in_force: state.in_force,
        })
    }
}

impl From<&Deviation> for v1::Deviation {
    fn from(deviation: &Deviation) -> Self {
        let (why, words) = match &deviation.why {
            DeviationWhy::Working => (v1::DeviationWhy::Unspecified, ""),
            DeviationWhy::ReportOnly => (v1::DeviationWhy::ReportOnly, ""),
            DeviationWhy::WaitsForGround => (v1::DeviationWhy::WaitsForGround, ""),
            DeviationWhy::NeedsReboot => (v1::DeviationWhy::NeedsReboot, ""),
            // An older coordinator takes a missing parameter for refused.
            DeviationWhy::Refused(words) | DeviationWhy::Missing(words) => (v1::DeviationWhy::Refused, words.as_str()),
        };
        Self {
            name: deviation.name.clone(),
            wanted: deviation.wanted,
            actual: deviation.actual,
            why: why.into(),
            words: words.to_owned(),
            missing: matches!(deviation.why, DeviationWhy::Missing(_)),
        }
    }
}

fn deviation(deviation: v1::Deviation) -> Result<Deviation, BadMessage> {
    let field = "rules.deviations.name";
    at_most(field, deviation.name.len(), LONGEST_NAME, "at most 16 characters")?;
    at_most(
        "rules.deviations.words",
        deviation.words.len(),
        LONGEST_WORDS,
        "at most 400 bytes",
    )?;
    let why = deviation.why();
    Ok(Deviation {
        name: filled(field, deviation.name)?,
        wanted: deviation.wanted,
        actual: deviation.actual,
        why: match why {
            v1::DeviationWhy::Unspecified => DeviationWhy::Working,
            v1::DeviationWhy::ReportOnly => DeviationWhy::ReportOnly,
            v1::DeviationWhy::WaitsForGround => DeviationWhy::WaitsForGround,
            v1::DeviationWhy::NeedsReboot => DeviationWhy::NeedsReboot,
            v1::DeviationWhy::Refused if deviation.missing => DeviationWhy::Missing(deviation.words),
            v1::DeviationWhy::Refused => DeviationWhy::Refused(deviation.words),
        },
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place() -> impl Strategy<Value = Wgs84> {
        (-90.0..=90.0, -180.0..=180.0).prop_map(|(latitude_deg, longitude_deg)| Wgs84 {
            latitude_deg,
            longitude_deg,
        })
    }

    fn any_shape() -> impl Strategy<Value = Shape> {
        let outline = prop_oneof![
            prop::collection::vec(place(), 3..8).prop_map(Outline::Polygon),
            (place(), 0.1..=100_000.0).prop_map(|(center, radius)| Outline::Circle {
                center,
                radius: Meters(radius),
            }),
        ];
        (prop::sample::select(vec![Side::Inside, Side::Outside]), outline)
            .prop_map(|(side, outline)| Shape { side, outline })
    }

    fn rules() -> impl Strategy<Value = Rules> {
        let parameters = prop::collection::btree_map(
            "[A-Z_]{1,16}",
            (-1e6..1e6, any::<bool>(), any::<bool>(), any::<bool>()),
            0..8,
        );
        let fence = prop::option::of(prop::collection::vec(any_shape(), 0..8).prop_map(|shapes| Fence { shapes }));
        (any::<u64>(), "[0-9a-f]{32}", fence, parameters).prop_map(|(term, digest, fence, parameters)| Rules {
            term: Term(term),
            digest: RulesDigest(digest),
            fence,
            parameters: (parameters.into_iter())
                .map(|(name, (value, apply, may_reboot, any_name))| WantedParameter {
                    name,
                    value,
                    enforce: if apply { Enforce::Apply } else { Enforce::Report },
                    may_reboot,
                    any_name,
                })
                .collect(),
        })
    }

    pub fn state() -> impl Strategy<Value = RulesReport> {
        let fence = prop_oneof![
            Just(FenceState::None),
            Just(FenceState::Working),
            Just(FenceState::InForce),
            Just(FenceState::WaitsForGround),
            "[a-z ]{1,40}".prop_map(FenceState::Refused),
            "[a-z ]{1,40}".prop_map(FenceState::Drifted),
        ];
        let why = prop_oneof![
            Just(DeviationWhy::Working),
            Just(DeviationWhy::ReportOnly),
            Just(DeviationWhy::WaitsForGround),
            Just(DeviationWhy::NeedsReboot),
            "[a-z ]{1,40}".prop_map(DeviationWhy::Refused),
            "[a-z ]{1,40}".prop_map(DeviationWhy::Missing),
        ];
        let deviation =
            ("[A-Z_]{1,16}", -1e6..1e6, prop::option::of(-1e6..1e6), why).prop_map(|(name, wanted, actual, why)| {
                Deviation {
                    name,
                    wanted,
                    actual,
                    why,
                }
            });
        let held = prop::option::of("[0-9a-f]{32}".prop_map(RulesDigest));
        (
            held,
            fence,
            any::<u32>(),
            prop::collection::vec(deviation, 0..8),
            any::<bool>(),
        )
            .prop_map(|(held, fence, parameters_in_force, deviations, in_force)| RulesReport {
                held,
                fence,
                parameters_in_force,
                deviations,
                in_force,
            })
    }

    proptest! {
        #[test]
        fn rules_come_off_the_wire_as_they_went_on_it(rules in rules()) {
            prop_assert_eq!(Rules::try_from(v1::Rules::from(&rules)), Ok(rules));
        }

        #[test]
        fn the_state_of_rules_comes_off_the_wire_as_it_went_on_it(state in state()) {
            prop_assert_eq!(RulesReport::try_from(v1::RulesState::from(&state)), Ok(state));
        }
    }

    #[test]
    fn rules_that_make_no_sense_are_refused_with_the_field() {
        let good = || v1::Rules {
            digest: "0123".to_owned(),
            ..v1::Rules::default()
        };
        let corner = |latitude_deg| v1::FencePoint {
            latitude_deg,
            longitude_deg: 0.0,
        };
        let fence = |vertices: Vec<f64>| v1::Rules {
            fence: Some(v1::Fence {
                shapes: vec![v1::FenceShape {
                    vertices: vertices.into_iter().map(corner).collect(),
                    ..v1::FenceShape::default()
                }],
            }),
            ..good()
        };
        let parameter = |name: &str, value| v1::WantedParameter {
            name: name.to_owned(),
            value,
            ..v1::WantedParameter::default()
        };
        let parameters = |parameters| v1::Rules { parameters, ..good() };
        assert!(Rules::try_from(good()).is_ok());
        for (bad, words) in [
            (v1::Rules::default(), "rules.digest is empty"),
            (fence(vec![0.0, 1.0]), "a circle, or a polygon of 3 vertices or more"),
            (fence(vec![0.0, 1.0, 91.0]), "from -90 to 90 degrees"),
            (fence(vec![0.0, 1.0, f64::NAN]), "from -90 to 90 degrees"),
            (fence(vec![0.0; 71]), "at most 70 vertices and circles"),
            (parameters(vec![parameter("", 1.0)]), "rules.parameters.name is empty"),
            (
                parameters(vec![parameter("A_NAME_THAT_IS_LONG", 1.0)]),
                "at most 16 characters",
            ),
            (parameters(vec![parameter("A", f64::INFINITY)]), "a float32 can hold"),
            (
                parameters(vec![parameter("A", 1.0), parameter("A", 2.0)]),
                "each name once",
            ),
        ] {
            let error = Rules::try_from(bad).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

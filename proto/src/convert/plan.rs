//! `Plan` and `PlanState`: a plan for the vehicle and its progress, to and from `model::plan::flight`.

use super::rules::{LONGEST_DIGEST, LONGEST_WORDS, at_most};
use super::{BadMessage, filled, within};
use crate::v1;
use model::ids::Term;
use model::plan::flight::{
    FlightPlan, MOST_ITEMS, MOST_RANGES, PassedBeside, PlanDigest, PlanReport, PlanState, Reached,
};
use model::plan::item::Item;
use model::units::Meters;

/// Meters.
const FARTHEST_M: f64 = 100_000.0;

impl From<&FlightPlan> for v1::Plan {
    fn from(plan: &FlightPlan) -> Self {
        Self {
            term: plan.term.0,
            digest: plan.digest.0.clone(),
            items: plan.items.iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<v1::Plan> for FlightPlan {
    type Error = BadMessage;

    fn try_from(plan: v1::Plan) -> Result<Self, BadMessage> {
        at_most("plan.items", plan.items.len(), MOST_ITEMS, "at most 700 of them")?;
        at_most(
            "plan.digest",
            plan.digest.len(),
            LONGEST_DIGEST,
            "at most 64 characters",
        )?;
        Ok(Self {
            term: Term(plan.term),
            digest: PlanDigest(filled("plan.digest", plan.digest)?),
            items: plan.items.into_iter().map(item).collect::<Result<_, _>>()?,
        })
    }
}

impl From<&Item> for v1::PlanItem {
    fn from(item: &Item) -> Self {
        let [param1, param2, param3, param4, param5, param6, param7] = item.params;
        Self {
            command: item.command.into(),
            frame: item.frame.into(),
            param1,
            param2,
            param3,
            param4,
            param5,
            param6,
            param7,
            waits: !item.goes_on,
        }
    }
}

fn item(item: v1::PlanItem) -> Result<Item, BadMessage> {
    let limit = f64::from(f32::MAX);
    let param = |param: Option<f64>| {
        let must = "a number that a float32 can hold, or unset";
        param
            .map(|param| within("plan.items.param", param, -limit, limit, must))
            .transpose()
    };
    Ok(Item {
        command: short("plan.items.command", item.command)?,
        frame: u8::try_from(item.frame).map_err(|_| BadMessage::OutOfRange {
            field: "plan.items.frame",
            got: item.frame.into(),
            must: "at most 255",
        })?,
        params: [
            param(item.param1)?,
            param(item.param2)?,
            param(item.param3)?,
            param(item.param4)?,
            param(item.param5)?,
            param(item.param6)?,
            param(item.param7)?,
        ],
        goes_on: !item.waits,
    })
}

fn short(field: &'static str, number: u32) -> Result<u16, BadMessage> {
    u16::try_from(number).map_err(|_| BadMessage::OutOfRange {
        field,
        got: number.into(),
        must: "at most 65535",
    })
}

impl From<&PlanReport> for v1::PlanState {
    fn from(report: &PlanReport) -> Self {
        let (progress, words) = match &report.state {
            PlanState::Idle => (v1::PlanProgress::Unspecified, ""),
            PlanState::Uploading => (v1::PlanProgress::Uploading, ""),
            PlanState::Ready => (v1::PlanProgress::Ready, ""),
            PlanState::Refused(words) => (v1::PlanProgress::Refused, words.as_str()),
            PlanState::Foreign => (v1::PlanProgress::Foreign, ""),
        };
        let ranges = report.reached.ranges().iter();
        let range = |(first, last): &(u16, u16)| v1::PlanRange {
            first: (*first).into(),
            last: (*last).into(),
        };
        Self {
            held: report.held.as_ref().map(|digest| digest.0.clone()).unwrap_or_default(),
            progress: progress.into(),
            words: words.to_owned(),
            flying: report.flying,
            current: report.current.map(Into::into),
            reached: ranges.map(range).collect(),
            ended: report.ended,
            finished: report.finished,
            passed_beside: report.passed_beside.places,
            passed_beside_by_m: report.passed_beside.farthest.0,
        }
    }
}

impl TryFrom<v1::PlanState> for PlanReport {
    type Error = BadMessage;

    fn try_from(state: v1::PlanState) -> Result<Self, BadMessage> {
        at_most("plan.reached", state.reached.len(), MOST_RANGES, "at most 350 ranges")?;
        at_most("plan.held", state.held.len(), LONGEST_DIGEST, "at most 64 characters")?;
        at_most("plan.words", state.words.len(), LONGEST_WORDS, "at most 400 bytes")?;
        // Unknown progress, as from a newer agent, is not ready.
        let progress = v1::PlanProgress::try_from(state.progress).unwrap_or(v1::PlanProgress::Uploading);
        let reached = state.reached.iter().map(range).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            held: Some(state.held).filter(|digest| !digest.is_empty()).map(PlanDigest),
            state: match progress {
                v1::PlanProgress::Unspecified => PlanState::Idle,
                v1::PlanProgress::Uploading => PlanState::Uploading,
                v1::PlanProgress::Ready => PlanState::Ready,
                v1::PlanProgress::Refused => PlanState::Refused(state.words),
                v1::PlanProgress::Foreign => PlanState::Foreign,
            },
            flying: state.flying,
            current: state.current.map(|item| short("plan.current", item)).transpose()?,
            reached: Reached::of(reached),
            ended: state.ended,
            finished: state.finished,
            passed_beside: PassedBeside {
                places: state.passed_beside,
                farthest: Meters(within(
                    "plan.passed_beside_by_m",
                    state.passed_beside_by_m,
                    0.0,
                    FARTHEST_M,
                    "from 0 to 100 km",
                )?),
            },
        })
    }
}

fn range(range: &v1::PlanRange) -> Result<(u16, u16), BadMessage> {
    let (first, last) = (
        short("plan.reached.first", range.first)?,
        short("plan.reached.last", range.last)?,
    );
    if first > last {
        return Err(BadMessage::OutOfRange {
            field: "plan.reached.last",
            got: range.last.into(),
            must: "no less than the first",
        });
    }
    Ok((first, last))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items() -> impl Strategy<Value = Vec<Item>> {
        let param = || prop::option::of(-1e6..1e6);
        let item = (any::<u16>(), any::<u8>(), prop::array::uniform7(param()), any::<bool>());
        let item = item.prop_map(|(command, frame, params, goes_on)| Item {
            command,
            frame,
            params,
            goes_on,
        });
        prop::collection::vec(item, 0..12)
    }

    pub fn state() -> impl Strategy<Value = PlanReport> {
        let state = prop_oneof![
            Just(PlanState::Idle),
            Just(PlanState::Uploading),
            Just(PlanState::Ready),
            "[a-z ]{1,40}".prop_map(PlanState::Refused),
            Just(PlanState::Foreign),
        ];
        let reached = prop::collection::vec((any::<u16>(), any::<u16>()), 0..8).prop_map(Reached::of);
        let held = prop::option::of("[0-9a-f]{32}".prop_map(PlanDigest));
        let current = prop::option::of(any::<u16>());
        let beside = (any::<u32>(), 0.0..1000.0).prop_map(|(places, meters)| PassedBeside {
            places,
            farthest: Meters(meters),
        });
        (held, state, current, reached, any::<(bool, bool, bool)>(), beside).prop_map(
            |(held, state, current, reached, (flying, ended, finished), passed_beside)| PlanReport {
                held,
                state,
                flying,
                current,
                reached,
                ended,
                finished,
                passed_beside,
            },
        )
    }

    proptest! {
        #[test]
        fn plans_come_off_the_wire_as_they_went_on_it(term in any::<u64>(), items in items()) {
            let plan = FlightPlan { term: Term(term), digest: PlanDigest::of(&items), items };
            prop_assert_eq!(FlightPlan::try_from(v1::Plan::from(&plan)), Ok(plan));
        }

        #[test]
        fn the_state_of_a_plan_comes_off_the_wire_as_it_went_on_it(state in state()) {
            prop_assert_eq!(PlanReport::try_from(v1::PlanState::from(&state)), Ok(state));
        }
    }

    #[test]
    fn plans_and_states_that_make_no_sense_are_refused_with_the_field() {
        let plan = |items: Vec<v1::PlanItem>| v1::Plan {
            digest: "0123".to_owned(),
            items,
            ..v1::Plan::default()
        };
        let with = |change: fn(&mut v1::PlanItem)| {
            let mut item = v1::PlanItem::default();
            change(&mut item);
            plan(vec![item])
        };
        assert!(FlightPlan::try_from(plan(vec![v1::PlanItem::default(); 700])).is_ok());
        for (bad, words) in [
            (v1::Plan::default(), "plan.digest is empty"),
            (plan(vec![v1::PlanItem::default(); 701]), "at most 700 of them"),
            (with(|item| item.command = 65_536), "plan.items.command is 65536"),
            (with(|item| item.frame = 256), "plan.items.frame is 256"),
            (with(|item| item.param4 = Some(f64::NAN)), "a float32 can hold"),
        ] {
            let error = FlightPlan::try_from(bad).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let range = |first, last| v1::PlanState {
            reached: vec![v1::PlanRange { first, last }],
            ..v1::PlanState::default()
        };
        let many = v1::PlanState {
            reached: vec![v1::PlanRange::default(); 351],
            ..v1::PlanState::default()
        };
        for (bad, words) in [
            (range(2, 1), "no less than the first"),
            (range(0, 65_536), "plan.reached.last is 65536"),
            (many, "at most 350 ranges"),
        ] {
            let error = PlanReport::try_from(bad).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

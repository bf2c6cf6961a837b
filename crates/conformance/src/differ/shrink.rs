//! Fewer steps that still differ.

use super::script::{Act, Script};

/// Leaves out steps while `differs` is true for the rest, at most `tries` times. When `differs` fails, returns the
/// result so far.
pub(super) fn shrink<E>(
    script: &Script,
    tries: usize,
    mut differs: impl FnMut(&Script) -> Result<bool, E>,
) -> (Script, Result<(), E>) {
    let mut smallest = script.clone();
    let mut left = tries;
    let mut width = (smallest.steps.len() / 2).max(1);
    loop {
        let mut from = 0;
        while from < smallest.steps.len() {
            let span: Vec<usize> = (from..(from + width).min(smallest.steps.len())).collect();
            let only_waits = span.iter().all(|&index| smallest.steps[index].act == Act::Wait);
            if only_waits {
                from += width;
                continue;
            }
            if left == 0 {
                return (smallest, Ok(()));
            }
            left -= 1;
            let shorter = smallest.without(&span);
            match differs(&shorter) {
                Err(error) => return (smallest, Err(error)),
                Ok(true) => smallest = shorter,
                Ok(false) => from += width,
            }
        }
        if width == 1 {
            return (smallest, Ok(()));
        }
        width /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differ::Step;
    use sitl::model::Autopilot;

    #[test]
    fn two_steps_that_differ_together_are_what_is_left() {
        let steps = (0..12).map(|place| Step {
            place,
            after_s: 1.0,
            act: Act::Heartbeats(place % 2 == 0),
        });
        let script = Script {
            autopilot: Autopilot::Px4,
            seed: 1,
            steps: steps.collect(),
        };
        let differs = |script: &Script| -> Result<bool, ()> {
            let has = |place: usize| script.steps.iter().any(|step| step.place == place);
            Ok(has(3) && has(8))
        };
        let (smallest, done) = shrink(&script, 100, differs);
        assert_eq!(done, Ok(()));
        let left: Vec<usize> = smallest
            .steps
            .iter()
            .filter(|step| step.act != Act::Wait)
            .map(|step| step.place)
            .collect();
        assert_eq!(left, [3, 8]);
        assert_eq!(smallest.length_s(), 12.0);
    }
}

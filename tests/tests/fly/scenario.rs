//! One scenario: what it shows, what it needs, and its run.

use testkit::autopilots::{Firmware, Stack};

use crate::field::{Field, Setup};
use crate::figures::Figures;
use crate::record::Build;

/// See the module text.
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    pub shows: &'static str,
    /// What is special in the field.
    pub setup: fn(Stack) -> Setup,
    /// The run; an error says what failed.
    pub run: fn(&mut Field, &mut Figures) -> anyhow::Result<()>,
    pub stacks: &'static [Stack],
    /// Whether it is in the short set.
    pub short: bool,
    /// The highest speed with a valid verdict: Skein and ground stations use real time.
    pub fastest: u32,
}

impl Scenario {
    /// For both autopilots, at any speed, with nothing unusual.
    pub const fn new(
        name: &'static str,
        shows: &'static str,
        run: fn(&mut Field, &mut Figures) -> anyhow::Result<()>,
    ) -> Self {
        Self {
            name,
            shows,
            setup: |_| Setup::default(),
            run,
            stacks: &Stack::ALL,
            short: false,
            fastest: 10,
        }
    }

    /// The same, in the short set.
    pub const fn short(self) -> Self {
        Self { short: true, ..self }
    }

    /// The same, in real time only.
    pub const fn real_time(self) -> Self {
        self.no_faster_than(1)
    }

    /// The same, at most this much faster than real time; three PX4 at five times real time need more than two cores.
    pub const fn no_faster_than(self, fastest: u32) -> Self {
        Self { fastest, ..self }
    }

    /// The same, in a field of its own.
    pub const fn with(self, setup: fn(Stack) -> Setup) -> Self {
        Self { setup, ..self }
    }

    /// The same, for some autopilots only.
    pub const fn on(self, stacks: &'static [Stack]) -> Self {
        Self { stacks, ..self }
    }

    /// Whether it is for this autopilot.
    pub fn is_for(&self, stack: Stack) -> bool {
        self.stacks.contains(&stack)
    }

    /// Flies it once; with what the first autopilot reported of itself.
    pub fn fly(&self, firmware: &Firmware, speedup: u32) -> (Figures, Option<Build>, anyhow::Result<()>) {
        let mut figures = Figures::default();
        let mut field = match Field::new(firmware, speedup, (self.setup)(firmware.stack())) {
            Ok(field) => field,
            Err(error) => return (figures, None, Err(error)),
        };
        let result = (self.run)(&mut field, &mut figures);
        let result = result.map_err(|error| {
            let account = field.account();
            error.context(account)
        });
        let build = field.nodes().first().and_then(|node| field.record(node).build());
        (figures, build, result)
    }
}

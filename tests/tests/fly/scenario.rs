//! One scenario: what it shows, what it needs, and its run.

use testkit::autopilots::{Firmware, Stack};

use crate::field::{Field, Setup};
use crate::figures::Figures;
use crate::record::Build;

pub struct Scenario {
    pub name: &'static str,
    pub shows: &'static str,
    pub setup: fn(Stack) -> Setup,
    pub run: fn(&mut Field, &mut Figures) -> anyhow::Result<()>,
    pub stacks: &'static [Stack],
    pub short: bool,
    /// The highest speed with a valid verdict: Skein and ground stations use real time.
    pub fastest: u32,
}

impl Scenario {
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

    pub const fn short(self) -> Self {
        Self { short: true, ..self }
    }

    pub const fn real_time(self) -> Self {
        self.no_faster_than(1)
    }

    /// Three PX4 at five times real time need more than two cores.
    pub const fn no_faster_than(self, fastest: u32) -> Self {
        Self { fastest, ..self }
    }

    pub const fn with(self, setup: fn(Stack) -> Setup) -> Self {
        Self { setup, ..self }
    }

    pub const fn on(self, stacks: &'static [Stack]) -> Self {
        Self { stacks, ..self }
    }

    pub fn is_for(&self, stack: Stack) -> bool {
        self.stacks.contains(&stack)
    }

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

//! A ground order that is kept for hours, in a share of the wild worlds, with a Mission that is applied or in flight.
//!
//! It stays in force whichever leader is killed, nothing hovers without a reason, and no more Drones are made than may
//! be there at once. While nothing is armed, the oracle looks less often.

use super::swarm;
use crate::station::PersonOrder;
use crate::world::gate::{UP, mission};
use crate::world::{LOOKED_AFTER, Run};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::ops::Range;
use std::time::Duration;

pub const HELD: Duration = Duration::from_secs(2 * 3600);
/// Number of worlds of which the last has such an order.
const SHARE: u64 = 40;
/// Makes its random numbers differ from those of all else in the world.
const OTHER: u64 = 0x0002_4083;
const GROUND_ORDERS: &str = "/apis/skein.dev/v1alpha1/groundorders";
const LATE: &str = "late";
/// Meters between its layers, its places at least, and its vehicles at most.
const STEP: f64 = 12.0;
const SIZE: (usize, usize) = (2, 2);
/// Time until it is in flight.
const BEGINS: Duration = Duration::from_secs(60);
const HEARD_WITHIN: Duration = Duration::from_secs(120);
/// Time in which vehicles come down, or say why they do not.
const COME_DOWN: Duration = Duration::from_secs(300);
/// Seconds from one leader that is killed to the next, and for which each is away.
const KILLS: Range<f64> = 600.0..2400.0;
const AWAY: Range<f64> = 0.5..30.0;
/// For each vehicle of a Mission: one at work, one that relieves it, and one on its way home.
const AT_ONCE: u64 = 3;
/// Drones of the Swarm besides its replicas.
const SURGE: u64 = 1;
/// Steps from one look to the next while nothing is armed: half a second.
const UNJUDGED: u32 = 25;

#[derive(Debug)]
pub struct Hours {
    rng: StdRng,
    in_flight: bool,
    made: u64,
}

impl Hours {
    pub fn of_world(seed: u64) -> Option<Self> {
        let mut rng = StdRng::seed_from_u64(seed ^ OTHER);
        let in_flight = rng.random_bool(0.5);
        (seed % SHARE == SHARE - 1).then_some(Self {
            rng,
            in_flight,
            made: 0,
        })
    }

    pub fn account(&self) -> String {
        let of = if self.in_flight { "in flight" } else { "applied later" };
        let (made, hours) = (self.made, HELD.as_secs() / 3600);
        format!("; a ground order for {hours} h with a Mission {of}, and {made} Drones made")
    }
}

impl Run<'_> {
    pub(in crate::world) fn ground_for_hours(&mut self) -> Result<(), String> {
        let Some(mut hours) = self.wild.as_mut().and_then(|wild| wild.hours.take()) else {
            return Ok(());
        };
        let kept = self.keep_grounded(&mut hours);
        if let Some(wild) = &mut self.wild {
            wild.hours = Some(hours);
        }
        kept
    }

    fn keep_grounded(&mut self, hours: &mut Hours) -> Result<(), String> {
        if hours.in_flight {
            self.begin_the_late_mission(&mut hours.rng);
            self.pass_in_the_air(BEGINS)?;
        }
        self.ground_all()?;
        self.cluster.keep_writes();
        if !hours.in_flight {
            self.begin_the_late_mission(&mut hours.rng);
        }
        let most = self.most_made();
        let begun = self.sim.elapsed();
        let mut kills = begun;
        while self.sim.elapsed() < begun + HELD {
            let now = self.sim.elapsed();
            self.end_what_is_over(now);
            self.go_on_with_what_is_due(now);
            if now >= kills {
                let away = Duration::from_secs_f64(hours.rng.random_range(AWAY));
                kills = now + Duration::from_secs_f64(hours.rng.random_range(KILLS));
                self.tell("the leader is killed");
                self.kill_the_leader_for(away);
            }
            self.pass_on_the_ground(LOOKED_AFTER)?;
            if now > begun + COME_DOWN {
                self.nothing_hovers_without_a_reason()?;
            }
            hours.made += self.made_lately();
            if hours.made > most {
                return Err(format!(
                    "{} Drones were made within {:?} of a ground order, and {most} may be there at once",
                    hours.made,
                    now - begun
                ));
            }
            if !self.is_grounded() {
                return Err(format!("nobody released the ground order of {begun:?}, and it is gone"));
            }
        }
        self.cluster.writes();
        Ok(())
    }

    fn begin_the_late_mission(&mut self, rng: &mut StdRng) {
        let up = rng.random_range(UP);
        let spec = mission(rng, up, SIZE, STEP);
        self.begin_mission(LATE, &spec);
        self.tell(&format!("Mission {LATE}, {up:.1} m up"));
    }

    fn ground_all(&mut self) -> Result<(), String> {
        self.tell("everything is grounded for hours");
        self.oracle.tally.ground_orders += 1;
        let end = self.sim.elapsed() + HEARD_WITHIN;
        while !self.is_grounded() {
            if self.sim.elapsed() > end {
                return Err(format!("no leader records a ground order within {HEARD_WITHIN:?}"));
            }
            self.say(PersonOrder::Ground);
            self.pass_in_the_air(LOOKED_AFTER)?;
        }
        Ok(())
    }

    fn is_grounded(&self) -> bool {
        let orders = self.list(GROUND_ORDERS);
        orders.iter().any(|order| order["spec"]["scope"] == "All")
    }

    fn most_made(&self) -> u64 {
        let missions = self.missions();
        let places = missions.iter().map(|mission| &mission["spec"]["parallelism"]);
        let of_missions: u64 = places.map(|places| AT_ONCE * places.as_u64().unwrap_or(1)).sum();
        of_missions + swarm::VEHICLES as u64 + SURGE
    }

    /// Drones that coordinators asked for since the last look.
    fn made_lately(&self) -> u64 {
        let writes = self.cluster.writes();
        self.cluster.keep_writes();
        writes.iter().filter(|write| write.path.ends_with("/drones")).count() as u64
    }

    /// The oracle looks at few steps while nothing is armed, as nothing may be: an arm command stays one.
    fn pass_on_the_ground(&mut self, span: Duration) -> Result<(), String> {
        if self.up() > 0 {
            return self.pass_in_the_air(span);
        }
        let end = self.sim.elapsed() + span;
        while self.sim.elapsed() < end {
            for _ in 1..UNJUDGED {
                self.sim.step().map_err(|error| error.to_string())?;
            }
            self.step()?;
        }
        self.judge_fences()
    }
}

//! For tests of plans: orders and reports of the agent, and a ground station that changes things by itself.

use super::{Agent, Station};
use crate::orders::assignment;
use agent::uplink::FromUplink;
use link::dialect::*;
use model::assignment::{Assignment, Desired, Order};
use model::plan::FlightPlan;
use model::report::Report;
use std::time::{Duration, Instant};
use testkit::autopilots::Stack;

impl Agent {
    pub async fn tell(&self, word: FromUplink) {
        self.orders.send(word).await.unwrap();
    }

    pub async fn order(&self, generation: i64, desired: Desired, plan: &FlightPlan, resume_after: u32) {
        let order = Order::Assigned(Assignment {
            plan: Some(plan.digest.clone()),
            resume_after,
            ..assignment(generation, desired)
        });
        self.tell(FromUplink::Order(Box::new(order))).await;
    }

    pub fn report(&self) -> Option<Report> {
        self.reports.borrow().report.clone()
    }

    pub async fn until(&self, what: &str, within_s: u64, holds: impl Fn(&Report) -> bool) -> f64 {
        let began = Instant::now();
        while !self.report().is_some_and(|report| holds(&report)) {
            assert!(
                began.elapsed().as_secs() < within_s,
                "not within {within_s} s: {what}; {:#?}",
                self.report()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        began.elapsed().as_secs_f64()
    }
}

impl Station {
    /// BRAKE, or a return.
    pub async fn takes_over(&mut self, stack: Stack) {
        match stack {
            // Without a transmitter it would sink in LOITER, and PX4 leaves POSCTL again.
            Stack::ArduPilot => self.set_mode(17.0, 0.0).await,
            Stack::Px4 => self.set_mode(4.0, 5.0).await,
        }
    }

    /// GUIDED, or AUTO.LOITER.
    pub async fn gives_back(&mut self, stack: Stack) {
        match stack {
            Stack::ArduPilot => self.set_mode(4.0, 0.0).await,
            Stack::Px4 => self.set_mode(4.0, 3.0).await,
        }
    }

    async fn set_mode(&mut self, main: f32, sub: f32) {
        let command = MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            param1: 1.0,
            param2: main,
            param3: sub,
            command: MavCmd::MAV_CMD_DO_SET_MODE,
            target_system: self.to.system.0,
            target_component: self.to.component.0,
            ..Default::default()
        });
        self.ask(command, |m| match m {
            MavMessage::COMMAND_ACK(m) if m.command == MavCmd::MAV_CMD_DO_SET_MODE => Some(()),
            _ => None,
        })
        .await;
    }

    pub async fn upload_mission(&mut self, stack: Stack, places: &[(f64, f64)]) {
        let home: &[(f64, f64)] = match stack {
            Stack::ArduPilot => &[(0.0, 0.0)],
            Stack::Px4 => &[],
        };
        let items = [home, places].concat();
        let items: Vec<_> = items
            .into_iter()
            .map(|at| (MavCmd::MAV_CMD_NAV_WAYPOINT, 0.0, at))
            .collect();
        self.upload(MavMissionType::MAV_MISSION_TYPE_MISSION, &items).await;
    }
}

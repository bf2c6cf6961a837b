//! The vehicle's side of the mission protocol: upload, download and clearing of missions, fences and rally points.
//!
//! Owns: the stored plans, open uploads and their timers, and the answers. Must not: fly a mission, check a fence in
//! flight, send texts; the profile acts on [`PlanEvent`]. The two autopilots differ as data: [`PlanRules`].
//!
//!   idle --COUNT--> asks item 0 --ITEM 0--> asks item 1 … --last ITEM--> stored, ACK --> idle
//!                   asks again after `repeat_s`; gives up after `give_up_s`

mod fence;
mod rules;
mod upload;

#[cfg(test)]
mod tests;

pub(super) use fence::{Fence, item as fence_item};
pub(super) use rules::{PlanKind, PlanRules, verdict};

use self::upload::{Next, Upload};
use crate::wire::{Address, PlanBody, PlanItem, PlanMessage, PlanReply};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlanOutput {
    Reply {
        to: Address,
        kind: PlanKind,
        reply: PlanReply,
    },
    Event(PlanEvent),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlanEvent {
    Received(PlanKind),
    Invalid(PlanKind, Vec<String>),
    /// MAV_MISSION_RESULT.
    Refused(PlanKind, u8),
    TimedOut(PlanKind),
    TooMany(PlanKind, usize),
    Cleared(PlanKind),
    /// The mission continues with this item.
    SetCurrent(u16),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PlanNow {
    pub(super) now_s: f64,
    /// ArduPilot holds requests for items back before its boot ends.
    pub(super) sends_requests: bool,
    /// A mission that is flown cannot be cleared.
    pub(super) flying_mission: bool,
    pub(super) home: PlanItem,
    pub(super) current: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Plans {
    rules: &'static PlanRules,
    stored: [Vec<PlanItem>; 3],
    uploads: [Option<Upload>; 3],
    download: Option<(Address, PlanKind)>,
}

impl Plans {
    pub(super) fn new(rules: &'static PlanRules) -> Self {
        Self {
            rules,
            stored: Default::default(),
            uploads: Default::default(),
            download: None,
        }
    }

    pub(super) fn items(&self, kind: PlanKind) -> &[PlanItem] {
        &self.stored[kind.index()]
    }

    /// 0 for an empty plan, or an autopilot without such identities.
    pub(super) fn opaque_id(&self, kind: PlanKind) -> u32 {
        if self.rules.opaque_ids {
            rules::opaque_id(self.items(kind))
        } else {
            0
        }
    }

    pub(super) fn is_receiving(&self) -> bool {
        self.uploads.iter().any(Option::is_some)
    }

    pub(super) fn has_unsent_request(&self) -> bool {
        self.uploads.iter().flatten().any(|upload| !upload.was_requested())
    }

    pub(super) fn receive(&mut self, now: PlanNow, from: Address, message: &PlanMessage) -> Vec<PlanOutput> {
        let mut output = Vec::new();
        match (PlanKind::from_number(message.kind), message.body) {
            (_, PlanBody::Clear) => self.clear(now, from, message.kind, &mut output),
            (_, PlanBody::SetCurrent { seq }) => output.push(PlanOutput::Event(PlanEvent::SetCurrent(seq))),
            (None, PlanBody::Ack(_)) => {}
            (None, _) => reply(&mut output, from, PlanKind::Mission, ack(verdict::UNSUPPORTED)),
            (Some(kind), PlanBody::Count(count)) => self.begin_upload(now, from, kind, count, &mut output),
            (Some(kind), PlanBody::Item { seq, item }) => self.take_item(now, from, kind, seq, item, &mut output),
            (Some(kind), PlanBody::List) => self.begin_download(from, kind, &mut output),
            (Some(kind), PlanBody::Request { seq }) => self.give_item(now, from, kind, seq, &mut output),
            (Some(kind), PlanBody::Ack(answer)) => self.end(from, kind, answer),
        }
        output
    }

    pub(super) fn tick(&mut self, now: PlanNow) -> Vec<PlanOutput> {
        let mut output = Vec::new();
        for kind in PlanKind::ALL {
            let Some(upload) = &mut self.uploads[kind.index()] else {
                continue;
            };
            match upload.next(now.now_s, now.sends_requests, self.rules) {
                Next::Wait => {}
                Next::Request(seq) => reply(&mut output, upload.from, kind, self.rules.request(seq)),
                Next::GiveUp => {
                    if let Some(answer) = self.rules.gives_up_with {
                        reply(&mut output, upload.from, kind, ack(answer));
                    }
                    output.push(PlanOutput::Event(PlanEvent::TimedOut(kind)));
                    self.uploads[kind.index()] = None;
                }
            }
        }
        output
    }

    fn begin_upload(&mut self, now: PlanNow, from: Address, kind: PlanKind, count: u16, output: &mut Vec<PlanOutput>) {
        let count = usize::from(count);
        if self.rules.one_upload_at_a_time
            && let Some(other) = PlanKind::ALL
                .into_iter()
                .find(|open| *open != kind && self.uploads[open.index()].is_some())
        {
            // The open upload gets its next request, and its timer starts again.
            if let Some(upload) = &mut self.uploads[other.index()] {
                let seq = upload.revive(now.now_s);
                reply(output, upload.from, other, self.rules.request(seq));
            }
            return;
        }
        if self.uploads[kind.index()]
            .as_ref()
            .is_some_and(|upload| upload.from != from)
        {
            return reply(output, from, kind, ack(verdict::DENIED));
        }
        let limit = self.rules.limits[kind.index()];
        if count > limit {
            reply(output, from, kind, ack(verdict::NO_SPACE));
            return output.push(PlanOutput::Event(PlanEvent::TooMany(kind, limit)));
        }
        if count == 0 {
            self.stored[kind.index()].clear();
            self.uploads[kind.index()] = None;
            reply(output, from, kind, ack(verdict::ACCEPTED));
            return output.push(PlanOutput::Event(PlanEvent::Cleared(kind)));
        }
        if !self.rules.is_atomic(kind) {
            self.stored[kind.index()].truncate(count);
        }
        let mut upload = Upload::new(from, count, now.now_s);
        if now.sends_requests {
            upload.mark_requested(now.now_s);
            reply(output, from, kind, self.rules.request(0));
        }
        self.uploads[kind.index()] = Some(upload);
    }

    fn take_item(
        &mut self,
        now: PlanNow,
        from: Address,
        kind: PlanKind,
        seq: u16,
        item: PlanItem,
        output: &mut Vec<PlanOutput>,
    ) {
        let Some(upload) = self.uploads[kind.index()].as_mut().filter(|upload| upload.from == from) else {
            if let Some(answer) = self.rules.answer_to_stray_item {
                reply(output, from, kind, ack(answer));
            }
            return;
        };
        if seq != upload.next_seq() {
            if self.rules.any_item_is_life {
                upload.revive(now.now_s);
            }
            if let Some(answer) = self.rules.answer_to_wrong_sequence {
                reply(output, from, kind, ack(answer));
            }
            return;
        }
        let judged = (self.rules.judge)(kind, usize::from(seq), &item);
        if judged != verdict::ACCEPTED {
            self.uploads[kind.index()] = None;
            reply(output, from, kind, ack(judged));
            return output.push(PlanOutput::Event(PlanEvent::Refused(kind, judged)));
        }
        let item = (self.rules.as_stored)(kind, item);
        if !self.rules.is_atomic(kind) {
            let plan = &mut self.stored[kind.index()];
            match plan.get_mut(usize::from(seq)) {
                Some(place) => *place = item,
                None => plan.push(item),
            }
        }
        upload.take(item, now.now_s);
        if !upload.is_complete() {
            if now.sends_requests {
                upload.mark_requested(now.now_s);
                let seq = upload.next_seq();
                reply(output, from, kind, self.rules.request(seq));
            }
            return;
        }
        let items = upload.items().to_vec();
        self.uploads[kind.index()] = None;
        let complaints = (self.rules.judge_whole)(kind, &items);
        if !complaints.is_empty() {
            reply(output, from, kind, ack(verdict::ERROR));
            return output.push(PlanOutput::Event(PlanEvent::Invalid(kind, complaints)));
        }
        self.stored[kind.index()] = items;
        let accepted = PlanReply::Ack {
            verdict: verdict::ACCEPTED,
            opaque_id: self.opaque_id(kind),
        };
        reply(output, from, kind, accepted);
        output.push(PlanOutput::Event(PlanEvent::Received(kind)));
    }

    fn begin_download(&mut self, from: Address, kind: PlanKind, output: &mut Vec<PlanOutput>) {
        if self.uploads[kind.index()].is_some() {
            return reply(output, from, kind, ack(verdict::DENIED));
        }
        self.download = Some((from, kind));
        reply(output, from, kind, self.count(kind));
    }

    fn give_item(&self, now: PlanNow, from: Address, kind: PlanKind, seq: u16, output: &mut Vec<PlanOutput>) {
        if self.uploads[kind.index()].is_some() {
            return reply(output, from, kind, ack(verdict::DENIED));
        }
        if self.rules.gives_items_only_in_a_download && self.download != Some((from, kind)) {
            return;
        }
        match self.items(kind).get(usize::from(seq)) {
            Some(item) => {
                let is_home = self.rules.first_item_is_home && kind == PlanKind::Mission && seq == 0;
                let item = if is_home { now.home } else { *item };
                let current = self.rules.marks_current && kind == PlanKind::Mission && seq == now.current;
                reply(output, from, kind, PlanReply::Item { seq, current, item });
            }
            None => {
                // The peer gets the number of items.
                reply(output, from, kind, self.count(kind));
                reply(output, from, kind, ack(verdict::INVALID_SEQUENCE));
            }
        }
    }

    fn end(&mut self, from: Address, kind: PlanKind, answer: u8) {
        if self.download == Some((from, kind)) {
            self.download = None;
        }
        if answer == verdict::CANCELLED && self.rules.uploads_can_be_cancelled {
            self.uploads[kind.index()].take_if(|upload| upload.from == from);
        }
    }

    fn clear(&mut self, now: PlanNow, from: Address, number: u8, output: &mut Vec<PlanOutput>) {
        let kinds: &[PlanKind] = match PlanKind::from_number(number) {
            Some(PlanKind::Mission) => &[PlanKind::Mission],
            Some(PlanKind::Fence) => &[PlanKind::Fence],
            Some(PlanKind::Rally) => &[PlanKind::Rally],
            None if number == rules::ALL_KINDS => &PlanKind::ALL,
            None => return reply(output, from, PlanKind::Mission, ack(verdict::UNSUPPORTED)),
        };
        let shown = *kinds.first().unwrap_or(&PlanKind::Mission);
        if kinds.contains(&PlanKind::Mission) && now.flying_mission && self.rules.keeps_a_flown_mission {
            return reply(output, from, shown, ack(verdict::ERROR));
        }
        for kind in kinds {
            self.stored[kind.index()].clear();
        }
        reply(output, from, shown, ack(verdict::ACCEPTED));
        output.extend(kinds.iter().map(|kind| PlanOutput::Event(PlanEvent::Cleared(*kind))));
    }

    fn count(&self, kind: PlanKind) -> PlanReply {
        PlanReply::Count {
            // Limits are far below 65535.
            count: self.items(kind).len() as u16,
            opaque_id: self.opaque_id(kind),
        }
    }
}

fn ack(verdict: u8) -> PlanReply {
    PlanReply::Ack { verdict, opaque_id: 0 }
}

fn reply(output: &mut Vec<PlanOutput>, to: Address, kind: PlanKind, reply: PlanReply) {
    output.push(PlanOutput::Reply { to, kind, reply });
}

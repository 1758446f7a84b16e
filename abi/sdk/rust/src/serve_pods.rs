//! The functions that a module exports for points about many pods (ABI-5.9 to ABI-5.12).

use crate::base::Base;
use crate::columns::utf8;
use crate::event::{Actions, Event, EventResource};
use crate::guest::Instance;
use crate::memory::View;
use crate::plugin::{Hint, PreEnqueue, QueueSort};
use crate::pod::Which;
use crate::queue::{Key, Queued};
use crate::records::{EventRecord, KeyRecord, PodEntry, QueueEntry, Text, NO_NODE};
use crate::serve_rows::{codes, Verdicts};
use crate::status::{Reason, Status};

impl Base {
    /// Reads the record of a pod of the pod list.
    pub(crate) fn listed(&mut self, i: u32, which: Which) {
        let list = self.record().pods;
        let entry = self.memory.view::<PodEntry>(list, i + 1).slice()[i as usize];
        self.pods[which as usize].parse(&self.memory, entry.address, entry.size);
    }

    /// Reads the records of an event's pods.
    fn event_pods(&mut self) {
        let event = self.event_record();
        for (entry, which) in [(event.old_pod, Which::Other), (event.new_pod, Which::New)] {
            if entry.address != 0 {
                self.pods[which as usize].parse(&self.memory, entry.address, entry.size);
            }
        }
    }

    fn event_record(&self) -> EventRecord {
        unsafe { *self.memory.at(self.record().event) }
    }

    fn event(&self) -> Event<'_> {
        let event = self.event_record();
        let pod = |entry: PodEntry, which| match entry.address {
            0 => None,
            _ => Some(self.pod(which)),
        };
        let node = |row| match row {
            NO_NODE => None,
            row => Some(self.node(row)),
        };
        Event {
            resource: EventResource(event.resource),
            actions: Actions(event.actions),
            old_pod: pod(event.old_pod, Which::Other),
            new_pod: pod(event.new_pod, Which::New),
            old_node: node(event.old_node),
            new_node: node(event.new_node),
            namespace: self.event_text(event.namespace),
            name: self.event_text(event.name),
        }
    }

    fn event_text(&self, text: Text) -> &str {
        if text.address == 0 {
            return "";
        }
        let bytes: View<u8> = self.memory.view(text.address, text.length);
        utf8(unsafe { &*bytes.slice_mut() }) // it stays as it is during the call
    }
}

/// berth_pre_enqueue.
pub fn pre_enqueue<P: PreEnqueue>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    let mut used = false;
    for k in 0..i.base.record().n_rows {
        i.base.listed(k, Which::Asked);
        let base = &i.base;
        let status = i.plugin.pre_enqueue(base, base.pod(Which::Asked));
        let answers = Verdicts::new(base);
        answers.codes[k as usize] = status.code().0;
        answers.reasons[k as usize] = status.reason().0;
        used |= status.reason() != Reason::NONE;
    }
    i.base.finish(Status::SUCCESS, used)
}

/// berth_queue_key.
pub fn queue_key<P: QueueSort>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    let record = i.base.record();
    let queue = i
        .base
        .memory
        .view::<QueueEntry>(record.queue, record.n_rows);
    let keys = i.base.memory.view::<KeyRecord>(record.keys, record.n_rows);
    let keys = unsafe { keys.slice_mut() }; // as in Verdicts
    for (k, (entry, key)) in queue.slice().iter().zip(keys).enumerate() {
        i.base.listed(k as u32, Which::Asked);
        let queued = Queued {
            time: entry.time,
            attempts: entry.attempts,
        };
        let mut key = Key {
            bytes: &mut key.bytes,
            length: &mut key.length,
        };
        let base = &i.base;
        let status = i
            .plugin
            .queue_key(base, base.pod(Which::Asked), queued, &mut key);
        if status != Status::SUCCESS {
            return base.finish(status, false); // one key missing is none: the call failed
        }
    }
    i.base.finish(Status::SUCCESS, false)
}

/// berth_hint. Only codes are answered: a hint has no reasons (ABI-3.1).
pub fn hint<P: Hint>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    i.base.event_pods();
    for k in 0..i.base.record().n_rows {
        i.base.listed(k, Which::Asked);
        let base = &i.base;
        let status = i.plugin.hint(base, base.event(), base.pod(Which::Asked));
        let codes = unsafe { codes(base).slice_mut() }; // as in Verdicts
        codes[k as usize] = status.code().0;
    }
    i.base.finish(Status::SUCCESS, false)
}

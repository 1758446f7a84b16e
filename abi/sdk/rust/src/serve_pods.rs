//! The functions that a module exports for points about many pods (ABI-5.9 to ABI-5.12).

use crate::abi::limit;
use crate::base::Base;
use crate::error::Error;
use crate::guest::Instance;
use crate::plugin::{Hint, PreEnqueue, QueueKey};
use crate::pod::Which;
use crate::queue::{Key, Queued};
use crate::records::PodEntry;
use crate::serve_rows::{codes, Verdicts};
use crate::status::{Reason, Status};

impl Base {
    /// Reads the record of a pod of the pod list.
    pub(crate) fn listed(&mut self, i: u32, which: Which) {
        let list = self.record().pods;
        let entry = self.memory.view::<PodEntry>(list, i + 1).slice()[i as usize];
        self.pods[which as usize].parse(&self.memory, entry.address, entry.size, Some(i));
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
pub fn queue_key<P: QueueKey>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    let record = i.base.record();
    let queue = i.base.memory.view::<Queued>(record.queue, record.n_rows);
    let keys = i.base.memory.view::<Key>(record.keys, record.n_rows);
    let keys = unsafe { keys.slice_mut() }; // as in Verdicts
    for k in 0..keys.len() {
        i.base.listed(k as u32, Which::Asked);
        let base = &i.base;
        i.plugin
            .queue_key(base, base.pod(Which::Asked), queue.slice()[k], &mut keys[k]);
        let length = keys[k].length();
        if length > limit::QUEUE_KEY {
            keys.fill(Key::EMPTY);
            return base.finish(Status::error(too_long(base, length)), false);
        }
    }
    i.base.finish(Status::SUCCESS, false)
}

/// Why a key is not valid.
#[cold]
fn too_long(base: &Base, length: usize) -> Reason {
    let text = Error::from("the queue key has ").number(length);
    base.reason(&[text.and(" bytes, at most 64 are allowed").text()])
}

/// berth_hint. Only codes are answered: a hint has no reasons (ABI-3.1).
pub fn hint<P: Hint>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    i.base.event_pods();
    for k in 0..i.base.record().n_rows {
        i.base.listed(k, Which::Asked);
        let base = &i.base;
        let answer = i.plugin.hint(base, base.event(), base.pod(Which::Asked));
        let codes = unsafe { codes(base).slice_mut() }; // as in Verdicts
        codes[k as usize] = answer as u8;
    }
    i.base.finish(Status::SUCCESS, false)
}

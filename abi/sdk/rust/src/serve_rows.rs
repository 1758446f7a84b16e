//! The functions that a module exports, except those about many pods. They are called by
//! export! and by `testing`; plugins do not.

use core::time::Duration;

use crate::abi::{Code, Point};
use crate::base::Base;
use crate::guest::Instance;
use crate::host::Level;
use crate::memory::View;
use crate::node::Node;
use crate::plugin::{
    AddPod, Bind, Configure, Filter, Normalize, Permit, Plugin, PostBind, PostFilter, PreBind,
    PreFilter, PreScore, Reserve, Rows, Score, Unreserve,
};
use crate::pod::{Pod, Which};
use crate::snapshot::Judged;
use crate::status::{Reason, Status};

/// berth_configure.
pub fn configure<P: Configure>(i: &mut Instance<P>, address: u32, length: u32) -> i32 {
    // The host wrote it, and calls nothing else at the same time.
    let config = i.base.memory.view::<u8>(address, length);
    if Instance::<P>::BRINGS {
        i.base.bring(config.slice());
    }
    match i.plugin.configure(&mut i.base, config.slice()) {
        Ok(()) => 0,
        Err(why) => {
            if Instance::<P>::LOGS {
                i.base.log(Level::Failure, why.text());
            }
            1
        }
    }
}

/// berth_pre_filter.
pub fn pre_filter<P: PreFilter>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.rows.truncate(0);
    i.base.begin(call);
    let base = &i.base;
    let mut rows = Rows {
        base,
        rows: &mut i.rows,
        counts: false,
    };
    let nodes = base.snapshot().nodes();
    let status = i
        .plugin
        .pre_filter(base, base.pod(Which::Asked), nodes, &mut rows);
    let counts = rows.counts;
    if counts && status == Status::SUCCESS {
        let (address, n) = (i.rows.address(&base.memory), i.rows.len() as u32);
        base.answer(|record| {
            record.row_set = address;
            record.n_row_set = n;
            record.has_row_set = 1;
        });
    }
    base.finish(status, false)
}

/// berth_filter.
pub fn filter<P: Filter>(i: &mut Instance<P>, call: u32, lo: u32, _: u32) -> i32 {
    i.base.begin(call);
    let (base, plugin) = (&i.base, &mut i.plugin);
    let pod = base.pod(Which::Asked);
    let answers = Verdicts::new(base);
    let prepared = plugin.prepare(base, pod);
    match prepared.code() {
        Code::SUCCESS => {}
        Code::SKIP => return base.finish(Status::SUCCESS, false),
        Code::ERROR => return base.finish(prepared, false),
        _ => {
            answers.codes.fill(prepared.code().0);
            answers.reasons.fill(prepared.reason().0);
            return base.finish(Status::SUCCESS, prepared.reason() != Reason::NONE);
        }
    }
    let nodes = base.nodes(lo);
    let columns = &base.columns;
    let used = match nodes.rows {
        None => answers.each(|k| {
            let row = lo + k as u32;
            plugin.filter(base, pod, Node { columns, row })
        }),
        Some(rows) => answers.each(|k| {
            let row = rows[k];
            plugin.filter(base, pod, Node { columns, row })
        }),
    };
    base.finish(Status::SUCCESS, used)
}

/// The answers of a point that judges rows or pods one by one. The host gives them to the guest
/// to write, zeroed (ABI-3.2); there is no other view of them.
pub(crate) struct Verdicts<'c> {
    pub codes: &'c mut [u8],
    pub reasons: &'c mut [u16],
}

impl<'c> Verdicts<'c> {
    pub fn new(base: &'c Base) -> Verdicts<'c> {
        let record = base.record();
        let reasons = base.memory.view(record.reasons, record.n_rows);
        unsafe {
            Verdicts {
                codes: codes(base).slice_mut(),
                reasons: reasons.slice_mut(),
            }
        }
    }

    /// Asks for each answer; the default is success. Reports whether there is a reason among
    /// them.
    #[inline]
    pub fn each(self, mut judge: impl FnMut(usize) -> Status) -> bool {
        let mut used = false;
        for (k, (code, reason)) in self.codes.iter_mut().zip(self.reasons).enumerate() {
            let status = judge(k);
            if status != Status::SUCCESS {
                *code = status.code().0;
                *reason = status.reason().0;
                used |= status.reason() != Reason::NONE;
            }
        }
        used
    }
}

/// The codes of a call.
pub(crate) fn codes(base: &Base) -> View<u8> {
    let record = base.record();
    base.memory.view(record.codes, record.n_rows)
}

/// berth_post_filter.
pub fn post_filter<P: PostFilter>(i: &mut Instance<P>, call: u32, lo: u32, _: u32) -> i32 {
    i.base.begin(call);
    let base = &i.base;
    let nodes = base.nodes(lo);
    let codes = base.memory.view::<Code>(base.record().codes, nodes.n);
    let pod = base.pod(Which::Asked);
    let judged = Judged {
        nodes,
        codes: codes.slice(),
    };
    base.finish(i.plugin.post_filter(base, pod, judged), false)
}

/// berth_pre_score.
pub fn pre_score<P: PreScore>(i: &mut Instance<P>, call: u32, lo: u32, _: u32) -> i32 {
    i.base.begin(call);
    let base = &i.base;
    base.finish(
        i.plugin
            .pre_score(base, base.pod(Which::Asked), base.nodes(lo)),
        false,
    )
}

/// The scores of a call.
fn scores(base: &Base) -> View<i64> {
    let record = base.record();
    base.memory.view(record.scores, record.n_rows)
}

/// berth_score.
pub fn score<P: Score>(i: &mut Instance<P>, call: u32, lo: u32, _: u32) -> i32 {
    i.base.begin(call);
    let (base, plugin) = (&i.base, &mut i.plugin);
    let pod = base.pod(Which::Asked);
    let prepared = plugin.prepare(base, pod);
    match prepared.code() {
        Code::SUCCESS => {}
        Code::SKIP => return base.finish(Status::SUCCESS, false),
        _ => return base.finish(Status::error(prepared.reason()), false),
    }
    let nodes = base.nodes(lo);
    let scores = unsafe { scores(base).slice_mut() }; // as in Verdicts
    for (k, score) in scores.iter_mut().enumerate() {
        *score = plugin.score(base, pod, nodes.at(k));
    }
    base.finish(Status::SUCCESS, false)
}

/// berth_normalize.
pub fn normalize<P: Normalize>(i: &mut Instance<P>, call: u32, lo: u32, _: u32) -> i32 {
    i.base.begin(call);
    let base = &i.base;
    let scores = unsafe { scores(base).slice_mut() }; // as in Verdicts
    let pod = base.pod(Which::Asked);
    base.finish(i.plugin.normalize(base, pod, base.nodes(lo), scores), false)
}

/// Calls a point about the pod and one node: row 0, or an overlay row.
fn one<P: Plugin>(
    i: &mut Instance<P>,
    row: u32,
    ask: impl FnOnce(&mut P, &Base, Pod<'_>, Node<'_>) -> Status,
) -> i32 {
    let base = &i.base;
    let status = ask(&mut i.plugin, base, base.pod(Which::Asked), base.node(row));
    base.finish(status, false)
}

/// berth_add_pod.
pub fn add_pod<P: AddPod>(i: &mut Instance<P>, call: u32, lo: u32, _: u32) -> i32 {
    i.base.begin_with(call);
    one(i, lo, |p, base, pod, node| {
        p.add_pod(base, pod, base.pod(Which::Other), node)
    })
}

/// berth_remove_pod.
pub fn remove_pod<P: AddPod>(i: &mut Instance<P>, call: u32, lo: u32, _: u32) -> i32 {
    i.base.begin_with(call);
    one(i, lo, |p, base, pod, node| {
        p.remove_pod(base, pod, base.pod(Which::Other), node)
    })
}

/// berth_reserve.
pub fn reserve<P: Reserve>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    one(i, 0, P::reserve)
}

/// berth_unreserve.
pub fn unreserve<P: Unreserve>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    one(i, 0, P::unreserve)
}

/// berth_permit.
pub fn permit<P: Permit>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    one(i, 0, |p, base, pod, node| {
        let (wait, status) = p.permit(base, pod, node);
        if status.code() == Code::WAIT {
            base.answer(|record| record.wait = milliseconds(wait));
        }
        status
    })
}

impl Base {
    /// Asks for another attempt for the pod after a time (rounded up to milliseconds, at least a
    /// second and at most an hour), if this one fails and no event has it tried before: at
    /// pre_enqueue for a pod that it holds back, at pre_filter, reserve and permit whatever they
    /// answer. The last call counts. The manifest must have ABI 1.1 or later.
    pub fn retry_after(&self, after: Duration) {
        let (record, ms) = (self.record(), milliseconds(after));
        match self.pods[Which::Asked as usize].index {
            Some(k) if record.point == Point::PRE_ENQUEUE.0 => {
                let scores = self.memory.view::<i64>(record.scores, record.n_rows);
                unsafe { scores.slice_mut()[k as usize] = ms as i64 } // as in Verdicts
            }
            _ => self.answer(|record| record.retry_after = ms),
        }
    }
}

/// Whole milliseconds, rounded up, so that a wait of less is one; as_millis has 128 bits, whose
/// arithmetic is code that nothing else needs.
fn milliseconds(wait: Duration) -> u64 {
    let rest = (wait.subsec_nanos() + 999_999) / 1_000_000;
    wait.as_secs()
        .saturating_mul(1000)
        .saturating_add(u64::from(rest))
}

/// berth_pre_bind.
pub fn pre_bind<P: PreBind>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    one(i, 0, P::pre_bind)
}

/// berth_bind.
pub fn bind<P: Bind>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    one(i, 0, P::bind)
}

/// berth_post_bind.
pub fn post_bind<P: PostBind>(i: &mut Instance<P>, call: u32, _: u32, _: u32) -> i32 {
    i.base.begin(call);
    one(i, 0, P::post_bind)
}

//! Statuses and the numbers of reasons (SPEC.md, section 8).

use crate::abi::Code;

/// The answer to a call, or for one node of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Status(u32);

/// A reason that people read, made by [`Base::reason`](crate::Base::reason).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct Reason(pub(crate) u16);

impl Reason {
    /// No reason.
    pub const NONE: Reason = Reason(0);
}

impl Status {
    /// The plugin has no objection.
    pub const SUCCESS: Status = Status::of(Code::SUCCESS, Reason::NONE);
    /// An answer of pre_filter, pre_score and prepare: nothing to do here for this pod. Of
    /// bind: the next plugin may bind. Of hint: the event changes nothing for this pod.
    pub const SKIP: Status = Status::of(Code::SKIP, Reason::NONE);
    /// An answer of permit: the pod waits until the plugin allows it.
    pub const WAIT: Status = Status::of(Code::WAIT, Reason::NONE);

    /// The pod does not fit, and removing other pods could help: preemption considers the
    /// node.
    pub const fn unschedulable(reason: Reason) -> Status {
        Status::of(Code::UNSCHEDULABLE, reason)
    }

    /// The pod does not fit, and removing pods cannot help: preemption leaves the node
    /// alone.
    pub const fn unschedulable_and_unresolvable(reason: Reason) -> Status {
        Status::of(Code::UNSCHEDULABLE_AND_UNRESOLVABLE, reason)
    }

    /// The pod has to wait for an event that the plugin registered.
    pub const fn pending(reason: Reason) -> Status {
        Status::of(Code::PENDING, reason)
    }

    /// The plugin failed.
    pub const fn error(reason: Reason) -> Status {
        Status::of(Code::ERROR, reason)
    }

    pub(crate) const fn of(code: Code, reason: Reason) -> Status {
        Status(code.0 as u32 | (reason.0 as u32) << 8)
    }

    /// The code.
    #[inline]
    pub const fn code(self) -> Code {
        Code(self.0 as u8)
    }

    /// The reason; NONE for none.
    #[inline]
    pub const fn reason(self) -> Reason {
        Reason((self.0 >> 8) as u16)
    }
}

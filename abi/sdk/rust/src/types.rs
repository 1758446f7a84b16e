//! Ids, handles, and the elements of lists (ABI-4.7, ABI-6.2).

pub use crate::abi::Code;

/// Names a string. Equal strings have equal ids, so comparing ids compares strings; ids
/// have no order. Ids are valid during a call only. The text is
/// [`Base::text`](crate::Base::text).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct Id(pub u32);

impl Id {
    /// The id of no string: a label that a node does not have. The empty string has an id
    /// of its own.
    pub const ABSENT: Id = Id(0);
}

/// The score of a node about which there is nothing to say: a normalisation of the host leaves it
/// out, and it becomes 0.
pub const NO_SCORE: i64 = i64::MIN;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name(pub(crate) u32);
    )+};
}

// Handles name a declared column: a key of a list of the manifest. They come from the
// methods of Base of the same names, when the plugin is made.
handles! {
    /// A resource of the list `resources`.
    Resource
    /// A key of the list `nodeLabels`.
    NodeLabel
    /// A key of the list `nodeAnnotations`.
    NodeAnnotation
    /// A type of the list `nodeConditions`.
    NodeCondition
    /// A feed of the list `feeds`, as `name:unit`.
    Feed
    /// A column of the list `objectColumns`.
    ObjectColumn
    /// A key of the list `podLabels`.
    PodLabel
    /// A key of the list `podAnnotations`.
    PodAnnotation
    /// A key of the list `namespaceLabels`.
    NamespaceLabel
    /// An entry of the list `published`.
    Published
}

/// A label: key and value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Pair {
    /// The key.
    pub key: Id,
    /// The value.
    pub value: Id,
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $of:ty { $($(#[$one:meta])* $constant:ident = $n:expr,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(transparent)]
        pub struct $name(pub $of);

        impl $name {
            $($(#[$one])* pub const $constant: $name = $name($n);)+
        }
    )+};
}

// Numbers and not enums: a later minor version may have more of them.
numbers! {
    /// The effect of a taint, as in core/v1.
    Effect: u32 {
        /// Every effect; of tolerations only.
        ANY = 0,
        /// NoSchedule.
        NO_SCHEDULE = 1,
        /// PreferNoSchedule.
        PREFER_NO_SCHEDULE = 2,
        /// NoExecute.
        NO_EXECUTE = 3,
    }
    /// The protocol of a host port, as in core/v1.
    Protocol: u8 {
        /// TCP.
        TCP = 1,
        /// UDP.
        UDP = 2,
        /// SCTP.
        SCTP = 3,
    }
    /// The status of a node's condition.
    Condition: u8 {
        /// The node does not report the condition.
        ABSENT = 0,
        /// True.
        TRUE = 1,
        /// False.
        FALSE = 2,
        /// Unknown.
        UNKNOWN = 3,
    }
    /// What a feed's value of a node is worth.
    FeedState: u8 {
        /// The feed has never had a value of the node.
        NONE = 0,
        /// The value is fresh.
        FRESH = 1,
        /// The last value is too old.
        STALE = 2,
    }
    /// How a toleration matches.
    TolerationOperator: u32 {
        /// The value must be equal.
        EQUAL = 1,
        /// Any value will do.
        EXISTS = 2,
    }
    /// How a requirement on a label matches: core/v1 NodeSelectorRequirement.
    Operator: u32 {
        /// The value is one of those listed.
        IN = 1,
        /// The label is absent, or has none of the values.
        NOT_IN = 2,
        /// The label exists.
        EXISTS = 3,
        /// The label is not there.
        DOES_NOT_EXIST = 4,
        /// The value is a number greater than the operand.
        GT = 5,
        /// The value is a number less than the operand.
        LT = 6,
    }
    /// The role of a container.
    ContainerKind: u32 {
        /// The pod's work.
        APP = 1,
        /// It ends before the others start.
        INIT = 2,
        /// It starts before the others, and runs beside them.
        SIDECAR = 3,
    }
}

/// A taint of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Taint {
    /// The key.
    pub key: Id,
    /// The value; the empty string's id for a taint without one.
    pub value: Id,
    /// The effect.
    pub effect: Effect,
}

/// A host port. The id of `0.0.0.0` is every address of the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Port {
    /// The address.
    pub ip: Id,
    /// The port.
    pub port: u16,
    /// The protocol.
    pub protocol: Protocol,
    zero: u8,
}

/// A container image on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Image {
    /// One of the image's names.
    pub name: Id,
    zero: u32,
    /// Size in bytes.
    pub size: i64,
}

/// A toleration of the pod. Key ABSENT with EXISTS is every key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Toleration {
    /// The key.
    pub key: Id,
    /// The value; ABSENT with EXISTS.
    pub value: Id,
    /// How it matches.
    pub operator: TolerationOperator,
    /// The effect, or ANY.
    pub effect: Effect,
    /// tolerationSeconds; −1 if there is no limit.
    pub seconds: i64,
}

impl Toleration {
    /// Reports whether the toleration matches a taint.
    #[inline]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let exists = self.operator == TolerationOperator::EXISTS;
        if self.key != taint.key && !(self.key == Id::ABSENT && exists) {
            return false; // first, since it is most of them
        }
        (exists || self.value == taint.value)
            && (self.effect == taint.effect || self.effect == Effect::ANY)
    }
}

/// A requirement on a node's label. Its values are [`Pod::values`](crate::Pod::values).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Requirement {
    /// The label's key.
    pub key: Id,
    /// How it matches.
    pub operator: Operator,
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// The operand of GT and LT.
    pub number: i64,
}

/// A container of a pod. Its resources are [`Pod::container_request`](crate::Pod::container_request)
/// and [`Pod::container_limit`](crate::Pod::container_limit).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Container {
    /// Its name.
    pub name: Id,
    /// Its role.
    pub kind: ContainerKind,
    /// Its image, as nodes report it.
    pub image: Id,
    pub(crate) first: u32,
}

/// Requirements that must all hold: [`Pod::requirements`](crate::Pod::requirements).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Term {
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Of preferred terms.
    pub weight: i32,
    flags: u32,
}

impl Term {
    /// Reports a term that cannot be evaluated and so matches no node.
    pub fn unusable(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Reports a term with requirements on metadata.name, which the host evaluates and the
    /// record does not have (ABI-6.4).
    pub fn has_fields(&self) -> bool {
        self.flags & 2 != 0
    }
}

/// Where a row's elements are in an arena (ABI-4.8).
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Span {
    pub start: u32,
    pub length: u32,
}

/// The value of a key among labels; ABSENT if it is not there.
#[inline]
pub(crate) fn find(pairs: &[Pair], key: Id) -> Id {
    for pair in pairs {
        if pair.key == key {
            return pair.value;
        }
    }
    Id::ABSENT
}

//! The numbers of the ABI (abi/SPEC.md, version 1.0). They never change their meaning.

/// What `berth_abi` returns: major and minor version (ABI-2.2).
pub const VERSION: u32 = (MAJOR as u32) << 16 | MINOR as u32;
/// Major version.
pub const MAJOR: u16 = 1;
/// Minor version.
pub const MINOR: u16 = 0;
/// Begins the snapshot header: the bytes `BRTH` (ABI-4.1).
pub const MAGIC: u32 = 0x4854_5242;
/// Alignment of the region in bytes (ABI-2.4).
pub const REGION_ALIGN: u32 = 64;

/// A status code: the answer to a call, or for one row of a call (SPEC.md, section 8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Code(pub u8);

impl Code {
    /// The plugin has no objection.
    pub const SUCCESS: Code = Code(0);
    /// The plugin failed.
    pub const ERROR: Code = Code(1);
    /// The pod does not fit now; removing other pods could help.
    pub const UNSCHEDULABLE: Code = Code(2);
    /// The pod does not fit, and removing pods cannot help.
    pub const UNSCHEDULABLE_AND_UNRESOLVABLE: Code = Code(3);
    /// Of permit: bind later, when allowed.
    pub const WAIT: Code = Code(4);
    /// Leave this plugin, or this step, out.
    pub const SKIP: Code = Code(5);
    /// The pod waits for an event that the plugin registered.
    pub const PENDING: Code = Code(6);

    /// The name that kube-scheduler gives the code.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "Success",
            1 => "Error",
            2 => "Unschedulable",
            3 => "UnschedulableAndUnresolvable",
            4 => "Wait",
            5 => "Skip",
            6 => "Pending",
            _ => "Unknown",
        }
    }
}

/// An extension point (SPEC.md, section 5), in the order of a pod's path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Point(pub u32);

/// The points: number, name in the manifest, export.
const POINTS: [(Point, &str, &str); 17] = [
    (Point::PRE_ENQUEUE, "preEnqueue", "berth_pre_enqueue"),
    (Point::QUEUE_SORT, "queueSort", "berth_queue_key"),
    (Point::HINT, "hint", "berth_hint"),
    (Point::PRE_FILTER, "preFilter", "berth_pre_filter"),
    (Point::ADD_POD, "addPod", "berth_add_pod"),
    (Point::REMOVE_POD, "removePod", "berth_remove_pod"),
    (Point::FILTER, "filter", "berth_filter"),
    (Point::POST_FILTER, "postFilter", "berth_post_filter"),
    (Point::PRE_SCORE, "preScore", "berth_pre_score"),
    (Point::SCORE, "score", "berth_score"),
    (Point::NORMALIZE, "normalize", "berth_normalize"),
    (Point::RESERVE, "reserve", "berth_reserve"),
    (Point::UNRESERVE, "unreserve", "berth_unreserve"),
    (Point::PERMIT, "permit", "berth_permit"),
    (Point::PRE_BIND, "preBind", "berth_pre_bind"),
    (Point::BIND, "bind", "berth_bind"),
    (Point::POST_BIND, "postBind", "berth_post_bind"),
];

impl Point {
    /// PreEnqueue.
    pub const PRE_ENQUEUE: Point = Point(0);
    /// QueueSort.
    pub const QUEUE_SORT: Point = Point(1);
    /// QueueingHint.
    pub const HINT: Point = Point(2);
    /// PreFilter.
    pub const PRE_FILTER: Point = Point(3);
    /// PreFilterExtensionAddPod.
    pub const ADD_POD: Point = Point(4);
    /// PreFilterExtensionRemovePod.
    pub const REMOVE_POD: Point = Point(5);
    /// Filter.
    pub const FILTER: Point = Point(6);
    /// PostFilter.
    pub const POST_FILTER: Point = Point(7);
    /// PreScore.
    pub const PRE_SCORE: Point = Point(8);
    /// Score.
    pub const SCORE: Point = Point(9);
    /// Normalize.
    pub const NORMALIZE: Point = Point(10);
    /// Reserve.
    pub const RESERVE: Point = Point(11);
    /// Unreserve.
    pub const UNRESERVE: Point = Point(12);
    /// Permit.
    pub const PERMIT: Point = Point(13);
    /// PreBind.
    pub const PRE_BIND: Point = Point(15);
    /// Bind.
    pub const BIND: Point = Point(16);
    /// PostBind.
    pub const POST_BIND: Point = Point(17);

    /// The number of points.
    pub const COUNT: usize = POINTS.len();

    /// The i-th point in the order of a pod's path.
    pub const fn nth(i: usize) -> Point {
        POINTS[i].0
    }

    /// The name in the manifest's `points` (ABI-9.3).
    pub const fn name(self) -> &'static str {
        let mut i = 0;
        while i < POINTS.len() {
            if POINTS[i].0 .0 == self.0 {
                return POINTS[i].1;
            }
            i += 1;
        }
        "unknown"
    }

    /// The function that a module exports for it.
    pub const fn export(self) -> &'static str {
        let mut i = 0;
        while i < POINTS.len() {
            if POINTS[i].0 .0 == self.0 {
                return POINTS[i].2;
            }
            i += 1;
        }
        "unknown"
    }
}

/// Tables of a snapshot (SPEC.md, section 4).
pub mod table {
    #![allow(missing_docs)]
    pub const NODES: u32 = 1;
    pub const PODS: u32 = 2;
    pub const STRINGS: u32 = 3;
    pub const NAMESPACES: u32 = 4;
}

/// Columns of the tables (SPEC.md, section 4), under the names of the manifest.
pub mod column {
    #![allow(missing_docs)]
    /// The distance from a column of spans to its arena (ABI-4.8).
    pub const ARENA: u32 = 256;

    // Generated from abi/fields.
    pub const NODE_NAME: u32 = 1;
    pub const NODE_FLAGS: u32 = 2;
    pub const NODE_ALLOCATABLE: u32 = 3;
    pub const NODE_REQUESTED: u32 = 4;
    pub const NODE_NON_ZERO_REQUESTED: u32 = 5;
    pub const NODE_LABELS: u32 = 6;
    pub const NODE_ANNOTATION: u32 = 7;
    pub const NODE_TAINTS: u32 = 8;
    pub const NODE_PORTS: u32 = 9;
    pub const NODE_IMAGES: u32 = 10;
    pub const NODE_CONDITION: u32 = 11;
    pub const NODE_PODS: u32 = 12;
    pub const NODE_GENERATION: u32 = 13;
    pub const NODE_LABEL: u32 = 14;
    pub const NODE_ZONE: u32 = 16;
    pub const NODE_CAPACITY: u32 = 162;
    pub const NODE_CREATED_AT: u32 = 163;
    pub const NODE_NOMINATED: u32 = 167;
    pub const NODE_FEED: u32 = 190;
    pub const NODE_FEED_STATE: u32 = 191;
    pub const NODE_REQUESTED_SINCE: u32 = 193;
    pub const NODE_OBJECT_NUMBERS: u32 = 194;
    pub const NODE_OBJECT_TEXTS: u32 = 195;

    pub const POD_NAMESPACE: u32 = 64;
    pub const POD_PRIORITY: u32 = 65;
    pub const POD_REQUESTS: u32 = 66;
    pub const POD_LABELS: u32 = 67;
    pub const POD_ANNOTATION: u32 = 68;
    pub const POD_OWNER: u32 = 69;
    pub const POD_LABEL: u32 = 70;
    pub const POD_FLAGS: u32 = 71;
    pub const POD_UID: u32 = 73;
    pub const POD_NAME: u32 = 74;
    pub const POD_LIMITS: u32 = 75;
    pub const POD_QOS: u32 = 76;
    pub const POD_ASSIGNED_AT: u32 = 77;
    pub const POD_CREATED_AT: u32 = 78;
    pub const POD_STATE: u32 = 79;

    pub const STRING: u32 = 192;

    pub const NAMESPACE_NAME: u32 = 224;
    pub const NAMESPACE_LABELS: u32 = 225;
    pub const NAMESPACE_LABEL: u32 = 226;
    pub const NAMESPACE_REQUESTED: u32 = 227;
    pub const NAMESPACE_OBJECT_NUMBERS: u32 = 228;
    pub const NAMESPACE_OBJECT_TEXTS: u32 = 229;
}

/// Fields of the pod record (SPEC.md, section 6).
pub mod field {
    #![allow(missing_docs)]
    // Generated from abi/fields.
    pub const NAME: u32 = 128;
    pub const NODE_NAME: u32 = 129;
    pub const NODE_SELECTOR: u32 = 130;
    pub const TOLERATIONS: u32 = 131;
    pub const HOST_PORTS: u32 = 132;
    pub const IMAGES: u32 = 133;
    pub const SCHEDULING_GATES: u32 = 134;
    pub const NAMESPACE: u32 = 140;
    pub const PRIORITY: u32 = 141;
    pub const REQUESTS: u32 = 142;
    pub const LABELS: u32 = 143;
    pub const ANNOTATIONS: u32 = 144;
    pub const OWNER: u32 = 145;
    pub const REQUIRED_TERMS: u32 = 146;
    pub const PREFERRED_TERMS: u32 = 147;
    pub const REQUIREMENTS: u32 = 148;
    pub const REQUIREMENT_VALUES: u32 = 149;
    pub const NON_ZERO_REQUESTED: u32 = 150;
    pub const NAMESPACE_LABELS: u32 = 151;
    pub const UID: u32 = 152;
    pub const CREATED_AT: u32 = 154;
    pub const PRIORITY_CLASS: u32 = 155;
    pub const SERVICE_ACCOUNT: u32 = 156;
    pub const PREEMPTION_POLICY: u32 = 157;
    pub const GROUP: u32 = 158;
    pub const LIMITS: u32 = 159;
    pub const QOS: u32 = 160;
    pub const CLAIMS: u32 = 161;
    pub const NOW: u32 = 164;
    pub const CONTAINERS: u32 = 165;
    pub const CONTAINER_AMOUNTS: u32 = 166;
}

/// Types of a column's elements (ABI-4.7).
pub mod element {
    #![allow(missing_docs)]
    pub const U8: u32 = 1;
    pub const U16: u32 = 2;
    pub const U32: u32 = 3;
    pub const U64: u32 = 4;
    pub const I32: u32 = 5;
    pub const I64: u32 = 6;
    pub const SPAN: u32 = 7;
    pub const PAIR: u32 = 8;
    pub const TAINT: u32 = 9;
    pub const PORT: u32 = 10;
    pub const IMAGE: u32 = 11;
    pub const BYTES: u32 = 12;
}

/// Limits (SPEC.md, section 10); sizes are in bytes.
pub mod limit {
    #![allow(missing_docs)]
    pub const REASON_SETS: usize = 1024;
    pub const REASON_TEXTS: usize = 16;
    pub const TEXT: usize = 1024;
    pub const TEXTS: usize = 65_536;
    pub const STATE_KEY: usize = 128;
    pub const STATE_VALUE: usize = 65_536;
    pub const LOG_TEXT: usize = 4096;
    pub const BATCH: usize = 1024;
    pub const QUEUE_KEY: usize = 64;
    pub const DIRECTIVES: usize = 256;
    pub const DIRECTIVE_TEXTS: usize = 65_536;
    /// 15 minutes in milliseconds (ABI-5.18).
    pub const WAIT: u64 = 900_000;
}

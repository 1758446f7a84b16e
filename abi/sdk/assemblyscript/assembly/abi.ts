// The numbers of the ABI (abi/SPEC.md, version 1.0). They never change their meaning.

/** What berth_abi returns: major and minor version (ABI-2.2). */
export const VERSION: u32 = 0x10000;

/** A status code: the answer to a call, or for one row of a call (SPEC.md, section 8). */
export const enum Code {
  Success = 0,
  Error = 1,
  Unschedulable = 2,
  UnschedulableAndUnresolvable = 3,
  Wait = 4,
  Skip = 5,
  Pending = 6,
}

/** The resource of a cluster event (ABI-3.10). */
export const enum EventKind {
  // Generated from abi/fields.
  Any = 0,
  AssignedPod = 1,
  UnscheduledPod = 2,
  Node = 3,
  PersistentVolume = 4,
  PersistentVolumeClaim = 5,
  CSINode = 6,
  CSIDriver = 7,
  VolumeAttachment = 8,
  CSIStorageCapacity = 9,
  StorageClass = 10,
  ResourceClaim = 11,
  ResourceSlice = 12,
  DeviceClass = 13,
  Namespace = 14,
}

/** A set of changes to the object of an event, as in k8s.io/kube-scheduler/framework. */
export const enum EventAction {
  // Generated from abi/fields.
  Add = 1 << 0,
  Delete = 1 << 1,
  UpdateNodeAllocatable = 1 << 2,
  UpdateNodeLabel = 1 << 3,
  UpdateNodeTaint = 1 << 4,
  UpdateNodeCondition = 1 << 5,
  UpdateNodeAnnotation = 1 << 6,
  UpdateNodeDeclaredFeature = 1 << 7,
  UpdatePodLabel = 1 << 8,
  UpdatePodScaleDown = 1 << 9,
  UpdatePodToleration = 1 << 10,
  UpdatePodSchedulingGatesEliminated = 1 << 11,
  UpdatePodGeneratedResourceClaim = 1 << 12,
  UpdateOther = 1 << 13,
  UpdatePodReady = 1 << 14,
  UpdateNamespaceLabel = 1 << 15,
}

/** Begins the snapshot header: the bytes BRTH (ABI-4.1). */
export const MAGIC: u32 = 0x48545242;
export const MAJOR: u16 = 1;

/** Tables of a snapshot. */
export const enum Table {
  Nodes = 1,
  Pods = 2,
  Strings = 3,
  Namespaces = 4,
}

/** From a column of spans to its arena (ABI-4.8). */
export const ARENA: u32 = 256;

/** Columns of tables, and fields of the pod record (SPEC.md, sections 4 and 6). */
export const enum Column {
  // Generated from abi/fields.
  NodeName = 1,
  NodeFlags = 2,
  NodeAllocatable = 3,
  NodeRequested = 4,
  NodeNonZeroRequested = 5,
  NodeLabels = 6,
  NodeAnnotation = 7,
  NodeTaints = 8,
  NodePorts = 9,
  NodeImages = 10,
  NodeCondition = 11,
  NodePods = 12,
  NodeGeneration = 13,
  NodeLabel = 14,
  NodeZone = 16,
  NodeCapacity = 162,
  NodeCreatedAt = 163,
  NodeNominated = 167,
  NodeFeed = 190,
  NodeFeedState = 191,
  NodeRequestedSince = 193,
  NodeObjectNumbers = 194,
  NodeObjectTexts = 195,

  PlacedNamespace = 64,
  PlacedPriority = 65,
  PlacedRequests = 66,
  PlacedLabels = 67,
  PlacedAnnotation = 68,
  PlacedOwner = 69,
  PlacedLabel = 70,
  PlacedFlags = 71,
  PlacedUID = 73,
  PlacedName = 74,
  PlacedLimits = 75,
  PlacedQOS = 76,
  PlacedAssignedAt = 77,
  PlacedCreatedAt = 78,
  PlacedState = 79,

  String = 192,

  NamespaceName = 224,
  NamespaceLabels = 225,
  NamespaceLabel = 226,
  NamespaceRequested = 227,
  NamespaceObjectNumbers = 228,
  NamespaceObjectTexts = 229,
}

export const enum Field {
  // Generated from abi/fields.
  Name = 128,
  NodeName = 129,
  NodeSelector = 130,
  Tolerations = 131,
  HostPorts = 132,
  Images = 133,
  SchedulingGates = 134,
  Namespace = 140,
  Priority = 141,
  Requests = 142,
  Labels = 143,
  Annotations = 144,
  Owner = 145,
  RequiredTerms = 146,
  PreferredTerms = 147,
  Requirements = 148,
  RequirementValues = 149,
  NonZeroRequested = 150,
  NamespaceLabels = 151,
  UID = 152,
  CreatedAt = 154,
  PriorityClass = 155,
  ServiceAccount = 156,
  PreemptionPolicy = 157,
  Group = 158,
  Limits = 159,
  QOS = 160,
  Claims = 161,
  Now = 164,
  Containers = 165,
  ContainerAmounts = 166,
  Last = 166,
}

/** Types of a column's elements (ABI-4.7). */
export const enum Type {
  U8 = 1,
  U32 = 3,
  U64 = 4,
  I32 = 5,
  I64 = 6,
  Span = 7,
  Pair = 8,
  Taint = 9,
  Port = 10,
  Image = 11,
  Bytes = 12,
}

// Limits (SPEC.md, section 10); sizes are in bytes.
export const MAX_REASON_SETS: u32 = 1024;
export const MAX_REASON_TEXTS = 16;
export const MAX_TEXT: u32 = 1024;
export const MAX_TEXTS: u32 = 65536;
export const MAX_QUEUE_KEY: u32 = 64;
export const MAX_DIRECTIVES: u32 = 256;
export const MAX_DIRECTIVE_TEXTS: u32 = 65536;

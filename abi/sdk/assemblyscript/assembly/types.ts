// Elements of columns and of the pod record, with the layout of SPEC.md, sections 4 and 6.

/**
 * Names a string. Equal strings have equal ids, so comparing ids compares strings; ids have no
 * order. Ids are valid during a call only. The text is `text`.
 */
export type ID = u32;

/** The id of no string: a label that a node does not have. The empty string has an id of its own. */
export const ABSENT: ID = 0;

/** The score of a node about which there is nothing to say: a normalisation of the host leaves it out, and it becomes 0. */
// @ts-ignore: decorator
@inline
export const NO_SCORE: i64 = i64.MIN_VALUE;

// Handles name a declared column: a key of a list of the manifest. They come from the functions of
// the same names, when the plugin is made. They are numbers from 1 on, not objects.

/** A resource of the list `resources`. */
@final @unmanaged export class Resource {}
/** A key of the list `nodeLabels`. */
@final @unmanaged export class NodeLabel {}
/** A key of the list `nodeAnnotations`. */
@final @unmanaged export class NodeAnnotation {}
/** A type of the list `nodeConditions`. */
@final @unmanaged export class NodeCondition {}
/** A feed of the list `feeds`, as `name:unit`. */
@final @unmanaged export class Feed {}

/** A column of the list `objectColumns`. */
@final @unmanaged export class ObjectColumn {}
/** A key of the list `podLabels`. */
@final @unmanaged export class PodLabel {}
/** A key of the list `podAnnotations`. */
@final @unmanaged export class PodAnnotation {}
/** A key of the list `namespaceLabels`. */
@final @unmanaged export class NamespaceLabel {}
/** An entry of the list `published`, as `plugin/key`. */
@final @unmanaged export class Published {}

/** A label: key and value. */
@final @unmanaged
export class Pair {
  key: ID;
  value: ID;
}

/** The effect of a taint, as in the core/v1 API. Any is of tolerations only. */
export const enum Effect {
  Any = 0,
  NoSchedule = 1,
  PreferNoSchedule = 2,
  NoExecute = 3,
}

/** A taint of a node. effect is an Effect. */
@final @unmanaged
export class Taint {
  key: ID;
  value: ID;
  effect: u32;
}

/** The protocol of a host port, as in the core/v1 API. */
export const enum Protocol {
  TCP = 1,
  UDP = 2,
  SCTP = 3,
}

/** A host port. The id of `0.0.0.0` is every address of the node. protocol is a Protocol. */
@final @unmanaged
export class Port {
  ip: ID;
  port: u16;
  protocol: u8;
  private zero: u8;
}

/** A container image on a node, with its size in bytes. */
@final @unmanaged
export class Image {
  name: ID;
  private zero: u32;
  size: i64;
}

/** The status of a node's condition. Absent means that the node does not report it. */
export const enum Condition {
  Absent = 0,
  True = 1,
  False = 2,
  Unknown = 3,
}

/** What a feed's value of a node is worth. None means that it has never had one, Stale that the last is too old. */
export const enum FeedState {
  None = 0,
  Fresh = 1,
  Stale = 2,
}

/** How a toleration matches. */
export const enum TolerationOperator {
  Equal = 1,
  Exists = 2,
}

/**
 * A toleration of the pod. Key ABSENT with Exists is every key; seconds is −1 if there is no limit.
 * operator is a TolerationOperator, effect an Effect.
 */
@final @unmanaged
export class Toleration {
  key: ID;
  value: ID;
  operator: u32;
  effect: u32;
  seconds: i64;

  /** Reports whether the toleration matches a taint. */
  @inline tolerates(taint: Taint): bool {
    if (this.key != taint.key && (this.key != ABSENT || this.operator != TolerationOperator.Exists)) {
      return false; // first, since it is most of them
    }
    return (
      (this.operator == TolerationOperator.Exists || this.value == taint.value) &&
      (this.effect == taint.effect || this.effect == Effect.Any)
    );
  }
}

/** How a requirement on a label matches, as in core/v1 NodeSelectorRequirement. */
export const enum Operator {
  In = 1,
  NotIn = 2,
  Exists = 3,
  DoesNotExist = 4,
  Gt = 5,
  Lt = 6,
}

/**
 * A requirement on a node's label. Its values are `pod.values`; number is the operand of Gt and Lt.
 * operator is an Operator.
 */
@final @unmanaged
export class Requirement {
  key: ID;
  operator: u32;
  /** Of the SDK: where the values are. */
  first: u32;
  count: u32;
  number: i64;
}

/** Requirements that must all hold. They are `pod.requirements`; weight is of preferred terms. */
@final @unmanaged
export class Term {
  /** Of the SDK: where the requirements are. */
  first: u32;
  count: u32;
  weight: i32;
  private flags: u32;

  /** Reports a term that cannot be evaluated and so matches no node. */
  unusable(): bool {
    return (this.flags & 1) != 0;
  }

  /** Reports a term with requirements on metadata.name, which the host evaluates and the record does not have. */
  hasFields(): bool {
    return (this.flags & 2) != 0;
  }
}

/** The role of a container. A sidecar is an init container that runs beside the others. */
export const enum ContainerKind {
  App = 1,
  Init,
  Sidecar,
}

/** A container of a pod, with its image as nodes report it. Its resources are `pod.containerRequest` and `pod.containerLimit`. */
@final @unmanaged
export class Container {
  name: ID;
  kind: ContainerKind;
  image: ID;
  /** Of the SDK: where its requests and limits are. */
  first: u32;
}

/** Milli-CPU and bytes, where a container without a request counts 100 milli-CPU and 200 MiB. */
@final @unmanaged
export class NonZero {
  cpu: i64;
  memory: i64;
}

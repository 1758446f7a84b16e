// Pods on nodes, as views of slots (SPEC.md, section 4). As nodes they are numbers plus 1.

import { cell, elementsOf, keyed, lengthOf, Slot, textOf } from "./columns";
import { findIn } from "./list";
import { element } from "./node";
import { ABSENT, ID, Pair, PodAnnotation, PodLabel, Resource } from "./types";

/** A pod on a node, as a view of its slot. */
@final @unmanaged
export class PlacedPod {
  // Of the SDK.
  @inline _slot(): u32 {
    return changetype<u32>(this) - 1;
  }

  // Generated from abi/fields.

  /** metadata.namespace. Reads `pods: namespace`. */
  @inline namespace(): ID {
    return cell<ID>(Slot.PlacedNamespace, this._slot(), "pods", "namespace");
  }

  /** spec.priority. Reads `pods: priority`. */
  @inline priority(): i32 {
    return cell<i32>(Slot.PlacedPriority, this._slot(), "pods", "priority");
  }

  /** What the pod requests of a resource. Reads `pods: requests`. */
  @inline request(resource: Resource): i64 {
    return keyed<i64>(Slot.PlacedRequests, changetype<usize>(resource), this._slot(), "pods", "requests, or resources the resource");
  }

  /** All labels, unordered. Reads `pods: labels`. */
  @inline labels(): PlacedLabels {
    return changetype<PlacedLabels>(this);
  }

  /** The value of any label key, found among all labels; ABSENT if there is none. Reads `pods: labels`. */
  @inline labelByKey(key: ID): ID {
    const n = lengthOf(Slot.PlacedLabels, this._slot(), "pods", "labels");
    return n == 0 ? ABSENT : findIn(elementsOf(Slot.PlacedLabels, this._slot(), 8), n, key);
  }

  /** The value of a declared annotation key, what plugins reserved included. Reads `podAnnotations`. */
  @inline annotation(key: PodAnnotation): ID {
    return keyed<ID>(Slot.PlacedAnnotation, changetype<usize>(key), this._slot(), "podAnnotations", "the key");
  }

  /** `Kind/name` of the controlling owner; ABSENT for none. Reads `pods: owner`. */
  @inline owner(): ID {
    return cell<ID>(Slot.PlacedOwner, this._slot(), "pods", "owner");
  }

  /** The value of a declared label key. Reads `podLabels`. */
  @inline label(key: PodLabel): ID {
    return keyed<ID>(Slot.PlacedLabel, changetype<usize>(key), this._slot(), "podLabels", "the key");
  }

  /** Reports whether the pod is being deleted. Reads `pods: flags`. */
  @inline terminating(): bool {
    return (cell<u8>(Slot.PlacedFlags, this._slot(), "pods", "flags") & 1) != 0;
  }

  /** metadata.uid. Reads `pods: uid`. */
  uid(): string {
    return textOf(Slot.PlacedUID, this._slot(), "pods", "uid");
  }

  /** metadata.name. Reads `pods: name`. */
  name(): string {
    return textOf(Slot.PlacedName, this._slot(), "pods", "name");
  }

  /** How much of a resource the pod may use; −1 if a container has no limit. Reads `pods: limits`. */
  @inline limit(resource: Resource): i64 {
    return keyed<i64>(Slot.PlacedLimits, changetype<usize>(resource), this._slot(), "pods", "limits, or resources the resource");
  }

  /** The QoS class: Guaranteed, Burstable or BestEffort. Reads `pods: qos`. */
  @inline qos(): ID {
    return cell<ID>(Slot.PlacedQOS, this._slot(), "pods", "qos");
  }

  /**
   * When the pod got its node, in seconds since 1970: the time of the condition PodScheduled, or the host's while the API does not
   * say; 0 if neither is known. Reads `pods: assignedAt`.
   */
  @inline assignedAt(): i64 {
    return cell<i64>(Slot.PlacedAssignedAt, this._slot(), "pods", "assignedAt");
  }

  /** metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `pods: createdAt`. */
  @inline createdAt(): i64 {
    return cell<i64>(Slot.PlacedCreatedAt, this._slot(), "pods", "createdAt");
  }

  /** Reports whether status.phase is Running. Reads `pods: state`. */
  @inline running(): bool {
    return (cell<u8>(Slot.PlacedState, this._slot(), "pods", "state") & 1) != 0;
  }

  /** Reports whether the condition Ready is True. Reads `pods: state`. */
  @inline ready(): bool {
    return (cell<u8>(Slot.PlacedState, this._slot(), "pods", "state") & 2) != 0;
  }
}

// Lists. Generated from abi/fields.

/** All labels, unordered. */
@final @unmanaged
export class PlacedLabels {
  /** Their number. */
  @inline get length(): i32 {
    return <i32>lengthOf(Slot.PlacedLabels, changetype<u32>(this) - 1, "pods", "labels");
  }

  /** The i-th of them. */
  @inline at(i: i32): Pair {
    return changetype<Pair>(element(Slot.PlacedLabels, changetype<u32>(this) - 1, i, this.length, offsetof<Pair>()));
  }
}

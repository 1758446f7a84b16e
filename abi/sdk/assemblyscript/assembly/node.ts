// Nodes, as views of rows (SPEC.md, section 4). The methods name what the manifest must list.
//
// Nodes, pods on nodes and their lists are not objects: what looks like a reference is the number of
// the row, plus 1 so that none is null. So they cost nothing and need not be collected.

import { cell, elementsOf, keyed, keyedList, lengthOf, Slot, textOf } from "./columns";
import { findIn, IDs, Numbers, outside } from "./list";
import { scratch } from "./memory";
import { PlacedPod } from "./placed";
import { ABSENT, Feed, ID, Image, NodeAnnotation, NodeCondition, NodeLabel, NonZero, ObjectColumn, Pair, Port, Resource, Taint } from "./types";

/** The address of the i-th element of a row's list. */
// @ts-ignore: decorator
@inline export function element(slot: i32, row: u32, i: i32, length: i32, size: usize): usize {
  if (<u32>i >= <u32>length) outside("no such element");
  return elementsOf(slot, row, size) + <usize>i * size;
}

/** A node, as a view of its row. */
@final @unmanaged
export class Node {
  /** The number of the node's row in this instance. It means nothing else, and an answer must not depend on it. */
  @inline row(): u32 {
    return changetype<u32>(this) - 1;
  }

  // Generated from abi/fields.

  /** metadata.name. Reads `node: name`. */
  name(): string {
    return textOf(Slot.NodeName, this.row(), "node", "name");
  }

  /** spec.unschedulable. Reads `node: flags`. */
  @inline unschedulable(): bool {
    return (cell<u8>(Slot.NodeFlags, this.row(), "node", "flags") & 1) != 0;
  }

  /** status.allocatable, in milli-CPU, bytes or a count. Reads `node: allocatable`. */
  @inline allocatable(resource: Resource): i64 {
    return keyed<i64>(Slot.NodeAllocatable, changetype<usize>(resource), this.row(), "node", "allocatable, or resources the resource");
  }

  /** The sum of the requests of the pods on the node; for `pods` their number. Reads `node: requested`. */
  @inline requested(resource: Resource): i64 {
    return keyed<i64>(Slot.NodeRequested, changetype<usize>(resource), this.row(), "node", "requested, or resources the resource");
  }

  /**
   * Milli-CPU and bytes requested, where a container without a request counts 100 milli-CPU and 200 MiB. Reads
   * `node: nonZeroRequested`.
   */
  nonZeroRequested(): NonZero {
    const both = changetype<NonZero>(scratch(offsetof<NonZero>()));
    both.cpu = cell<i64>(Slot.NodeNonZeroRequested, this.row(), "node", "nonZeroRequested");
    both.memory = cell<i64>(Slot.NodeNonZeroRequested + 1, this.row(), "node", "nonZeroRequested");
    return both;
  }

  /** All labels, unordered. Reads `node: labels`. */
  @inline labels(): NodeLabels {
    return changetype<NodeLabels>(this);
  }

  /** The value of any label key, found among all labels; ABSENT if there is none. Reads `node: labels`. */
  @inline labelByKey(key: ID): ID {
    const n = lengthOf(Slot.NodeLabels, this.row(), "node", "labels");
    return n == 0 ? ABSENT : findIn(elementsOf(Slot.NodeLabels, this.row(), 8), n, key);
  }

  /** The value of a declared annotation key; ABSENT if the node does not have it. Reads `nodeAnnotations`. */
  @inline annotation(key: NodeAnnotation): ID {
    return keyed<ID>(Slot.NodeAnnotation, changetype<usize>(key), this.row(), "nodeAnnotations", "the key");
  }

  /** spec.taints. Reads `node: taints`. */
  @inline taints(): NodeTaints {
    return changetype<NodeTaints>(this);
  }

  /** The host ports in use. Reads `node: ports`. */
  @inline ports(): NodePorts {
    return changetype<NodePorts>(this);
  }

  /** status.images, an entry a name. Reads `node: images`. */
  @inline images(): NodeImages {
    return changetype<NodeImages>(this);
  }

  /** The status of a declared type of condition, a Condition. Reads `nodeConditions`. */
  @inline condition(type: NodeCondition): u8 {
    return keyed<u8>(Slot.NodeCondition, changetype<usize>(type), this.row(), "nodeConditions", "the type");
  }

  /** The pods on the node that the plugin may see. Reads `node: pods`. */
  @inline pods(): Pods {
    return changetype<Pods>(this);
  }

  /** The row's generation. Reads `node: generation`. */
  @inline generation(): u64 {
    return cell<u64>(Slot.NodeGeneration, this.row(), "node", "generation");
  }

  /** The value of a declared label key; ABSENT if the node does not have it. Reads `nodeLabels`. */
  @inline label(key: NodeLabel): ID {
    return keyed<ID>(Slot.NodeLabel, changetype<usize>(key), this.row(), "nodeLabels", "the key");
  }

  /**
   * The value of the label topology.kubernetes.io/zone, or else of its older name; ABSENT if the node has neither. Reads `node: zone`.
   */
  @inline zone(): ID {
    return cell<ID>(Slot.NodeZone, this.row(), "node", "zone");
  }

  /** status.capacity, in milli-CPU, bytes or a count; a change of it alone is no event. Reads `node: capacity`. */
  @inline capacity(resource: Resource): i64 {
    return keyed<i64>(Slot.NodeCapacity, changetype<usize>(resource), this.row(), "node", "capacity, or resources the resource");
  }

  /** metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `node: createdAt`. */
  @inline createdAt(): i64 {
    return cell<i64>(Slot.NodeCreatedAt, this.row(), "node", "createdAt");
  }

  /** The pods that are nominated to the node and that the plugin may see. Reads `node: nominated`. */
  @inline nominated(): Nominated {
    return changetype<Nominated>(this);
  }

  /** What a declared feed says of the node, in the feed's unit; 0 if it has never said anything. Reads `feeds`. */
  @inline feed(feed: Feed): i64 {
    return keyed<i64>(Slot.NodeFeed, changetype<usize>(feed), this.row(), "feeds", "the feed");
  }

  /** The state of what a declared feed says of the node, a FeedState. Reads `feeds`. */
  @inline feedState(feed: Feed): u8 {
    return keyed<u8>(Slot.NodeFeedState, changetype<usize>(feed), this.row(), "feeds", "the feed");
  }

  /**
   * The sum of the requests of pods on the node that the samples of the declared feeds cannot contain, by the oldest of them. Reads
   * `node: requestedSince`.
   */
  @inline requestedSince(resource: Resource): i64 {
    return keyed<i64>(Slot.NodeRequestedSince, changetype<usize>(resource), this.row(), "node", "requestedSince, or resources the resource");
  }

  /**
   * The values of a declared column of the node's object: integers, quantities in thousandths, times in seconds since 1970, or 0 and
   * 1. Reads `objectColumns`.
   */
  objectNumbers(key: ObjectColumn): Numbers {
    return changetype<Numbers>(keyedList(Slot.NodeObjectNumbers, changetype<usize>(key), this.row(), sizeof<i64>(), "objectColumns", "the column, or with another type or join"));
  }

  /** The values of a declared column of type string of the node's object. Reads `objectColumns`. */
  objectTexts(key: ObjectColumn): IDs {
    return changetype<IDs>(keyedList(Slot.NodeObjectTexts, changetype<usize>(key), this.row(), sizeof<ID>(), "objectColumns", "the column, or with another type or join"));
  }
}

// Lists. Generated from abi/fields.

/** All labels, unordered. */
@final @unmanaged
export class NodeLabels {
  /** Their number. */
  @inline get length(): i32 {
    return <i32>lengthOf(Slot.NodeLabels, changetype<u32>(this) - 1, "node", "labels");
  }

  /** The i-th of them. */
  @inline at(i: i32): Pair {
    return changetype<Pair>(element(Slot.NodeLabels, changetype<u32>(this) - 1, i, this.length, offsetof<Pair>()));
  }
}

/** spec.taints. */
@final @unmanaged
export class NodeTaints {
  /** Their number. */
  @inline get length(): i32 {
    return <i32>lengthOf(Slot.NodeTaints, changetype<u32>(this) - 1, "node", "taints");
  }

  /** The i-th of them. */
  @inline at(i: i32): Taint {
    return changetype<Taint>(element(Slot.NodeTaints, changetype<u32>(this) - 1, i, this.length, offsetof<Taint>()));
  }
}

/** The host ports in use. */
@final @unmanaged
export class NodePorts {
  /** Their number. */
  @inline get length(): i32 {
    return <i32>lengthOf(Slot.NodePorts, changetype<u32>(this) - 1, "node", "ports");
  }

  /** The i-th of them. */
  @inline at(i: i32): Port {
    return changetype<Port>(element(Slot.NodePorts, changetype<u32>(this) - 1, i, this.length, offsetof<Port>()));
  }
}

/** status.images, an entry a name. */
@final @unmanaged
export class NodeImages {
  /** Their number. */
  @inline get length(): i32 {
    return <i32>lengthOf(Slot.NodeImages, changetype<u32>(this) - 1, "node", "images");
  }

  /** The i-th of them. */
  @inline at(i: i32): Image {
    return changetype<Image>(element(Slot.NodeImages, changetype<u32>(this) - 1, i, this.length, offsetof<Image>()));
  }
}

/** The pods on the node that the plugin may see. */
@final @unmanaged
export class Pods {
  /** Their number. */
  @inline get length(): i32 {
    return <i32>lengthOf(Slot.NodePods, changetype<u32>(this) - 1, "node", "pods");
  }

  /** The i-th of them. */
  @inline at(i: i32): PlacedPod {
    return changetype<PlacedPod>(load<u32>(element(Slot.NodePods, changetype<u32>(this) - 1, i, this.length, 4)) + 1);
  }
}

/** The pods that are nominated to the node and that the plugin may see. */
@final @unmanaged
export class Nominated {
  /** Their number. */
  @inline get length(): i32 {
    return <i32>lengthOf(Slot.NodeNominated, changetype<u32>(this) - 1, "node", "nominated");
  }

  /** The i-th of them. */
  @inline at(i: i32): PlacedPod {
    return changetype<PlacedPod>(load<u32>(element(Slot.NodeNominated, changetype<u32>(this) - 1, i, this.length, 4)) + 1);
  }
}

// The snapshot, its nodes and its namespaces.

import { Table } from "./abi";
import { cell, elementsOf, headerAt, keyed, keyedList, lengthOf, rowsOf, Slot } from "./columns";
import { findIn, IDs, Numbers, outside } from "./list";
import { element, Node } from "./node";
import { ABSENT, ID, NamespaceLabel, ObjectColumn, Pair, Resource } from "./types";

/** Nodes: those of a row set, or a number of rows from the first on. */
@final @unmanaged
export class Nodes {
  // Of the SDK: the row set, or 0; the first row.
  _rows: usize;
  _lo: u32;
  /** The number of nodes. */
  length: i32;

  /** The i-th node. */
  @inline at(i: i32): Node {
    if (<u32>i >= <u32>this.length) outside("no such node");
    return changetype<Node>((this._rows == 0 ? this._lo + i : load<u32>(this._rows + (<usize>i << 2))) + 1);
  }
}

const everyNode = changetype<Nodes>(memory.data(offsetof<Nodes>(), 8));

/** The nodes of postFilter and what filters said of them. */
@final @unmanaged
export class Judged {
  /** The nodes. */
  nodes: Nodes;
  // Of the SDK.
  _codes: usize;

  /** The verdict of the i-th node, a Code: why it is out, or Success for a node that no filter judged. */
  code(i: i32): u32 {
    if (<u32>i >= <u32>this.nodes.length) outside("no such node");
    return load<u8>(this._codes + i);
  }
}

/** The cluster as of this call. */
export namespace snapshot {
  /** Names the dictionary of string ids. */
  export function epoch(): u64 {
    return load<u64>(headerAt(), 8);
  }

  /** Grows with each change of the snapshot. */
  export function generation(): u64 {
    return load<u64>(headerAt(), 16);
  }

  /** This cycle's random number, the only randomness that an answer may depend on; 0 for points of scope node. */
  export function seed(): u64 {
    return load<u64>(headerAt(), 24);
  }

  /** All nodes that the instance holds. */
  export function nodes(): Nodes {
    everyNode._rows = 0;
    everyNode._lo = 0;
    everyNode.length = <i32>rowsOf(Table.Nodes);
    return everyNode;
  }

  /**
   * The number of rows of the namespaces that have an object and that the plugin may see, the empty
   * ones included; none in the points before preFilter and from reserve on. A point of scope node must
   * not let an answer depend on them (ABI-4.15). Reads `namespaces`.
   */
  export function namespaces(): i32 {
    return <i32>rowsOf(Table.Namespaces);
  }

  /** The i-th row of the namespaces. It is empty if its name is ABSENT. */
  export function namespace(i: i32): Namespace {
    if (<u32>i >= <u32>namespaces()) outside("no such namespace");
    return changetype<Namespace>(i + 1);
  }

  /** The namespace of a name, such as that of a pod; null if it has no object. It looks at all rows. Reads `namespaces: name`. */
  export function findNamespace(name: ID): Namespace | null {
    for (let i = 0; name != ABSENT && i < namespaces(); i++) {
      if (namespace(i).name() == name) return namespace(i);
    }
    return null;
  }
}

/** A namespace, as a view of its row. As nodes it is a number plus 1. */
@final @unmanaged
export class Namespace {
  // Of the SDK.
  @inline _row(): u32 {
    return changetype<u32>(this) - 1;
  }

  // Generated from abi/fields.

  /** metadata.name; ABSENT for an empty row. Reads `namespaces: name`. */
  @inline name(): ID {
    return cell<ID>(Slot.NamespaceName, this._row(), "namespaces", "name");
  }

  /** All labels, unordered. Reads `namespaces: labels`. */
  @inline labels(): NamespaceLabels {
    return changetype<NamespaceLabels>(this);
  }

  /** The value of any label key, found among all labels; ABSENT if there is none. Reads `namespaces: labels`. */
  @inline labelByKey(key: ID): ID {
    const n = lengthOf(Slot.NamespaceLabels, this._row(), "namespaces", "labels");
    return n == 0 ? ABSENT : findIn(elementsOf(Slot.NamespaceLabels, this._row(), 8), n, key);
  }

  /** The value of a declared label key. Reads `namespaceLabels`. */
  @inline label(key: NamespaceLabel): ID {
    return keyed<ID>(Slot.NamespaceLabel, changetype<usize>(key), this._row(), "namespaceLabels", "the key");
  }

  /** The sum of the requests of the namespace's pods on nodes; for `pods` their number. Reads `namespaces: requested`. */
  @inline requested(resource: Resource): i64 {
    return keyed<i64>(Slot.NamespaceRequested, changetype<usize>(resource), this._row(), "namespaces", "requested, or resources the resource");
  }

  /**
   * The values of a declared column of the namespace's object: integers, quantities in thousandths, times in seconds since 1970, or 0
   * and 1. Reads `objectColumns`.
   */
  objectNumbers(key: ObjectColumn): Numbers {
    return changetype<Numbers>(keyedList(Slot.NamespaceObjectNumbers, changetype<usize>(key), this._row(), sizeof<i64>(), "objectColumns", "the column, or with another type or join"));
  }

  /** The values of a declared column of type string of the namespace's object. Reads `objectColumns`. */
  objectTexts(key: ObjectColumn): IDs {
    return changetype<IDs>(keyedList(Slot.NamespaceObjectTexts, changetype<usize>(key), this._row(), sizeof<ID>(), "objectColumns", "the column, or with another type or join"));
  }
}

// Lists. Generated from abi/fields.

/** All labels, unordered. */
@final @unmanaged
export class NamespaceLabels {
  /** Their number. */
  @inline get length(): i32 {
    return <i32>lengthOf(Slot.NamespaceLabels, changetype<u32>(this) - 1, "namespaces", "labels");
  }

  /** The i-th of them. */
  @inline at(i: i32): Pair {
    return changetype<Pair>(element(Slot.NamespaceLabels, changetype<u32>(this) - 1, i, this.length, offsetof<Pair>()));
  }
}

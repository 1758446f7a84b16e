// The nodes that preFilter narrows down to.

import { push, Room, stop } from "./memory";
import { Node } from "./node";

/** A list of nodes. */
@final @unmanaged
export class Rows {
  // Of the SDK: row numbers, u32 each, and whether they count.
  _room: Room;
  _counts: bool;

  /** Empties the list: no node can fit, but those that are added. */
  reset(): void {
    this._room.n = 0;
    this._counts = true;
  }

  /** Adds a node. Nodes are added in the order of their row numbers, which is that of nodes.at, each once. */
  add(node: Node): void {
    const room = this._room;
    if (room.n > 0 && load<u32>(room.at + ((room.n - 1) << 2)) >= node.row()) stop("berth: rows must be added in the order of nodes, each once");
    this._counts = true;
    store<u32>(push(room, 4), node.row());
  }

  /** The number of nodes. */
  @inline get length(): i32 {
    return <i32>this._room.n;
  }
}

/** The list of the call. */
export const rowSet = changetype<Rows>(memory.data(offsetof<Rows>(), 8));
rowSet._room = changetype<Room>(memory.data(offsetof<Room>(), 8));

// Cluster events (ABI-3.10).

import { Code } from "./abi";
import { call } from "./call";
import { decode } from "./memory";
import { Node } from "./node";
import { Pod } from "./pod";

/** The answer of hint, in the words of k8s.io/kube-scheduler/framework. */
export type HintResult = u32;

/** After the event another try may succeed. */
export const QUEUE: HintResult = Code.Success;
/** The pod stays parked. */
export const QUEUE_SKIP: HintResult = Code.Skip;

/** A cluster event. It has objects of one kind: no old one if it was added, no new one if it was deleted. */
@final @unmanaged
export class Event {
  /** The kind of the object, an EventKind. */
  resource: u32;
  /** What happened to it, as bits of EventAction. An update may have several. */
  actions: u32;
  // Of the SDK: addresses and sizes of the pods' records, rows of the nodes, two texts.
  _oldPod: usize;
  _oldPodSize: u32;
  _newPod: usize;
  _newPodSize: u32;
  _oldNode: u32;
  _newNode: u32;
  _namespace: usize;
  _namespaceSize: u32;
  _name: usize;
  _nameSize: u32;

  /** Reports whether the event is of a resource and has one of some actions. */
  is(resource: u32, actions: u32): bool {
    return this.resource == resource && (this.actions & actions) != 0;
  }

  /** The pod as it was; its fields are those that the manifest lists of `pod`. */
  oldPod(): Pod | null {
    return this._oldPod == 0 ? null : call.other;
  }

  /** The pod as it is. */
  newPod(): Pod | null {
    return this._newPod == 0 ? null : call.newer;
  }

  /** The node as it was, with what the manifest lists of it except the pods on it and what is computed from them. */
  oldNode(): Node | null {
    return changetype<Node | null>(this._oldNode + 1); // all ones for none
  }

  /** The node as it is. */
  newNode(): Node | null {
    return changetype<Node | null>(this._newNode + 1);
  }

  /** metadata.namespace of an object that is neither a pod nor a node. */
  namespace(): string {
    return decode(this._namespace, this._namespaceSize);
  }

  /** metadata.name of an object that is neither a pod nor a node. */
  name(): string {
    return decode(this._name, this._nameSize);
  }
}

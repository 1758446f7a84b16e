// The pod to be placed, or another one that a call is about, as a view of its record (SPEC.md,
// section 6). The methods name what the manifest must list under `pod`.

import * as declared from "berth-manifest";

import { Field } from "./abi";
import { text, undeclared } from "./columns";
import { IDs, List, outside, Pairs } from "./list";
import { decode, keepZero, scratch } from "./memory";
import { parseI64 } from "./number";
import { ABSENT, Container, ID, NonZero, Operator, PodAnnotation, Port, Requirement, Resource, Taint, Term, Toleration } from "./types";

/** Fields of the pod record, as bits of declared.POD: their places in the list that bin/manifest.mjs has. */
const enum Reads {
  Name,
  Namespace,
  Priority,
  Requests,
  NonZeroRequested,
  Labels,
  Annotations,
  Owner,
  Tolerations,
  NodeSelector,
  Affinity,
  HostPorts,
  Images,
  NodeName,
  SchedulingGates,
  NamespaceLabels,
  UID,
  // Generated from abi/fields.
  CreatedAt,
  PriorityClass,
  ServiceAccount,
  PreemptionPolicy,
  Group,
  Limits,
  QOS,
  Claims,
  Now,
  Containers,
}

/** Where the fields of a record are in a view: address and count each, 8 bytes, by id; those before 140 first. */
// @ts-ignore: decorator
@inline const FIELDS: i32 = 7 + (Field.Last - Field.Namespace) + 1;

// @ts-ignore: decorator
@inline function fieldOffset(id: i32): usize {
  return 8 + ((id < Field.Namespace ? id - Field.Name : id - Field.Namespace + 7) << 3);
}

/** A pod, valid until the method that got it returns. */
@final @unmanaged
export class Pod {
  // Of the SDK: the place in the pod list, −1 for a pod that is not the call's; then the fields; after
  // them the requests, annotations and limits, by the number of the handle.
  _index: i32;

  // A field of the record that exists.
  @inline private at(reads: i32, id: i32, name: string): usize {
    if (((declared.POD >> reads) & 1) == 0) undeclared("pod", name);
    return changetype<usize>(this) + fieldOffset(id);
  }

  // The text of a field.
  private bytes(field: usize): string {
    return decode(load<usize>(field), load<u32>(field, 4));
  }

  // The id that a field is; ABSENT if it has none.
  private one(field: usize): ID {
    return load<u32>(field, 4) == 0 ? ABSENT : load<ID>(load<usize>(field));
  }

  // The number that a field is; 0 if it has none.
  private number(field: usize): i64 {
    return load<u32>(field, 4) == 0 ? 0 : load<i64>(load<usize>(field));
  }

  /** metadata.name. Reads `name`. */
  name(): string {
    return this.bytes(this.at(Reads.Name, Field.Name, "name"));
  }

  /** metadata.uid. Reads `uid`. */
  uid(): string {
    return this.bytes(this.at(Reads.UID, Field.UID, "uid"));
  }

  /** metadata.namespace. Reads `namespace`. */
  namespace(): ID {
    return this.one(this.at(Reads.Namespace, Field.Namespace, "namespace"));
  }

  /** All labels of the pod's namespace, in no order. Reads `namespaceLabels`. */
  namespaceLabels(): Pairs {
    return changetype<Pairs>(this.at(Reads.NamespaceLabels, Field.NamespaceLabels, "namespaceLabels"));
  }

  /** The value of a label key of the pod's namespace; ABSENT if it does not have it. Reads `namespaceLabels`. */
  namespaceLabelByKey(key: ID): ID {
    return this.namespaceLabels().find(key);
  }

  /** spec.nodeName; from reserve on that of the chosen node. Reads `nodeName`. */
  nodeName(): string {
    return this.bytes(this.at(Reads.NodeName, Field.NodeName, "nodeName"));
  }

  /** The names of spec.schedulingGates. Reads `schedulingGates`. */
  schedulingGates(): IDs {
    return changetype<IDs>(this.at(Reads.SchedulingGates, Field.SchedulingGates, "schedulingGates"));
  }

  /** spec.priority. Reads `priority`. */
  priority(): i64 {
    return this.number(this.at(Reads.Priority, Field.Priority, "priority"));
  }

  /** What the pod requests of a resource, in milli-CPU, bytes or a count. Reads `requests`. */
  @inline request(resource: Resource): i64 {
    return load<i64>(load<usize>(this.at(Reads.Requests, Field.Requests, "requests")) + (changetype<usize>(resource) << 3));
  }

  /** What the pod requests, where a container without a request counts 100 milli-CPU and 200 MiB. Reads `nonZeroRequested`. */
  nonZeroRequested(): NonZero {
    const field = this.at(Reads.NonZeroRequested, Field.NonZeroRequested, "nonZeroRequested");
    return changetype<NonZero>(load<u32>(field, 4) < 2 ? nothing : load<usize>(field));
  }

  /** All labels, in no order. Reads `labels`. */
  labels(): Pairs {
    return changetype<Pairs>(this.at(Reads.Labels, Field.Labels, "labels"));
  }

  /** The value of a label key; ABSENT if the pod does not have it. Reads `labels`. */
  labelByKey(key: ID): ID {
    return this.labels().find(key);
  }

  /** The value of a declared annotation key. Reads `annotations`, and the list `podAnnotations`. */
  annotation(key: PodAnnotation): ID {
    return load<ID>(load<usize>(this.at(Reads.Annotations, Field.Annotations, "annotations")) + (changetype<usize>(key) << 2));
  }

  /** `Kind/name` of the controlling owner; ABSENT for none. Reads `owner`. */
  owner(): ID {
    return this.one(this.at(Reads.Owner, Field.Owner, "owner"));
  }

  /** spec.tolerations. Reads `tolerations`. */
  @inline tolerations(): List<Toleration> {
    return changetype<List<Toleration>>(this.at(Reads.Tolerations, Field.Tolerations, "tolerations"));
  }

  /** Reports whether the pod tolerates a taint. Reads `tolerations`. */
  @inline tolerates(taint: Taint): bool {
    const all = this.tolerations();
    let at = all.start;
    for (const end = at + <usize>all.length * offsetof<Toleration>(); at < end; at += offsetof<Toleration>()) {
      if (changetype<Toleration>(at).tolerates(taint)) return true;
    }
    return false;
  }

  /** spec.nodeSelector: all must hold. Reads `nodeSelector`. */
  nodeSelector(): List<Requirement> {
    return changetype<List<Requirement>>(this.at(Reads.NodeSelector, Field.NodeSelector, "nodeSelector"));
  }

  /** The required node affinity: if there is any, one term must hold; null if there is none. Reads `affinity`. */
  @inline requiredTerms(): List<Term> | null {
    const field = this.at(Reads.Affinity, Field.RequiredTerms, "affinity");
    return load<usize>(field) == 0 ? null : changetype<List<Term>>(field);
  }

  /** The preferred node affinity. Reads `affinity`. */
  preferredTerms(): List<Term> {
    return changetype<List<Term>>(this.at(Reads.Affinity, Field.PreferredTerms, "affinity"));
  }

  /** The requirements of a term: all must hold. A term without requirements matches no node, unless it hasFields. Reads `affinity`. */
  @inline requirements(term: Term): List<Requirement> {
    return changetype<List<Requirement>>(part(this.at(Reads.Affinity, Field.Requirements, "affinity"), term.first, term.count, offsetof<Requirement>()));
  }

  /** The values of a requirement. Reads `affinity` or `nodeSelector`. */
  @inline values(requirement: Requirement): IDs {
    return changetype<IDs>(part(changetype<usize>(this) + fieldOffset(Field.RequirementValues), requirement.first, requirement.count, 4));
  }

  /** Reports whether a requirement holds for a value of its label; ABSENT for a node without the label. */
  @inline holds(requirement: Requirement, value: ID): bool {
    if (requirement.operator == Operator.In) return value != ABSENT && this._among(requirement, value); // nearly all requirements
    return this._holds(requirement, value);
  }

  _among(requirement: Requirement, value: ID): bool {
    const all = changetype<usize>(this) + fieldOffset(Field.RequirementValues);
    if (<u64>requirement.first + requirement.count > <u64>load<u32>(all, 4)) outside("the host's pod has values that are out of bounds");
    let at = load<usize>(all) + (<usize>requirement.first << 2);
    for (const end = at + (<usize>requirement.count << 2); at < end; at += 4) {
      if (load<ID>(at) == value) return true;
    }
    return false;
  }

  _holds(requirement: Requirement, value: ID): bool {
    switch (requirement.operator) {
      case Operator.NotIn: return value == ABSENT || requirement.count == 0 || !this._among(requirement, value);
      case Operator.Exists: return value != ABSENT;
      case Operator.DoesNotExist: return value == ABSENT;
      case Operator.Gt: return parseI64(text(value)) && parsed.number > requirement.number;
      case Operator.Lt: return parseI64(text(value)) && parsed.number < requirement.number;
      default: return false;
    }
  }

  /** The host ports that the pod asks for. Reads `hostPorts`. */
  hostPorts(): List<Port> {
    return changetype<List<Port>>(this.at(Reads.HostPorts, Field.HostPorts, "hostPorts"));
  }

  /** The names of the containers' images, as nodes report them. Reads `images`. */
  images(): IDs {
    return changetype<IDs>(this.at(Reads.Images, Field.Images, "images"));
  }

  /** What a container requests of a resource, in milli-CPU, bytes or a count. Reads `containers`. */
  containerRequest(container: Container, resource: Resource): i64 {
    return this._amount(container.first, changetype<u32>(resource) << 1);
  }

  /** How much a container may use of a resource; −1 for as much as there is. Reads `containers`. */
  containerLimit(container: Container, resource: Resource): i64 {
    return this._amount(container.first, (changetype<u32>(resource) << 1) + 1);
  }

  // The number of a handle counts from 1; 0 is that of a resource that is not declared.
  private _amount(first: u32, number: u32): i64 {
    if (number < 2) return 0;
    const all = changetype<usize>(this) + fieldOffset(Field.ContainerAmounts), at = <u64>first + number - 2;
    if (at >= <u64>load<u32>(all, 4)) outside("the host's pod has a container that is out of bounds");
    return load<i64>(load<usize>(all) + (<usize>at << 3));
  }

  // Fields since ABI 1.1. Generated from abi/fields.

  /** metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `createdAt`. */
  createdAt(): i64 {
    return this.number(this.at(Reads.CreatedAt, Field.CreatedAt, "createdAt"));
  }

  /** spec.priorityClassName; 0 for none. Reads `priorityClass`. */
  priorityClass(): ID {
    return this.one(this.at(Reads.PriorityClass, Field.PriorityClass, "priorityClass"));
  }

  /** spec.serviceAccountName; 0 for none. Reads `serviceAccount`. */
  serviceAccount(): ID {
    return this.one(this.at(Reads.ServiceAccount, Field.ServiceAccount, "serviceAccount"));
  }

  /** spec.preemptionPolicy; PreemptLowerPriority if it is not set. Reads `preemptionPolicy`. */
  preemptionPolicy(): ID {
    return this.one(this.at(Reads.PreemptionPolicy, Field.PreemptionPolicy, "preemptionPolicy"));
  }

  /** spec.schedulingGroup.podGroupName; 0 for none. Reads `group`. */
  group(): ID {
    return this.one(this.at(Reads.Group, Field.Group, "group"));
  }

  /** the QoS class: Guaranteed, Burstable or BestEffort. Reads `qos`. */
  qos(): ID {
    return this.one(this.at(Reads.QOS, Field.QOS, "qos"));
  }

  /** the time in seconds since 1970, in steps of `resolution`; 0 at queueSort, hint, unreserve and from preBind on (6.7). Reads `now`. */
  now(): i64 {
    return this.number(this.at(Reads.Now, Field.Now, "now"));
  }

  /** names of the persistent volume claims of spec.volumes, also of ephemeral ones. Reads `claims`. */
  claims(): IDs {
    return changetype<IDs>(this.at(Reads.Claims, Field.Claims, "claims"));
  }

  /** init containers, and then the others, each in the order of spec. Reads `containers`. */
  containers(): List<Container> {
    return changetype<List<Container>>(this.at(Reads.Containers, Field.Containers, "containers"));
  }

  /** Of a resource, how much the pod may use; −1 if a container has no limit. Reads `limits`. */
  limit(resource: Resource): i64 {
    return load<i64>(load<usize>(this.at(Reads.Limits, Field.Limits, "limits")) + (changetype<usize>(resource) << 3));
  }
}

import { parsed } from "./number";

const nothing: usize = memory.data(16, 8);

/** A part of a list, as a list of its own. */
function part(list: usize, first: u32, count: u32, size: usize): usize {
  const view = scratch(8);
  if (count == 0) {
    store<u64>(view, 0);
    return view;
  }
  if (<u64>first + count > <u64>load<u32>(list, 4)) outside("the host's pod has a list that is out of bounds");
  store<usize>(view, load<usize>(list) + <usize>first * size);
  store<u32>(view, count, 4);
  return view;
}

/** Returns a view for pods, which is never freed. */
export function newPod(): Pod {
  return changetype<Pod>(keepZero(1, 8 + (<usize>FIELDS << 3) + 16));
}

// Room for the values of declared keys, after the fields of a view.
// @ts-ignore: decorator
@inline const REQUESTS: usize = 8 + (<usize>FIELDS << 3);
// @ts-ignore: decorator
@inline const ANNOTATIONS: usize = REQUESTS + 4;
// @ts-ignore: decorator
@inline const LIMITS: usize = ANNOTATIONS + 4;

/** Reads a pod record, the index-th of the pod list. */
export function readPod(pod: Pod, address: usize, size: u32, index: i32): void {
  const view = changetype<usize>(pod), resources = <usize>declared.RESOURCES.length, keys = <usize>declared.POD_ANNOTATIONS.length;
  if (load<usize>(view, REQUESTS) == 0) {
    store<usize>(view, keepZero(resources + 1, 8), REQUESTS);
    store<usize>(view, keepZero(keys + 1, 4), ANNOTATIONS);
    store<usize>(view, keepZero(resources + 1, 8), LIMITS);
  }
  const requests = load<usize>(view, REQUESTS), annotations = load<usize>(view, ANNOTATIONS), limits = load<usize>(view, LIMITS);
  memory.fill(view, 0, REQUESTS);
  memory.fill(annotations, 0, (keys + 1) << 2);
  pod._index = index;
  if (size >= 8) {
    let f = address + 8;
    for (const end = f + (load<usize>(address) << 4); f < end; f += 16) {
      const id = load<i32>(f), arg = <usize>load<u32>(f, 4), at = address + load<usize>(f, 8), count = load<u32>(f, 12);
      if (id == Field.Requests) {
        if (count > 0 && arg < resources) store<i64>(requests + ((arg + 1) << 3), load<i64>(at));
      } else if (id == Field.Limits) {
        if (count > 0 && arg < resources) store<i64>(limits + ((arg + 1) << 3), load<i64>(at));
      } else if (id == Field.Annotations) {
        if (count > 0 && arg < keys) store<ID>(annotations + ((arg + 1) << 2), load<ID>(at));
      } else if (id >= Field.Name && id <= Field.Last && (id <= Field.SchedulingGates || id >= Field.Namespace)) { // unknown ids are skipped (ABI-6.2)
        store<usize>(view + fieldOffset(id), at);
        store<u32>(view + fieldOffset(id), count, 4);
      }
    }
  }
  store<usize>(view + fieldOffset(Field.Requests), requests);
  store<usize>(view + fieldOffset(Field.Annotations), annotations);
  store<usize>(view + fieldOffset(Field.Limits), limits);
}

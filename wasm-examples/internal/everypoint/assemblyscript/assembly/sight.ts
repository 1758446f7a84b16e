// What the SDK reads of the pod, of the node and of all namespaces, as sight.go lists it.

import * as berth from "@berth-scheduler/sdk";
import { byBytes } from "./steps";

const note = berth.nodeAnnotation("everypoint.berth.dev/note");
const disk = berth.nodeLabel("disk");
const ready = berth.nodeCondition("Ready");
const app = berth.podLabel("app");
const peer = berth.podAnnotation("everypoint.berth.dev/peer");
const team = berth.namespaceLabel("team");
const cpu = berth.resource("cpu");
const usage = berth.feed("node.cpu.usage:milli");
const slotNames = berth.objectColumn("box.spec.slots[*].name:string");
const slotSizes = berth.objectColumn("box.spec.slots[*].size:quantity");
const maxKeys = berth.objectColumn("quota.spec.max[*].@key:string");
const maxima = berth.objectColumn("quota.spec.max[*]:quantity");
const memory = berth.resource("memory");
const appKey = berth.constant("app");
const diskKey = berth.constant("disk");
const teamKey = berth.constant("team");

/** Lists what is read, for people. */
class Seen {
  all: string[] = [];

  private number(n: i64): void {
    this.all.push(n.toString());
  }

  private id(id: berth.ID): void {
    this.all.push(id == berth.ABSENT ? "-" : berth.text(id));
  }

  // Makes one text of those from a place on: an entry of a list.
  private entry(at: i32): void {
    this.all.push(this.all.splice(at).join(" "));
  }

  // Puts the entries of a list into the order of their bytes: a list has none.
  private sort(from: i32): void {
    this.all = this.all.slice(0, from).concat(this.all.slice(from).sort(byBytes));
  }

  private ids(all: berth.IDs): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) this.id(all.at(i));
    this.sort(from);
  }

  private pairs<L>(all: L): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) {
      this.id(all.at(i).key);
      this.id(all.at(i).value);
      this.entry(from + i);
    }
    this.sort(from);
  }

  private ports<L>(all: L): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) {
      this.id(all.at(i).ip);
      this.number(all.at(i).port);
      this.number(all.at(i).protocol);
      this.entry(from + i);
    }
    this.sort(from);
  }

  private requirements(pod: berth.Pod, all: berth.List<berth.Requirement>): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) {
      this.id(all.at(i).key);
      this.number(all.at(i).operator);
      this.number(all.at(i).number);
      this.ids(pod.values(all.at(i)));
      this.entry(from + i);
    }
    this.sort(from);
  }

  private terms(pod: berth.Pod, all: berth.List<berth.Term>): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) {
      this.number(all.at(i).weight);
      this.number(all.at(i).unusable() ? 1 : 0);
      this.number(all.at(i).hasFields() ? 1 : 0);
      this.requirements(pod, pod.requirements(all.at(i)));
      this.entry(from + i);
    }
    this.sort(from);
  }

  private tolerations(all: berth.List<berth.Toleration>): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) {
      this.id(all.at(i).key);
      this.id(all.at(i).value);
      this.number(all.at(i).operator);
      this.number(all.at(i).effect);
      this.number(all.at(i).seconds);
      this.entry(from + i);
    }
    this.sort(from);
  }

  private containers(pod: berth.Pod, all: berth.List<berth.Container>): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) {
      const c = all.at(i);
      this.id(c.name);
      this.id(c.image);
      this.number(c.kind);
      this.number(pod.containerRequest(c, cpu));
      this.number(pod.containerLimit(c, cpu));
      this.number(pod.containerRequest(c, memory));
      this.number(pod.containerLimit(c, memory));
      this.entry(from + i);
    }
    this.sort(from);
  }

  pod(pod: berth.Pod): void {
    this.id(pod.namespace());
    this.id(pod.owner());
    this.id(pod.labelByKey(appKey.id));
    this.id(pod.namespaceLabelByKey(teamKey.id));
    this.number(pod.priority());
    this.number(pod.request(cpu));
    this.number(pod.request(memory));
    this.number(pod.nonZeroRequested().cpu);
    this.number(pod.nonZeroRequested().memory);
    this.all.push(pod.name() + " on " + pod.nodeName());
    this.pairs(pod.labels());
    this.pairs(pod.namespaceLabels());
    this.ids(pod.schedulingGates());
    this.ids(pod.images());
    this.ports(pod.hostPorts());
    this.requirements(pod, pod.nodeSelector());
    this.tolerations(pod.tolerations());
    const required = pod.requiredTerms();
    this.number(required !== null ? 1 : 0);
    if (required !== null) this.terms(pod, required);
    this.terms(pod, pod.preferredTerms());
    this.number(pod.createdAt());
    this.id(pod.priorityClass());
    this.id(pod.serviceAccount());
    this.id(pod.preemptionPolicy());
    this.id(pod.group());
    this.id(pod.qos());
    this.number(pod.limit(cpu));
    this.number(pod.limit(memory));
    this.ids(pod.claims());
    this.number(pod.now());
    this.containers(pod, pod.containers());
  }

  private placed(pod: berth.PlacedPod): void {
    this.all.push(pod.name());
    this.all.push(pod.uid());
    this.id(pod.namespace());
    this.id(pod.owner());
    this.id(pod.label(app));
    this.id(pod.labelByKey(appKey.id));
    this.id(pod.annotation(peer));
    this.number(pod.priority());
    this.number(pod.request(cpu));
    this.number(pod.request(memory));
    this.number(pod.terminating() ? 1 : 0);
    this.pairs(pod.labels());
    this.id(pod.qos());
    this.number(pod.limit(cpu));
    this.number(pod.limit(memory));
    this.number(pod.assignedAt());
    this.number(pod.createdAt());
    this.number(pod.running() ? 1 : 0);
    this.number(pod.ready() ? 1 : 0);
  }

  private taints(all: berth.NodeTaints): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) {
      this.id(all.at(i).key);
      this.id(all.at(i).value);
      this.number(all.at(i).effect);
      this.entry(from + i);
    }
    this.sort(from);
  }

  private images(all: berth.NodeImages): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) {
      this.id(all.at(i).name);
      this.number(all.at(i).size);
      this.entry(from + i);
    }
    this.sort(from);
  }

  private pods(all: berth.Pods): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) {
      this.placed(all.at(i));
      this.entry(from + i);
    }
    this.sort(from);
  }

  private nominated(all: berth.Nominated): void {
    const from = this.all.length;
    for (let i = 0; i < all.length; i++) {
      this.placed(all.at(i));
      this.entry(from + i);
    }
    this.sort(from);
  }

  node(node: berth.Node): void {
    this.id(node.zone());
    this.id(node.label(disk));
    this.id(node.labelByKey(diskKey.id));
    this.id(node.annotation(note));
    this.number(node.unschedulable() ? 1 : 0);
    this.number(node.condition(ready));
    this.number(node.allocatable(cpu));
    this.number(node.requested(cpu));
    this.number(node.allocatable(memory));
    this.number(node.requested(memory));
    this.number(node.nonZeroRequested().cpu);
    this.number(node.nonZeroRequested().memory);
    this.number(node.capacity(cpu));
    this.number(node.capacity(memory));
    this.number(node.createdAt());
    this.number(node.feed(usage));
    this.number(node.feedState(usage));
    this.number(node.requestedSince(cpu));
    this.number(node.requestedSince(memory));
    this.object(node.objectTexts(slotNames), node.objectNumbers(slotSizes));
    this.pairs(node.labels());
    this.taints(node.taints());
    this.ports(node.ports());
    this.images(node.images());
    this.pods(node.pods());
    this.nominated(node.nominated());
  }

  private namespace(namespace: berth.Namespace): void {
    this.id(namespace.name());
    this.id(namespace.label(team));
    this.id(namespace.labelByKey(teamKey.id));
    this.pairs(namespace.labels());
    this.number(namespace.requested(cpu));
    this.number(namespace.requested(memory));
    this.object(namespace.objectTexts(maxKeys), namespace.objectNumbers(maxima));
  }

  private object(texts: berth.IDs, numbers: berth.Numbers): void {
    for (let i = 0; i < texts.length; i++) this.id(texts.at(i));
    for (let i = 0; i < numbers.length; i++) this.number(numbers.at(i));
  }

  namespaces(pod: berth.Pod): void {
    const from = this.all.length;
    for (let i = 0; i < berth.snapshot.namespaces(); i++) {
      const namespace = berth.snapshot.namespace(i);
      if (namespace.name() == berth.ABSENT) continue;
      const at = this.all.length;
      this.namespace(namespace);
      this.entry(at);
    }
    this.sort(from);
    const own = berth.snapshot.findNamespace(pod.namespace());
    if (own !== null) this.namespace(own);
  }
}

/** The value of `{sight}`. */
export function sight(pod: berth.Pod, node: berth.Node | null): string {
  const seen = new Seen();
  seen.pod(pod);
  if (node !== null) seen.node(node);
  seen.namespaces(pod);
  return seen.all.join(" ");
}

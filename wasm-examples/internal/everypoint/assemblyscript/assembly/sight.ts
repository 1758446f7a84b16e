// What the SDK reads of the pod, of the node and of all namespaces, as sight.go lists it.

import * as berth from "@berth-scheduler/sdk";

const note = berth.nodeAnnotation("everypoint.berth.dev/note");
const disk = berth.nodeLabel("disk");
const ready = berth.nodeCondition("Ready");
const app = berth.podLabel("app");
const peer = berth.podAnnotation("everypoint.berth.dev/peer");
const team = berth.namespaceLabel("team");
const cpu = berth.resource("cpu");

/** Lists what is read, for people. */
class Seen {
  all: string[] = [];

  private number(n: i64): void {
    this.all.push(n.toString());
  }

  private id(id: berth.ID): void {
    this.all.push(id == berth.ABSENT ? "-" : berth.text(id));
  }

  private ids(all: berth.IDs): void {
    for (let i = 0; i < all.length; i++) this.id(all.at(i));
  }

  private pairs<L>(all: L): void {
    for (let i = 0; i < all.length; i++) {
      this.id(all.at(i).key);
      this.id(all.at(i).value);
    }
  }

  private ports<L>(all: L): void {
    for (let i = 0; i < all.length; i++) {
      this.id(all.at(i).ip);
      this.number(all.at(i).port);
      this.number(all.at(i).protocol);
    }
  }

  pod(pod: berth.Pod): void {
    this.id(pod.namespace());
    this.id(pod.owner());
    this.number(pod.priority());
    this.number(pod.request(cpu));
    this.number(pod.nonZeroRequested().cpu);
    this.number(pod.nonZeroRequested().memory);
    this.all.push(pod.name() + " on " + pod.nodeName());
    this.pairs(pod.labels());
    this.pairs(pod.namespaceLabels());
    this.ids(pod.schedulingGates());
    this.ids(pod.images());
    this.ports(pod.hostPorts());
    const selector = pod.nodeSelector();
    for (let i = 0; i < selector.length; i++) {
      this.id(selector.at(i).key);
      this.number(selector.at(i).operator);
      this.ids(pod.values(selector.at(i)));
    }
  }

  private placed(pod: berth.PlacedPod): void {
    this.all.push(pod.name());
    this.all.push(pod.uid());
    this.id(pod.namespace());
    this.id(pod.owner());
    this.id(pod.label(app));
    this.id(pod.annotation(peer));
    this.number(pod.priority());
    this.number(pod.request(cpu));
    this.number(pod.terminating() ? 1 : 0);
    this.pairs(pod.labels());
  }

  node(node: berth.Node): void {
    this.id(node.zone());
    this.id(node.label(disk));
    this.id(node.annotation(note));
    this.number(node.unschedulable() ? 1 : 0);
    this.number(node.condition(ready));
    this.number(node.allocatable(cpu));
    this.number(node.requested(cpu));
    this.number(node.nonZeroRequested().cpu);
    this.number(node.nonZeroRequested().memory);
    this.pairs(node.labels());
    const taints = node.taints();
    for (let i = 0; i < taints.length; i++) {
      this.id(taints.at(i).key);
      this.id(taints.at(i).value);
      this.number(taints.at(i).effect);
    }
    this.ports(node.ports());
    const images = node.images();
    for (let i = 0; i < images.length; i++) {
      this.id(images.at(i).name);
      this.number(images.at(i).size);
    }
    const pods = node.pods();
    for (let i = 0; i < pods.length; i++) this.placed(pods.at(i));
  }

  namespaces(): void {
    for (let i = 0; i < berth.snapshot.namespaces(); i++) {
      const namespace = berth.snapshot.namespace(i);
      if (namespace.name() == berth.ABSENT) continue;
      this.id(namespace.name());
      this.id(namespace.label(team));
      this.pairs(namespace.labels());
    }
  }
}

/** The value of `{sight}`. */
export function sight(pod: berth.Pod, node: berth.Node | null): string {
  const seen = new Seen();
  seen.pod(pod);
  if (node !== null) seen.node(node);
  seen.namespaces();
  return seen.all.join(" ");
}

// Views as the vectors write them (abi/vectors/README.md).

import * as berth from "@berth-scheduler/sdk";

import { fail } from "./want";

function quoted(text: string): string {
  return '"' + text + '"';
}

function id(id: berth.ID): string {
  return id == berth.ABSENT ? "-" : quoted(berth.text(id));
}

function bracketed(all: string[]): string {
  return "[" + all.join(" ") + "]";
}

function ids(list: berth.IDs): string {
  const all: string[] = [];
  for (let i = 0; i < list.length; i++) all.push(id(list.at(i)));
  return bracketed(all);
}

function pair(p: berth.Pair): string {
  return id(p.key) + "=" + id(p.value);
}

function pairs(list: berth.Pairs): string {
  const all: string[] = [];
  for (let i = 0; i < list.length; i++) all.push(pair(list.at(i)));
  return bracketed(all);
}

const PROTOCOLS = ["?", "TCP", "UDP", "SCTP"];
const OPERATORS = ["?", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
const EFFECTS = ["?", "NoSchedule", "PreferNoSchedule", "NoExecute"];

function port(p: berth.Port): string {
  return id(p.ip) + ":" + p.port.toString() + "/" + PROTOCOLS[p.protocol];
}

function requirement(pod: berth.Pod, r: berth.Requirement): string {
  const values = pod.values(r), all: string[] = [];
  for (let i = 0; i < values.length; i++) all.push(id(values.at(i)));
  return id(r.key) + " " + OPERATORS[r.operator] + " (" + all.join(" ") + ") " + r.number.toString();
}

function term(pod: berth.Pod, t: berth.Term): string {
  const list = pod.requirements(t), all: string[] = [];
  for (let i = 0; i < list.length; i++) all.push(requirement(pod, list.at(i)));
  const flags = (t.unusable() ? 1 : 0) + (t.hasFields() ? 2 : 0);
  return "{" + all.join(",") + " weight=" + t.weight.toString() + " flags=" + flags.toString() + "}";
}

function terms(pod: berth.Pod, list: berth.List<berth.Term>): string {
  const all: string[] = [];
  for (let i = 0; i < list.length; i++) all.push(term(pod, list.at(i)));
  return bracketed(all);
}

function toleration(t: berth.Toleration): string {
  return id(t.key) + "=" + id(t.value) + "/" + t.operator.toString() + "/" + t.effect.toString() + "/" + t.seconds.toString();
}

/** A field of the pod record, by its `id.arg`. */
export function field(pod: berth.Pod, name: string): string {
  const all: string[] = [];
  if (name == "128.0") return quoted(pod.name());
  if (name == "129.0") return quoted(pod.nodeName());
  if (name == "130.0") {
    const list = pod.nodeSelector();
    for (let i = 0; i < list.length; i++) all.push(requirement(pod, list.at(i)));
    return bracketed(all);
  }
  if (name == "131.0") {
    const list = pod.tolerations();
    for (let i = 0; i < list.length; i++) all.push(toleration(list.at(i)));
    return bracketed(all);
  }
  if (name == "132.0") {
    const list = pod.hostPorts();
    for (let i = 0; i < list.length; i++) all.push(port(list.at(i)));
    return bracketed(all);
  }
  if (name == "133.0") return ids(pod.images());
  if (name == "134.0") return ids(pod.schedulingGates());
  if (name == "140.0") return bracketed([id(pod.namespace())]);
  if (name == "141.0") return bracketed([pod.priority().toString()]);
  if (name == "142.0") return bracketed([pod.request(berth.resource("cpu")).toString()]);
  if (name == "142.1") return bracketed([pod.request(berth.resource("memory")).toString()]);
  if (name == "143.0") return pairs(pod.labels());
  if (name == "144.0") return bracketed([id(pod.annotation(berth.podAnnotation("a")))]);
  if (name == "144.1") return bracketed([id(pod.annotation(berth.podAnnotation("b")))]);
  if (name == "145.0") return bracketed([id(pod.owner())]);
  if (name == "146.0") {
    const required = pod.requiredTerms();
    return required === null ? "" : terms(pod, required);
  }
  if (name == "147.0") return terms(pod, pod.preferredTerms());
  if (name == "150.0") return bracketed([pod.nonZeroRequested().cpu.toString(), pod.nonZeroRequested().memory.toString()]);
  if (name == "151.0") return pairs(pod.namespaceLabels());
  if (name == "152.0") return quoted(pod.uid());
  if (name == "154.0") return bracketed([pod.createdAt().toString()]);
  if (name == "155.0") return bracketed([id(pod.priorityClass())]);
  if (name == "156.0") return bracketed([id(pod.serviceAccount())]);
  if (name == "157.0") return bracketed([id(pod.preemptionPolicy())]);
  if (name == "158.0") return bracketed([id(pod.group())]);
  if (name == "159.0") return bracketed([pod.limit(berth.resource("cpu")).toString()]);
  if (name == "159.1") return bracketed([pod.limit(berth.resource("memory")).toString()]);
  if (name == "160.0") return bracketed([id(pod.qos())]);
  if (name == "161.0") return ids(pod.claims());
  if (name == "164.0") return bracketed([pod.now().toString()]);
  if (name == "165.0") {
    const list = pod.containers(), resources = [berth.resource("cpu"), berth.resource("memory")];
    for (let i = 0; i < list.length; i++) {
      const c = list.at(i);
      let text = id(c.name) + "/" + c.kind.toString() + "/" + id(c.image);
      for (let k = 0; k < 2; k++) {
        text += "/" + pod.containerRequest(c, resources[k]).toString() + "/" + pod.containerLimit(c, resources[k]).toString();
      }
      all.push(text);
    }
    return bracketed(all);
  }
  fail("field " + name + " is not read here yet");
  return "";
}

/** A cell of a table, by the column's `id.arg`. Views of rows are numbers plus 1. */
export function cell(row: u32, name: string): string {
  const all: string[] = [];
  const node = changetype<berth.Node>(row + 1), pod = changetype<berth.PlacedPod>(row + 1);
  if (name == "192.0") return quoted(berth.text(row));
  if (name == "64.0") return id(pod.namespace());
  if (name == "65.0") return pod.priority().toString();
  if (name == "68.0") return id(pod.annotation(berth.podAnnotation("a")));
  if (name == "75.0") return pod.limit(berth.resource("cpu")).toString();
  if (name == "75.1") return pod.limit(berth.resource("memory")).toString();
  if (name == "76.0") return id(pod.qos());
  if (name == "77.0") return pod.assignedAt().toString();
  if (name == "78.0") return pod.createdAt().toString();
  if (name == "79.0") return ((pod.running() ? 1 : 0) + (pod.ready() ? 2 : 0)).toString();
  if (name == "224.0") return id(berth.snapshot.namespace(row).name());
  if (name == "225.0") {
    const list = berth.snapshot.namespace(row).labels();
    for (let i = 0; i < list.length; i++) all.push(pair(list.at(i)));
    return bracketed(all);
  }
  if (name == "226.0") return id(berth.snapshot.namespace(row).label(berth.namespaceLabel("team")));
  if (name == "227.0") return berth.snapshot.namespace(row).requested(berth.resource("cpu")).toString();
  if (name == "227.1") return berth.snapshot.namespace(row).requested(berth.resource("memory")).toString();
  if (name == "1.0") return quoted(node.name());
  if (name == "2.0") return node.unschedulable() ? "1" : "0";
  if (name == "3.0") return node.allocatable(berth.resource("cpu")).toString();
  if (name == "3.1") return node.allocatable(berth.resource("memory")).toString();
  if (name == "6.0") {
    const list = node.labels();
    for (let i = 0; i < list.length; i++) all.push(pair(list.at(i)));
    return bracketed(all);
  }
  if (name == "8.0") {
    const list = node.taints();
    for (let i = 0; i < list.length; i++) {
      const taint = list.at(i);
      all.push(id(taint.key) + "=" + id(taint.value) + ":" + EFFECTS[taint.effect]);
    }
    return bracketed(all);
  }
  if (name == "9.0") {
    const list = node.ports();
    for (let i = 0; i < list.length; i++) all.push(port(list.at(i)));
    return bracketed(all);
  }
  if (name == "10.0") {
    const list = node.images();
    for (let i = 0; i < list.length; i++) all.push(id(list.at(i).name) + ":" + list.at(i).size.toString());
    return bracketed(all);
  }
  if (name == "12.0") {
    const list = node.pods();
    for (let i = 0; i < list.length; i++) all.push(list.at(i)._slot().toString());
    return bracketed(all);
  }
  if (name == "167.0") {
    const list = node.nominated();
    for (let i = 0; i < list.length; i++) all.push(list.at(i)._slot().toString());
    return bracketed(all);
  }
  if (name == "13.0") return node.generation().toString();
  if (name == "14.0") return id(node.label(berth.nodeLabel("pool")));
  if (name == "16.0") return id(node.zone());
  if (name == "162.0") return node.capacity(berth.resource("cpu")).toString();
  if (name == "162.1") return node.capacity(berth.resource("memory")).toString();
  if (name == "163.0") return node.createdAt().toString();
  if (name == "190.0") return node.feed(berth.feed("node.cpu.usage:milli")).toString();
  if (name == "191.0") return node.feedState(berth.feed("node.cpu.usage:milli")).toString();
  if (name == "193.0") return node.requestedSince(berth.resource("cpu")).toString();
  if (name == "193.1") return node.requestedSince(berth.resource("memory")).toString();
  fail("column " + name + " is not read here yet");
  return "";
}

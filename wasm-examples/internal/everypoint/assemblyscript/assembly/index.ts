// A plugin for tests, which does at every extension point what annotations of the pod say. It is the
// twin of the Go package in the folder above, whose comment (doc.go) defines the language.

import * as berth from "@berth-scheduler/sdk";
import { Call, Step, Steps, stepsOf, trim } from "./steps";

function key(name: string): berth.PodAnnotation {
  return berth.podAnnotation("everypoint.berth.dev/" + name);
}

class EveryPoint {
  private peer: berth.PodAnnotation = key("peer");
  private maxPeers: berth.PodAnnotation = key("max-peers");
  private yes: berth.Const = berth.constant("true");
  private tooMany: berth.Reason = berth.reason(["too many peers"]);
  private steps: Steps = new Steps();

  // What annotations of the pod of the call say, read once by prepare.
  private most: i64 = -1; // peers; -1 without a limit
  private filters: Step[] = [];
  private scores: Step[] = [];

  configure(config: berth.Json): void {
    config.only(["numbers", "flags", "number"]);
    this.steps.number = config.get("number").f64(0);
    const numbers = config.get("numbers").elements(), flags = config.get("flags").fields();
    for (let i = 0; i < numbers.length; i++) numbers[i].i64(0);
    for (let i = 0; i < flags.length; i++) flags[i].bool(false);
  }

  preEnqueue(pod: berth.Pod): berth.Status {
    return this.steps.run(new Call(pod), pod.annotation(key("pre-enqueue")));
  }

  queueKey(pod: berth.Pod, queued: berth.Queued, to: berth.Key): void {
    const value = berth.text(pod.annotation(key("queue-key")));
    if (value == "long") {
      to.appendBytes(new Uint8Array(65));
      return;
    }
    const parts = stepsOf(value);
    for (let i = 0; i < parts.length; i++) part(to, parts[i], queued);
    if (to.room() < 64) return;
    to.appendI64(number(value));
    to.appendI64(queued.time);
  }

  hint(event: berth.Event, pod: berth.Pod): berth.HintResult {
    const all = stepsOf(berth.text(pod.annotation(key("hint"))));
    if (all.length == 0) return berth.QUEUE;
    if (!concerns(event, all[0].verb, all[0].rest) || all[0].verb == "whole" && !this.wholes(event, pod)) return berth.QUEUE_SKIP;
    return berth.QUEUE;
  }

  /** The name in the whole object of a pod, or `none`. */
  private whole(pod: berth.Pod): string {
    return this.steps.expand(new Call(pod), "{pod-object}");
  }

  /** Reports whether there is a whole object of the pod that waits, and none of the pods of an event. */
  private wholes(event: berth.Event, waiting: berth.Pod): bool {
    const newPod = event.newPod(), oldPod = event.oldPod();
    if (newPod !== null && this.whole(newPod) != "none") return false;
    if (oldPod !== null && this.whole(oldPod) != "none") return false;
    return this.whole(waiting) == waiting.name();
  }

  private setPeers(n: u32): berth.Status {
    const bytes = new Uint8Array(4);
    store<u32>(bytes.dataStart, n);
    return berth.stateSet("peers", bytes) ? berth.SUCCESS : berth.error(berth.reason(["no room"]));
  }

  private peers(): u32 {
    const bytes = berth.stateGet("peers");
    return bytes === null || bytes.length != 4 ? 0 : load<u32>(bytes.dataStart);
  }

  preFilter(pod: berth.Pod, nodes: berth.Nodes, rows: berth.Rows): berth.Status {
    let peers = 0;
    for (let i = 0; i < nodes.length; i++) {
      const pods = nodes.at(i).pods();
      for (let k = 0; k < pods.length; k++) {
        if (this.yes.is(pods.at(k).annotation(this.peer))) peers++;
      }
    }
    const status = this.setPeers(peers);
    if (status != berth.SUCCESS) return status;
    const all = stepsOf(berth.text(pod.annotation(key("pre-filter"))));
    for (let i = 0; i < all.length; i++) {
      if (all[i].verb == "only") {
        const names = all[i].rest.split(" ");
        rows.reset();
        for (let k = 0; k < nodes.length; k++) {
          if (names.includes(nodes.at(k).name())) rows.add(nodes.at(k));
        }
      } else if (this.steps.step(new Call(pod), all[i])) {
        return this.steps.answer;
      }
    }
    return berth.SUCCESS;
  }

  private change(pod: berth.Pod, changed: berth.Pod, by: i32): berth.Status {
    if (this.whole(pod) != "none" || this.whole(changed) != changed.name()) {
      return berth.error(berth.reason(["wrong object"]));
    }
    return this.yes.is(changed.annotation(this.peer)) ? this.setPeers(this.peers() + by) : berth.SUCCESS;
  }

  addPod(pod: berth.Pod, added: berth.Pod, _node: berth.Node): berth.Status {
    return this.change(pod, added, 1);
  }

  removePod(pod: berth.Pod, removed: berth.Pod, _node: berth.Node): berth.Status {
    return this.change(pod, removed, -1);
  }

  prepare(pod: berth.Pod): berth.Status {
    this.most = natural(berth.text(pod.annotation(this.maxPeers)), u32.MAX_VALUE) ? berth.parsed.number : -1;
    this.scores = stepsOf(berth.text(pod.annotation(key("score"))));
    const all = this.filters = stepsOf(berth.text(pod.annotation(key("filter"))));
    if (all.length == 0 || all[0].verb != "all") return berth.SUCCESS;
    const step = new Step(all[0].rest);
    return this.steps.status(step.verb, step.rest);
  }

  filter(pod: berth.Pod, node: berth.Node): berth.Status {
    if (this.most >= 0 && <i64>this.peers() >= this.most) return berth.unschedulable(this.tooMany);
    const rest = firstFor(this.filters, node);
    if (rest === null) return berth.SUCCESS;
    const step = new Step(rest);
    return this.steps.status(step.verb, this.steps.expand(new Call(pod, node), step.rest));
  }

  postFilter(pod: berth.Pod, judged: berth.Judged): berth.Status {
    return this.steps.run(new Call(pod, null, judged), pod.annotation(key("post-filter")));
  }

  preScore(pod: berth.Pod, _nodes: berth.Nodes): berth.Status {
    return this.steps.run(new Call(pod), pod.annotation(key("pre-score")));
  }

  score(_pod: berth.Pod, node: berth.Node): i64 {
    const rest = firstFor(this.scores, node);
    return rest !== null && berth.parseI64(rest) ? berth.parsed.number : 0;
  }

  normalize(pod: berth.Pod, _nodes: berth.Nodes, scores: berth.Scores): berth.Status {
    const annotation = pod.annotation(key("normalize")), reverse = trim(berth.text(annotation), " ;") == "reverse";
    const status = reverse ? berth.SUCCESS : this.steps.run(new Call(pod), annotation);
    let highest: i64 = scores.length == 0 ? 0 : scores.at(0);
    for (let i = 0; i < scores.length; i++) highest = max(highest, scores.at(i));
    for (let i = 0; i < scores.length; i++) scores.set(i, min<i64>(max<i64>(reverse ? highest - scores.at(i) : scores.at(i), 0), 100));
    return status;
  }

  reserve(pod: berth.Pod, node: berth.Node): berth.Status {
    return this.steps.run(new Call(pod, node), pod.annotation(key("reserve")));
  }

  unreserve(pod: berth.Pod, node: berth.Node): berth.Status {
    return this.steps.run(new Call(pod, node), pod.annotation(key("unreserve")));
  }

  permit(pod: berth.Pod, node: berth.Node): berth.Status {
    const all = stepsOf(berth.text(pod.annotation(key("permit"))));
    for (let i = 0; i < all.length; i++) {
      if (all[i].verb == "wait") return berth.waitFor(duration(all[i].rest));
      if (this.steps.step(new Call(pod, node), all[i])) return this.steps.answer;
    }
    return berth.SUCCESS;
  }

  preBind(pod: berth.Pod, node: berth.Node): berth.Status {
    return this.steps.run(new Call(pod, node), pod.annotation(key("pre-bind")));
  }

  bind(pod: berth.Pod, node: berth.Node): berth.Status {
    const all = stepsOf(berth.text(pod.annotation(key("bind"))));
    let answer: berth.Status = berth.SKIP;
    for (let i = 0; i < all.length; i++) {
      if (this.steps.step(new Call(pod, node), all[i])) return this.steps.answer;
      if (all[i].verb == "bind") answer = berth.SUCCESS;
    }
    return answer;
  }

  postBind(pod: berth.Pod, node: berth.Node): berth.Status {
    return this.steps.run(new Call(pod, node), pod.annotation(key("post-bind")));
  }
}

/** The name of what an event is about. */
function object(event: berth.Event): string {
  const newNode = event.newNode(), oldNode = event.oldNode(), newPod = event.newPod(), oldPod = event.oldPod();
  if (newNode !== null) return newNode.name();
  if (oldNode !== null) return oldNode.name();
  if (newPod !== null) return newPod.name();
  if (oldPod !== null) return oldPod.name();
  return event.name();
}

/** The name of the old node or pod of an event; empty if there is none. */
function old(event: berth.Event): string {
  const node = event.oldNode(), pod = event.oldPod();
  if (node !== null) return node.name();
  return pod !== null ? pod.name() : "";
}

/** Reports whether the pod of a step is to be tried again. */
function concerns(event: berth.Event, verb: string, rest: string): bool {
  if (verb == "skip") return false;
  if (verb == "on") return object(event) == rest;
  if (verb == "was") return old(event) == rest;
  if (verb == "in") return event.namespace() == rest;
  if (verb != "is") return true;
  const numbers = new Step(rest);
  return event.is(<u32>number(numbers.verb), <u32>number(numbers.rest));
}

/** A decimal number; 0 if the text is none. */
function number(text: string): i64 {
  return berth.parseI64(text) ? berth.parsed.number : 0;
}

/** Appends a part of a key; nothing for a step that is none. */
function part(to: berth.Key, step: Step, queued: berth.Queued): void {
  const verb = step.verb, rest = step.rest;
  if (verb == "u64") to.appendU64(<u64>number(rest));
  else if (verb == "-u64") to.appendU64Descending(<u64>number(rest));
  else if (verb == "i64") to.appendI64(number(rest));
  else if (verb == "-i64") to.appendI64Descending(number(rest));
  else if (verb == "bytes") to.appendBytes(Uint8Array.wrap(String.UTF8.encode(rest)));
  else if (verb == "-bytes") to.appendBytesDescending(Uint8Array.wrap(String.UTF8.encode(rest)));
  else if (verb == "text") to.appendText(rest.replaceAll("|", "\0"));
  else if (verb == "-text") to.appendTextDescending(rest.replaceAll("|", "\0"));
  else if (verb == "attempts") to.appendU64(queued.attempts);
}

/** What the first step for a node says; null if there is none. */
function firstFor(all: Step[], node: berth.Node): string | null {
  for (let i = 0; i < all.length; i++) {
    if (all[i].verb == "*" || all[i].verb == node.name()) return all[i].rest;
  }
  return null;
}

/** Reads a decimal number without a sign; false if it is none, or above a limit. */
function natural(text: string, most: i64): bool {
  return text != "" && text.charCodeAt(0) >= 48 && text.charCodeAt(0) <= 57 && berth.parseI64(text) && berth.parsed.number <= most;
}

/** Reads a number and a unit, as milliseconds; 0 if it is none. */
function duration(text: string): u64 {
  let digits = text.length;
  while (digits > 0 && "ms".includes(text.charAt(digits - 1))) digits--;
  const unit = text.substring(digits);
  const scale: u64 = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60000 : 0;
  return natural(text.substring(0, digits), i32.MAX_VALUE) ? <u64>berth.parsed.number * scale : 0;
}

export const plugin = new EveryPoint();

// Steps: what annotations say, and how it is carried out.

import * as berth from "@berth-scheduler/sdk";
import { sight } from "./sight";

/** What a point is about. */
export class Call {
  constructor(
    public pod: berth.Pod,
    public node: berth.Node | null = null,     // from reserve on
    public judged: berth.Judged | null = null, // at postFilter
  ) {}
}

/** Returns a text without bytes of a set at its ends. */
export function trim(s: string, set: string): string {
  let from = 0, to = s.length;
  while (from < to && set.includes(s.charAt(from))) from++;
  while (to > from && set.includes(s.charAt(to - 1))) to--;
  return s.substring(from, to);
}

/** Returns a text without spaces in front. */
function trimLeft(s: string): string {
  let from = 0;
  while (from < s.length && s.charAt(from) == " ") from++;
  return s.substring(from);
}

/** A step: a verb and the rest, or a first word and what follows it. */
export class Step {
  verb: string;
  rest: string;

  constructor(s: string) {
    const n = s.indexOf(" ");
    this.verb = n < 0 ? s : s.substring(0, n);
    this.rest = n < 0 ? "" : trimLeft(s.substring(n));
  }
}

/** The steps of a value. */
export function stepsOf(value: string): Step[] {
  const all: Step[] = [], parts = value.split(";");
  for (let i = 0; i < parts.length; i++) {
    const step = trim(parts[i], " ");
    if (step != "") all.push(new Step(step));
  }
  return all;
}

/** Reads a protobuf message. */
class Message {
  private at: i32 = 0;

  constructor(private bytes: Uint8Array) {}

  private varint(): u64 {
    let v: u64 = 0;
    for (let shift: u64 = 0; this.at < this.bytes.length && shift < 64; shift += 7) {
      const c = this.bytes[this.at++];
      v |= (<u64>c & 0x7f) << shift;
      if (c < 0x80) return v;
    }
    this.at = this.bytes.length;
    return v;
  }

  /** Returns a field that has a length; empty if the message does not have it. */
  field(number: u64): Uint8Array {
    while (this.at < this.bytes.length) {
      const tag = this.varint();
      let n: u64 = 0;
      switch (<i32>(tag & 7)) {
        case 0: this.varint(); continue;
        case 1: n = 8; break;
        case 2: n = this.varint(); break;
        case 5: n = 4; break;
        default: return new Uint8Array(0);
      }
      n = min<u64>(n, this.bytes.length - this.at);
      const end = this.at + <i32>n;
      if ((tag & 7) == 2 && tag >> 3 == number) return this.bytes.subarray(this.at, end);
      this.at = end;
    }
    return new Uint8Array(0);
  }
}

/** metadata.name in a whole object: field 1 of field 1. */
function metadataName(object: Uint8Array): Uint8Array {
  return new Message(new Message(object).field(1)).field(1);
}

function utf8(bytes: Uint8Array): string {
  return String.UTF8.decodeUnsafe(bytes.dataStart, bytes.byteLength);
}

/** Compares the bytes of texts. */
export function byBytes(a: string, b: string): i32 {
  const x = Uint8Array.wrap(String.UTF8.encode(a)), y = Uint8Array.wrap(String.UTF8.encode(b));
  for (let i = 0; i < min(x.length, y.length); i++) {
    if (x[i] != y[i]) return <i32>x[i] - <i32>y[i];
  }
  return x.length - y.length;
}

function verdicts(judged: berth.Judged): string {
  const all: string[] = [];
  for (let i = 0; i < judged.nodes.length; i++) all.push(judged.nodes.at(i).name() + "=" + judged.code(i).toString());
  return all.sort(byBytes).join(",");
}

/** The values of keys of the state, with spaces between them. */
function values(keys: string): string {
  const all: string[] = [], names = keys.split(" ");
  for (let i = 0; i < names.length; i++) {
    const bytes = berth.stateGet(names[i]);
    all.push(bytes !== null ? utf8(bytes) : "none");
  }
  return all.join(" ");
}

/** Carries out steps. */
export class Steps {
  number: f64 = 0;
  published: berth.Published = berth.published("publisher/plan");

  /** What a name between braces stands for; null for another name. */
  private value(call: Call, name: string): string | null {
    let bytes: Uint8Array | null = null;
    const node = call.node, judged = call.judged;
    if (name == "node") {
      return node !== null ? node.name() : "none";
    } else if (name == "uid") {
      return call.pod.uid();
    } else if (name == "number") {
      return reinterpret<i64>(this.number).toString();
    } else if (name == "sight") {
      return sight(call.pod, node);
    } else if (name == "verdicts") {
      return judged !== null ? verdicts(judged) : "none";
    } else if (name == "published") {
      bytes = berth.publishedGet(this.published);
    } else if (name == "pod-object") {
      bytes = berth.podObject(call.pod);
      if (bytes !== null) bytes = metadataName(bytes);
    } else if (name == "node-object") {
      if (node !== null) bytes = berth.nodeObject(node);
      if (bytes !== null) bytes = metadataName(bytes);
    } else {
      return name.startsWith("state:") ? values(name.substring(6)) : null;
    }
    return bytes !== null ? utf8(bytes) : "none";
  }

  /** Replaces what stands between braces. */
  expand(call: Call, text: string): string {
    let out = "";
    while (true) {
      const open = text.indexOf("{"), close = open < 0 ? -1 : text.indexOf("}", open + 1);
      if (close < 0) return out + text;
      const name = text.substring(open + 1, close), value = this.value(call, name);
      out += text.substring(0, open) + (value !== null ? value : "{" + name + "}");
      text = text.substring(close + 1);
    }
  }

  /** Reads a status; a verb that is none is an error. */
  status(verb: string, text: string): berth.Status {
    const reason = text == "" ? berth.NO_REASON : berth.reason(text.split("|"));
    if (verb == "success") return berth.SUCCESS;
    if (verb == "skip") return berth.SKIP;
    if (verb == "error") return berth.error(reason);
    if (verb == "unschedulable") return berth.unschedulable(reason);
    if (verb == "unresolvable") return berth.unschedulableAndUnresolvable(reason);
    if (verb == "pending") return berth.pending(reason);
    return berth.error(berth.reason(["unknown step: " + verb]));
  }

  /** The status of the last step that ended. */
  answer: berth.Status = berth.SUCCESS;

  /** Carries out one step, and reports whether it is a status. */
  step(call: Call, step: Step): bool {
    const verb = step.verb, rest = step.rest, word = new Step(rest);
    const key = word.verb, text = word.rest;
    let ok = true;
    if (verb == "set") ok = set(key, this.expand(call, text));
    else if (verb == "publish") ok = set("plan", this.expand(call, rest));
    else if (verb == "log") berth.log(berth.Level.Info, this.expand(call, rest));
    else if (verb == "trap") throw new Error("everypoint: trap");
    else if (verb == "annotate") ok = berth.annotate(key, this.expand(call, text));
    else if (verb == "label") ok = berth.label(key, this.expand(call, text));
    else if (verb == "nominate") ok = berth.nominate(key);
    else if (verb == "bind") ok = berth.bindPod();
    else if (verb == "allow") ok = berth.allow(key);
    else if (verb == "reject") ok = berth.reject(key, this.expand(call, text));
    else if (verb == "activate") ok = berth.activate(key);
    else {
      this.answer = this.status(verb, this.expand(call, rest));
      return true;
    }
    if (!ok) this.answer = berth.error(berth.reason(["no room"]));
    return !ok;
  }

  /** Carries out the steps of an annotation. */
  run(call: Call, annotation: berth.ID): berth.Status {
    const all = stepsOf(berth.text(annotation));
    for (let i = 0; i < all.length; i++) {
      if (this.step(call, all[i])) return this.answer;
    }
    return berth.SUCCESS;
  }
}

/** Sets a key of the state to a text. */
function set(key: string, text: string): bool {
  return berth.stateSet(key, Uint8Array.wrap(String.UTF8.encode(text)));
}

// Reads the vectors that all SDKs pass (abi/vectors), and gives the answers that they have. It is a
// plugin whose configuration is `{"regions": …, "pods": …, "json": …, "names": …}`: to configure it is to run
// the test. So it runs in any host. Its first 64 KiB of memory are the vectors': asconfig.json leaves them free.

import * as berth from "@berth-scheduler/sdk";

import { field } from "./printer";
import { run } from "./replay";
import { equal, fail, hex, nth, part, same, textOf, vector, whole } from "./want";

export function checkPod(pod: berth.Pod, want: berth.Json): void {
  let affinity = false;
  const fields = want.fields();
  for (let i = 0; i < fields.length; i++) {
    same(field(pod, fields[i].key), fields[i].text(""), "field " + fields[i].key);
    affinity = affinity || fields[i].key == "146.0";
  }
  // Field 146 is absent if there is no required affinity (ABI-6.2).
  if ((pod.requiredTerms() !== null) != affinity) fail("whether there is required affinity");
}

/** Makes the reason sets of the vector, whose numbers follow from their order; returns the i-th. */
function reason(i: i64): berth.Reason {
  const all: berth.Reason[] = [berth.NO_REASON], sets = part(vector.call, "reason_sets").elements();
  for (let k = 0; k < sets.length; k++) all.push(berth.reason(sets[k].elements().map<string>((t) => t.text(""))));
  return all[<i32>i];
}

/** A status of its code and reason. */
function status(code: i64, why: berth.Reason): berth.Status {
  return <u32>code | (why << 8);
}

function checkOptional(pod: berth.Pod | null, want: berth.Json, what: string): void {
  if ((pod !== null) != want.isThere()) fail("whether there is " + what);
  if (pod !== null) checkPod(pod, want);
}

class Vectors {
  configure(config: berth.Json): void {
    run(config);
  }

  /** The answer for the next row or pod. */
  private next(): berth.Status {
    const code = nth(part(vector.call, "codes"), vector.asked).i64(0), why = nth(part(vector.call, "reasons"), vector.asked).i64(0);
    vector.asked++;
    return status(code, reason(why));
  }

  private asked(pod: berth.Pod): void {
    const want = part(vector.call, "pod");
    if (want.isThere()) checkPod(pod, want);
  }

  private listed(pod: berth.Pod): void {
    checkPod(pod, nth(part(vector.call, "pods"), vector.asked));
  }

  /** Asks for the directives of the vector, and returns the result of the call. */
  private direct(): berth.Status {
    const all = part(vector.call, "directives").elements();
    for (let i = 0; i < all.length; i++) {
      const kind = textOf(all[i], "kind"), first = textOf(all[i], "first"), second = textOf(all[i], "second");
      const done = kind == "annotate" ? berth.annotate(first, second)
        : kind == "nominate" ? berth.nominate(first)
        : kind == "allow" ? berth.allow(first)
        : kind == "reject" ? berth.reject(first, second)
        : kind == "activate" ? berth.activate(first)
        : false;
      if (!done) fail("directive " + kind + " is not replayed yet");
    }
    return status(0, reason(whole(vector.call, "status_reason")));
  }

  preEnqueue(pod: berth.Pod): berth.Status {
    this.listed(pod);
    berth.retryAfter(nth(part(vector.call, "scores"), vector.asked).i64(-1));
    return this.next();
  }

  queueKey(pod: berth.Pod, queued: berth.Queued, key: berth.Key): void {
    this.listed(pod);
    const want = nth(part(vector.call, "queue"), vector.asked++);
    equal(queued.time, whole(want, "time"), "time");
    equal(queued.attempts, whole(want, "attempts"), "attempts");
    key.appendBytes(hex(textOf(want, "key")));
  }

  hint(event: berth.Event, pod: berth.Pod): berth.HintResult {
    this.listed(pod);
    const want = part(vector.call, "event");
    equal(event.resource, whole(want, "resource"), "resource");
    equal(event.actions, whole(want, "actions"), "actions");
    checkOptional(event.oldPod(), part(want, "old_pod"), "an old pod");
    checkOptional(event.newPod(), part(want, "new_pod"), "a new pod");
    const old = event.oldNode(), now = event.newNode();
    equal(old === null ? u32.MAX_VALUE : old.row(), whole(want, "old_node"), "old_node");
    equal(now === null ? u32.MAX_VALUE : now.row(), whole(want, "new_node"), "new_node");
    same(event.namespace(), textOf(want, "namespace"), "namespace");
    same(event.name(), textOf(want, "name"), "name");
    return this.next() == berth.SUCCESS ? berth.QUEUE : berth.QUEUE_SKIP;
  }

  preFilter(pod: berth.Pod, nodes: berth.Nodes, rows: berth.Rows): berth.Status {
    this.asked(pod);
    const set = part(vector.call, "row_set").elements();
    for (let i = 0; i < set.length; i++) rows.add(nodes.at(<i32>set[i].i64(0)));
    return this.direct();
  }

  filter(pod: berth.Pod, _node: berth.Node): berth.Status {
    this.asked(pod);
    return this.next();
  }

  postFilter(pod: berth.Pod, judged: berth.Judged): berth.Status {
    this.asked(pod);
    for (let i = 0; i < judged.nodes.length; i++) equal(judged.code(i), nth(part(vector.call, "codes"), i).i64(0), "a verdict");
    return this.direct();
  }

  score(_pod: berth.Pod, node: berth.Node): i64 {
    equal(node.row(), nth(part(vector.call, "rows"), vector.asked).i64(0), "a row");
    return nth(part(vector.call, "scores"), vector.asked++).i64(0);
  }

  reserve(pod: berth.Pod, _node: berth.Node): berth.Status {
    this.asked(pod);
    return this.direct();
  }

  permit(pod: berth.Pod, node: berth.Node): berth.Status {
    this.reserve(pod, node);
    berth.retryAfter(whole(vector.call, "retry_after"));
    return berth.waitFor(whole(vector.call, "wait"));
  }
}

export const plugin = new Vectors();

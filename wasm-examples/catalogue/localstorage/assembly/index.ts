// A plugin that places pods with local volumes of TopoLVM on nodes that have room for them. It decides as topolvm-scheduler does
// (topolvm/topolvm, internal/scheduler), and also counts pods whose volumes the annotation of their node cannot contain yet.

import * as berth from "@berth-scheduler/sdk";

/** A device class: what its annotation says is free on a node, or needed by a pod, in bytes. */
class DeviceClass {
  /** What the pod of this call needs; negative if nothing. */
  needs: i64 = -1;

  constructor(
    public free: berth.NodeAnnotation,
    public need: berth.PodAnnotation,
    public divisor: f64,
  ) {}
}

class LocalStorage {
  private resources: berth.Resource[] = [berth.resource("topolvm.io/capacity"), berth.resource("topolvm.cybozu.com/capacity")];
  private wrongSize: berth.Reason = berth.reason(["the pod's size of a local volume is no number"]);
  private unknown: berth.Reason = berth.reason(["the pod needs local storage of a class that the plugin's configuration does not list"]);
  private none: berth.Reason = berth.reason(["node(s) had no capacity annotation"]);
  private wrong: berth.Reason = berth.reason(["node(s) had a bad capacity annotation"]);
  private full: berth.Reason = berth.reason(["node(s) were out of VG free space"]);
  private taken: berth.Reason = berth.reason(["node(s) had their VG free space taken by starting pods"]);

  private classes: DeviceClass[] = [];
  private ignoreStarting: bool = false;

  configure(config: berth.Json): void {
    config.only(["classes", "divisor", "divisors", "ignoreStarting"]);
    this.ignoreStarting = config.get("ignoreStarting").bool(false);
    const divisors = config.get("divisors"), divisor = positive(config.get("divisor"), 1);
    const classes = config.need("classes").elements(), names: string[] = [];
    for (let i = 0; i < classes.length; i++) {
      const key = classes[i].text("");
      const free = berth.findNodeAnnotation(key), need = berth.findPodAnnotation(key);
      if (free === null || need === null || names.includes(key)) continue;
      names.push(key);
      this.classes.push(new DeviceClass(free, need, positive(divisors.get(key), divisor)));
    }
    const fields = divisors.fields();
    for (let i = 0; i < fields.length; i++) {
      if (!names.includes(fields[i].key)) fields[i].error("classes does not list it");
    }
  }

  /** Reads what the pod needs. A pod that needs local storage, but of no class that is listed, fits nowhere. */
  prepare(pod: berth.Pod): berth.Status {
    let any = false;
    for (let i = 0; i < this.classes.length; i++) {
      const c = this.classes[i], text = pod.annotation(c.need);
      c.needs = -1;
      if (text == berth.ABSENT) continue;
      any = true;
      c.needs = bytes(text);
      if (c.needs < 0) return berth.unschedulableAndUnresolvable(this.wrongSize);
    }
    if (any) return berth.SUCCESS;
    for (let i = 0; i < this.resources.length; i++) {
      if (pod.request(this.resources[i]) > 0) return berth.unschedulableAndUnresolvable(this.unknown);
    }
    return berth.SKIP;
  }

  /**
   * Rejects nodes without room for each of the pod's classes. What an annotation says does not depend on pods, so preemption need not
   * look; it can only help where starting pods take the room.
   */
  filter(_pod: berth.Pod, node: berth.Node): berth.Status {
    let taken = false;
    for (let i = 0; i < this.classes.length; i++) {
      const c = this.classes[i];
      if (c.needs < 0) continue;
      const text = node.annotation(c.free);
      if (text == berth.ABSENT) return berth.unschedulableAndUnresolvable(this.none);
      const free = bytes(text);
      if (free < 0) return berth.unschedulableAndUnresolvable(this.wrong);
      if (free < c.needs) return berth.unschedulableAndUnresolvable(this.full);
      if (free - this.starting(c, node) < c.needs) taken = true;
    }
    return taken ? berth.unschedulable(this.taken) : berth.SUCCESS;
  }

  /** Prefers nodes with much room: ten points for each doubling of the divisor, of the class that has the fewest. */
  score(_pod: berth.Pod, node: berth.Node): i64 {
    let least: i64 = -1;
    for (let i = 0; i < this.classes.length; i++) {
      const c = this.classes[i];
      if (c.needs < 0) continue;
      const text = node.annotation(c.free);
      if (text == berth.ABSENT) continue;
      const p = points(max<i64>(0, max<i64>(0, bytes(text)) - this.starting(c, node)), c.divisor);
      if (least < 0 || p < least) least = p;
    }
    return max<i64>(0, least);
  }

  /** What pods on the node need of the class and do not run yet: volumes are made before a pod runs, and then the annotation has them. */
  private starting(c: DeviceClass, node: berth.Node): i64 {
    if (this.ignoreStarting) return 0;
    let sum: i64 = 0;
    const pods = node.pods();
    for (let i = 0; i < pods.length; i++) {
      const pod = pods.at(i);
      if (pod.running()) continue;
      const text = pod.annotation(c.need);
      if (text == berth.ABSENT) continue;
      const size = max<i64>(0, bytes(text));
      sum = size > i64.MAX_VALUE - sum ? i64.MAX_VALUE : sum + size;
    }
    return sum;
  }
}

/** A number of the configuration above 0. */
function positive(value: berth.Json, otherwise: f64): f64 {
  const n = value.f64(otherwise);
  if (n < 0.001 || n > 1000000) value.error("the number must be 0.001 to 1000000");
  return n;
}

/** Digits as a number, of which one beyond 63 bits counts as the largest; -1 for another text. */
function bytes(id: berth.ID): i64 {
  const text = berth.text(id);
  if (text.length == 0) return -1;
  let n: i64 = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    n = n > (i64.MAX_VALUE - digit) / 10 ? i64.MAX_VALUE : n * 10 + digit;
  }
  return n;
}

/** 0 for no room, else 10 to 100: how often the divisor can be doubled within the GiB that are free, times ten. */
function points(free: i64, divisor: f64): i64 {
  if (free == 0) return 0;
  const size = <f64>(free >> 30) / divisor;
  let n = 1;
  for (let power: f64 = 4; n < 10 && size >= power; power *= 2) n++;
  return n * 10;
}

export const plugin = new LocalStorage();

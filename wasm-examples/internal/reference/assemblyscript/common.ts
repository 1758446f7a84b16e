// The reference workload of Berth's benchmarks: taints against tolerations, required node affinity, and
// resources, with the verdicts and reasons of kube-scheduler's plugins. It is what the plugins csr and
// dense have in common, and the twin of the Go package in the folder above.

import * as berth from "@berth-scheduler/sdk";

export class Common {
  private cpu: berth.Resource = berth.resource("cpu");
  private memory: berth.Resource = berth.resource("memory");
  private pods: berth.Resource = berth.resource("pods");
  tainted: berth.Reason = berth.reason(["node(s) had untolerated taint(s)"]);
  mismatched: berth.Reason = berth.reason(["node(s) didn't match Pod's node affinity/selector"]);
  private lacking: StaticArray<berth.Reason> = new StaticArray<berth.Reason>(8); // by bits: pods, cpu, memory

  // Of this call's pod.
  private needCPU: i64 = 0;
  private needBytes: i64 = 0;

  constructor() {
    const all = ["Too many pods", "Insufficient cpu", "Insufficient memory"];
    for (let bits = 1; bits < 8; bits++) {
      const texts: string[] = [];
      for (let i = 0; i < 3; i++) {
        if (((bits >> i) & 1) != 0) texts.push(all[i]);
      }
      this.lacking[bits] = berth.reason(texts);
    }
  }

  /** Looks at the pod. */
  look(pod: berth.Pod): void {
    this.needCPU = pod.request(this.cpu);
    this.needBytes = pod.request(this.memory);
  }

  /** Reports whether the pod tolerates the taints of a node that keep pods away. */
  @inline tolerated(pod: berth.Pod, node: berth.Node): bool {
    const taints = node.taints();
    for (let i = 0, n = taints.length; i < n; i++) {
      const taint = taints.at(i);
      if (taint.effect != berth.Effect.PreferNoSchedule && !pod.tolerates(taint)) return false;
    }
    return true;
  }

  /** Judges the node's resources. */
  @inline fits(node: berth.Node): berth.Status {
    let lacks = 0, never = false;
    if (node.requested(this.pods) + 1 > node.allocatable(this.pods)) lacks |= 1;
    if (this.needCPU > 0) {
      const has = node.allocatable(this.cpu);
      if (this.needCPU > has - node.requested(this.cpu)) {
        lacks |= 2;
        never = this.needCPU > has;
      }
    }
    if (this.needBytes > 0) {
      const has = node.allocatable(this.memory);
      if (this.needBytes > has - node.requested(this.memory)) {
        lacks |= 4;
        never = never || this.needBytes > has;
      }
    }
    if (lacks == 0) return berth.SUCCESS;
    return never ? berth.unschedulableAndUnresolvable(this.lacking[lacks]) : berth.unschedulable(this.lacking[lacks]);
  }
}

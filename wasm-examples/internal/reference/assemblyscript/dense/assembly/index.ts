// The reference workload with a column for each label key.

import * as berth from "@berth-scheduler/sdk";
import { Common } from "../../common";

class Dense extends Common {
  private keys: berth.Const[] = [];
  private labels: StaticArray<berth.NodeLabel> = [berth.nodeLabel("topology.kubernetes.io/zone"), berth.nodeLabel("example.com/pool")];

  // Of this call's pod: whether it has terms, where the checks of each end, and the checks.
  private any: bool = false;
  private ends: i32[] = [];
  private checks: berth.Requirement[] = [];
  private columns: berth.NodeLabel[] = [];

  constructor() {
    super();
    this.keys = [berth.constant("topology.kubernetes.io/zone"), berth.constant("example.com/pool")];
  }

  /** Resolves the requirements of the pod's affinity. */
  prepare(pod: berth.Pod): berth.Status {
    this.look(pod);
    this.ends.length = 0;
    this.checks.length = 0;
    this.columns.length = 0;
    const terms = pod.requiredTerms();
    this.any = terms !== null;
    if (terms === null) return berth.SUCCESS;
    for (let i = 0; i < terms.length; i++) {
      const term = terms.at(i);
      if (term.unusable()) continue;
      const all = pod.requirements(term);
      for (let k = 0; k < all.length; k++) {
        const requirement = all.at(k), known = this.find(requirement.key);
        if (known < 0) return berth.error(berth.reason(["the label " + berth.text(requirement.key) + " is not declared"]));
        this.checks.push(requirement);
        this.columns.push(this.labels[known]);
      }
      this.ends.push(this.checks.length);
    }
    return berth.SUCCESS;
  }

  private find(key: berth.ID): i32 {
    for (let i = 0; i < this.keys.length; i++) {
      if (this.keys[i].is(key)) return i;
    }
    return -1;
  }

  private matches(pod: berth.Pod, node: berth.Node): bool {
    let i = 0;
    for (let k = 0; k < this.ends.length; k++) {
      const end = this.ends[k];
      while (i < end && pod.holds(this.checks[i], node.label(this.columns[i]))) i++;
      if (i == end) return true;
      i = end;
    }
    return false;
  }

  filter(pod: berth.Pod, node: berth.Node): berth.Status {
    if (!this.tolerated(pod, node)) return berth.unschedulableAndUnresolvable(this.tainted);
    if (this.any && !this.matches(pod, node)) return berth.unschedulableAndUnresolvable(this.mismatched);
    return this.fits(node);
  }
}

export const plugin = new Dense();

// The reference workload with the labels of each node as a list.

import * as berth from "@berth-scheduler/sdk";
import { Common } from "../../common";

class CSR extends Common {
  prepare(pod: berth.Pod): berth.Status {
    this.look(pod);
    return berth.SUCCESS;
  }

  filter(pod: berth.Pod, node: berth.Node): berth.Status {
    if (!this.tolerated(pod, node)) return berth.unschedulableAndUnresolvable(this.tainted);
    const terms = pod.requiredTerms();
    if (terms !== null && !matches(pod, node, terms)) return berth.unschedulableAndUnresolvable(this.mismatched);
    return this.fits(node);
  }
}

function matches(pod: berth.Pod, node: berth.Node, terms: berth.List<berth.Term>): bool {
  for (let i = 0, n = terms.length; i < n; i++) {
    if (holds(pod, node, terms.at(i))) return true;
  }
  return false;
}

function holds(pod: berth.Pod, node: berth.Node, term: berth.Term): bool {
  if (term.unusable()) return false;
  const all = pod.requirements(term);
  for (let i = 0, n = all.length; i < n; i++) {
    const requirement = all.at(i);
    if (!pod.holds(requirement, node.labelByKey(requirement.key))) return false;
  }
  return true;
}

export const plugin = new CSR();

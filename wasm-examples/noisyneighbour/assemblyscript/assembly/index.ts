// A plugin that limits what pods do to their neighbours: how many pods of one tenant share a node, and
// how many noisy pods, with how much cpu. Within the limits it spreads them. It is the twin of the Go
// package in the folder above.

import * as berth from "@berth-scheduler/sdk";

/** A tenant is a namespace; a pod is noisy if its label berth.dev/noisy is `true`. */
class NoisyNeighbour {
  private noisy: berth.PodLabel = berth.podLabel("berth.dev/noisy");
  private cpu: berth.Resource = berth.resource("cpu");
  private noisyKey: berth.Const = berth.constant("berth.dev/noisy");
  private yes: berth.Const = berth.constant("true");
  private tenant: berth.Reason = berth.reason(["node(s) had too many pods of the tenant"]);
  private tooNoisy: berth.Reason = berth.reason(["node(s) had too many noisy pods"]);
  private tooMuch: berth.Reason = berth.reason(["node(s) had too much cpu of noisy pods"]);

  // Limits; 0 is none.
  private podsPerTenant: i64 = 0; // of the pods of one namespace on a node
  private noisyPods: i64 = 0;     // of the noisy pods on a node, of all tenants
  private noisyMilliCPU: i64 = 0; // of the sum of their cpu requests

  /** Namespaces that the limits do not apply to, and whose pods do not count. */
  private exempt: berth.Const[] = [];

  // Of this call's pod.
  private namespace: berth.ID = berth.ABSENT;
  private isNoisy: bool = false;
  private request: i64 = 0;

  // What the pods on a node amount to.
  private tenantPods: i64 = 0;
  private noisyThere: i64 = 0;
  private noisyCPU: i64 = 0;

  configure(config: berth.Json): void {
    config.only(["podsPerTenant", "noisyPods", "noisyMilliCPU", "exempt"]);
    this.podsPerTenant = config.get("podsPerTenant").i64(0);
    this.noisyPods = config.get("noisyPods").i64(0);
    this.noisyMilliCPU = config.get("noisyMilliCPU").i64(0);
    const exempt = config.get("exempt").elements();
    for (let i = 0; i < exempt.length; i++) this.exempt.push(berth.constant(exempt[i].text("")));
  }

  private isExempt(namespace: berth.ID): bool {
    for (let i = 0; i < this.exempt.length; i++) {
      if (this.exempt[i].is(namespace)) return true;
    }
    return false;
  }

  /** Looks at the pod. */
  prepare(pod: berth.Pod): berth.Status {
    this.namespace = pod.namespace();
    if (this.isExempt(this.namespace)) return berth.SKIP;
    this.isNoisy = this.yes.is(pod.labelByKey(this.noisyKey.id));
    this.request = pod.request(this.cpu);
    return berth.SUCCESS;
  }

  private load(node: berth.Node): void {
    this.tenantPods = 0;
    this.noisyThere = 0;
    this.noisyCPU = 0;
    const pods = node.pods();
    for (let i = 0, n = pods.length; i < n; i++) {
      const pod = pods.at(i), namespace = pod.namespace();
      if (namespace == this.namespace) this.tenantPods++;
      if (this.yes.is(pod.label(this.noisy)) && !this.isExempt(namespace)) {
        this.noisyThere++;
        this.noisyCPU += pod.request(this.cpu);
      }
    }
  }

  /**
   * Refuses nodes that the pod would bring over a limit. Preemption can help: the limits are about pods
   * that could go.
   */
  filter(_pod: berth.Pod, node: berth.Node): berth.Status {
    this.load(node);
    if (over(this.tenantPods + 1, this.podsPerTenant)) return berth.unschedulable(this.tenant);
    if (this.isNoisy && over(this.noisyThere + 1, this.noisyPods)) return berth.unschedulable(this.tooNoisy);
    if (this.isNoisy && over(this.noisyCPU + this.request, this.noisyMilliCPU)) return berth.unschedulable(this.tooMuch);
    return berth.SUCCESS;
  }

  /**
   * How crowded the node is for this pod: pods of its tenant, each counted as one cpu, and the cpu of noisy
   * pods, twice if it is noisy itself. The manifest asks the host to normalise it with `reverse`: least
   * crowded is best.
   */
  score(_pod: berth.Pod, node: berth.Node): i64 {
    this.load(node);
    return 1000 * this.tenantPods + this.noisyCPU + (this.isNoisy ? this.noisyCPU : 0);
  }
}

function over(n: i64, limit: i64): bool {
  return limit > 0 && n > limit;
}

export const plugin = new NoisyNeighbour();

// A plugin that keeps the pods of a tenant's namespace on the nodes of the tenant's pools, with shared
// pools to fall back on. It is the twin of the Go package in the folder above.

import * as berth from "@berth-scheduler/sdk";

/** Where the pods of a namespace may go: values of the node label berth.dev/pool. */
class Tenant {
  constructor(
    public namespace: berth.Const,
    public own: berth.Const[],
    /** Whether shared pools are open to it; its own are preferred. */
    public fallback: bool,
  ) {}
}

class TenantPool {
  private pool: berth.NodeLabel = berth.nodeLabel("berth.dev/pool");
  private wrong: berth.Reason = berth.reason(["node(s) didn't belong to the tenant's pool"]);

  private tenants: Tenant[] = [];
  private shared: berth.Const[] = []; // for who falls back, and for namespaces that are no tenants
  private anyNode: bool = false;      // for the latter

  // The ids of this call's pod.
  private own: berth.ID[] = [];
  private fallback: berth.ID[] = [];

  configure(config: berth.Json): void {
    config.only(["tenants", "shared", "others"]);
    this.shared = constants(config.get("shared"));
    this.anyNode = config.get("others").oneOf(["shared", "any"], 0) == 1;
    const tenants = config.get("tenants").fields();
    for (let i = 0; i < tenants.length; i++) {
      const tenant = tenants[i];
      tenant.only(["pools", "fallback"]);
      this.tenants.push(new Tenant(berth.constant(tenant.key), constants(tenant.get("pools")), tenant.get("fallback").bool(false)));
    }
  }

  /** Looks up the pools of the pod's namespace. */
  prepare(pod: berth.Pod): berth.Status {
    this.own.length = 0;
    this.fallback.length = 0;
    for (let i = 0; i < this.tenants.length; i++) {
      const tenant = this.tenants[i];
      if (!tenant.namespace.is(pod.namespace())) continue;
      ids(tenant.own, this.own);
      if (tenant.fallback) ids(this.shared, this.fallback);
      return berth.SUCCESS;
    }
    if (this.anyNode) return berth.SKIP;
    ids(this.shared, this.fallback);
    return berth.SUCCESS;
  }

  /**
   * Refuses nodes of other pools. Other pods on the node have nothing to do with it, so preemption need
   * not look.
   */
  filter(_pod: berth.Pod, node: berth.Node): berth.Status {
    const pool = node.label(this.pool);
    if (this.own.includes(pool) || this.fallback.includes(pool)) return berth.SUCCESS;
    return berth.unschedulableAndUnresolvable(this.wrong);
  }

  /** Prefers the tenant's own nodes to shared ones. */
  score(_pod: berth.Pod, node: berth.Node): i64 {
    return this.own.includes(node.label(this.pool)) ? 100 : 0;
  }
}

/** The texts of a list as constants. */
function constants(list: berth.Json): berth.Const[] {
  return list.elements().map<berth.Const>((text) => berth.constant(text.text("")));
}

/** Adds the ids of the pools that there are nodes of. */
function ids(pools: berth.Const[], to: berth.ID[]): void {
  for (let i = 0; i < pools.length; i++) {
    if (pools[i].id != berth.ABSENT) to.push(pools[i].id);
  }
}

export const plugin = new TenantPool();

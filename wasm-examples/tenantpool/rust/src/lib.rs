//! A plugin that keeps the pods of a tenant's namespace on the nodes of the tenant's pools, with
//! shared pools to fall back on. It is the twin of the Go package beside it.

use berth::json::Value;
use berth::{
    Base, Configure, Const, Error, Filter, Id, Node, NodeLabel, Plugin, Pod, Reason, Score, Status,
};

/// Why a node is refused.
pub const REASON_WRONG_POOL: &str = "node(s) didn't belong to the tenant's pool";

/// The plugin.
pub struct TenantPool {
    pool: NodeLabel,
    wrong: Reason,

    tenants: Vec<Tenant>,
    /// The pools of namespaces that are no tenants; None is any node at all.
    others: Option<Pools>,

    // Of this call's pod.
    own: Vec<Id>,
    fallback: Vec<Id>,
}

struct Tenant {
    namespace: Const,
    pools: Pools,
}

/// Where the pods of a namespace may go: values of the node label berth.dev/pool.
struct Pools {
    own: Vec<Const>,
    /// Shared pools. The tenant's own are preferred.
    fallback: Vec<Const>,
}

impl Plugin for TenantPool {
    const MANIFEST: &'static str = include_str!("../../manifest.json");

    fn new(base: &mut Base) -> TenantPool {
        TenantPool {
            pool: base.node_label("berth.dev/pool"),
            wrong: base.reason(&[REASON_WRONG_POOL]),
            tenants: Vec::new(),
            others: None,
            own: Vec::new(),
            fallback: Vec::new(),
        }
    }

    /// Looks up the pools of the pod's namespace.
    fn prepare(&mut self, base: &Base, pod: Pod<'_>) -> Status {
        let namespace = pod.namespace();
        let tenant = self
            .tenants
            .iter()
            .find(|t| t.namespace.is(base, namespace));
        let pools = match (tenant, &self.others) {
            (Some(tenant), _) => &tenant.pools,
            (None, Some(others)) => others,
            (None, None) => return Status::SKIP,
        };
        ids(base, &mut self.own, &pools.own);
        ids(base, &mut self.fallback, &pools.fallback);
        Status::SUCCESS
    }
}

/// The ids of the pools that there are nodes of.
fn ids(base: &Base, to: &mut Vec<Id>, pools: &[Const]) {
    to.clear();
    to.extend(
        pools
            .iter()
            .map(|p| p.id(base))
            .filter(|id| *id != Id::ABSENT),
    );
}

impl Configure for TenantPool {
    fn configure(&mut self, base: &mut Base, config: &[u8]) -> Result<(), Error> {
        let config = Value::parse(config)?;
        config.only(&["tenants", "shared", "others"])?;
        let shared = constants(base, config, "shared")?;
        self.tenants.clear();
        if let Some(tenants) = config.get("tenants")? {
            for (namespace, tenant) in tenants.fields()? {
                tenant.only(&["pools", "fallback"])?;
                let fallback = tenant.get("fallback")?.map_or(Ok(false), |v| v.bool())?;
                self.tenants.push(Tenant {
                    namespace: base.constant(&namespace.string()?),
                    pools: Pools {
                        own: constants(base, tenant, "pools")?,
                        fallback: if fallback { shared.clone() } else { Vec::new() },
                    },
                });
            }
        }
        let others = config.get("others")?;
        self.others = match others.map_or(Ok(0), |v| v.one_of(&["shared", "any"]))? {
            0 => Some(Pools {
                own: Vec::new(),
                fallback: shared,
            }),
            _ => None,
        };
        Ok(())
    }
}

/// The texts of a list as constants.
fn constants(base: &mut Base, of: Value<'_>, key: &str) -> Result<Vec<Const>, Error> {
    of.list(key)?
        .map(|text| Ok(base.constant(&text.string()?)))
        .collect()
}

impl Filter for TenantPool {
    /// Refuses nodes of other pools.
    fn filter(&mut self, _: &Base, _: Pod<'_>, node: Node<'_>) -> Status {
        let pool = node.label(self.pool);
        if self.own.contains(&pool) || self.fallback.contains(&pool) {
            return Status::SUCCESS;
        }
        // Other pods on the node have nothing to do with it, so preemption need not look.
        Status::unschedulable_and_unresolvable(self.wrong)
    }
}

impl Score for TenantPool {
    /// Prefers the tenant's own nodes to shared ones.
    fn score(&mut self, _: &Base, _: Pod<'_>, node: Node<'_>) -> i64 {
        if self.own.contains(&node.label(self.pool)) {
            return 100;
        }
        0
    }
}

berth::export!(TenantPool: configure, filter, score);

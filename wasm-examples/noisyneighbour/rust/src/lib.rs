//! A plugin that limits what pods do to their neighbours: how many pods of one tenant share a
//! node, and how many noisy pods, with how much cpu. Within the limits it spreads them. It is the
//! twin of the Go package beside it.

use berth::json::Value;
use berth::{
    Base, Configure, Const, Error, Filter, Id, Node, Plugin, Pod, PodLabel, Reason, Resource,
    Score, Status,
};

// The reasons why a node is refused.

/// The tenant has as many pods there as it may.
pub const REASON_TENANT: &str = "node(s) had too many pods of the tenant";
/// There are as many noisy pods as there may be.
pub const REASON_NOISY: &str = "node(s) had too many noisy pods";
/// Noisy pods have as much cpu as they may.
pub const REASON_NOISY_CPU: &str = "node(s) had too much cpu of noisy pods";

/// The plugin. A tenant is a namespace; a pod is noisy if its label berth.dev/noisy is `true`.
pub struct NoisyNeighbour {
    noisy: PodLabel,
    cpu: Resource,
    noisy_key: Const,
    yes: Const,
    tenant: Reason,
    too_noisy: Reason,
    too_much: Reason,

    limits: Limits,
    /// Namespaces that the limits do not apply to, and whose pods do not count.
    exempt: Vec<Const>,

    // Of this call's pod.
    namespace: Id,
    is_noisy: bool,
    request: i64,
}

/// A limit of 0 is none.
#[derive(Default)]
struct Limits {
    /// Of the pods of one namespace on a node.
    pods_per_tenant: i64,
    /// Of the noisy pods on a node, of all tenants.
    noisy_pods: i64,
    /// Of the sum of their cpu requests.
    noisy_milli_cpu: i64,
}

impl Plugin for NoisyNeighbour {
    const MANIFEST: &'static str = include_str!("../../manifest.json");

    fn new(base: &mut Base) -> NoisyNeighbour {
        NoisyNeighbour {
            noisy: base.pod_label("berth.dev/noisy"),
            cpu: base.resource("cpu"),
            noisy_key: base.constant("berth.dev/noisy"),
            yes: base.constant("true"),
            tenant: base.reason(&[REASON_TENANT]),
            too_noisy: base.reason(&[REASON_NOISY]),
            too_much: base.reason(&[REASON_NOISY_CPU]),
            limits: Limits::default(),
            exempt: Vec::new(),
            namespace: Id::ABSENT,
            is_noisy: false,
            request: 0,
        }
    }

    /// Looks at the pod.
    fn prepare(&mut self, base: &Base, pod: Pod<'_>) -> Status {
        self.namespace = pod.namespace();
        if self.is_exempt(base, self.namespace) {
            return Status::SKIP;
        }
        self.is_noisy = self.yes.is(base, pod.label_by_key(self.noisy_key.id(base)));
        self.request = pod.request(self.cpu);
        Status::SUCCESS
    }
}

impl Configure for NoisyNeighbour {
    fn configure(&mut self, base: &mut Base, config: &[u8]) -> Result<(), Error> {
        let config = Value::parse(config)?;
        config.only(&["podsPerTenant", "noisyPods", "noisyMilliCPU", "exempt"])?;
        let limit = |key| config.get(key)?.map_or(Ok(0), Value::i64);
        self.limits = Limits {
            pods_per_tenant: limit("podsPerTenant")?,
            noisy_pods: limit("noisyPods")?,
            noisy_milli_cpu: limit("noisyMilliCPU")?,
        };
        self.exempt.clear();
        for namespace in config.list("exempt")? {
            self.exempt.push(base.constant(&namespace.string()?));
        }
        Ok(())
    }
}

/// What the pods on a node amount to.
struct Load {
    tenant_pods: i64,
    noisy_pods: i64,
    noisy_cpu: i64,
}

impl NoisyNeighbour {
    fn is_exempt(&self, base: &Base, namespace: Id) -> bool {
        self.exempt.iter().any(|e| e.is(base, namespace))
    }

    fn load(&self, base: &Base, node: Node<'_>) -> Load {
        let mut load = Load {
            tenant_pods: 0,
            noisy_pods: 0,
            noisy_cpu: 0,
        };
        for pod in node.pods().iter() {
            let namespace = pod.namespace();
            if namespace == self.namespace {
                load.tenant_pods += 1;
            }
            if self.yes.is(base, pod.label(self.noisy)) && !self.is_exempt(base, namespace) {
                load.noisy_pods += 1;
                load.noisy_cpu += pod.request(self.cpu);
            }
        }
        load
    }
}

fn over(n: i64, limit: i64) -> bool {
    limit > 0 && n > limit
}

impl Filter for NoisyNeighbour {
    /// Refuses nodes that the pod would bring over a limit. Preemption can help: the limits are
    /// about pods that could go.
    fn filter(&mut self, base: &Base, _: Pod<'_>, node: Node<'_>) -> Status {
        let load = self.load(base, node);
        if over(load.tenant_pods + 1, self.limits.pods_per_tenant) {
            return Status::unschedulable(self.tenant);
        }
        if self.is_noisy && over(load.noisy_pods + 1, self.limits.noisy_pods) {
            return Status::unschedulable(self.too_noisy);
        }
        if self.is_noisy && over(load.noisy_cpu + self.request, self.limits.noisy_milli_cpu) {
            return Status::unschedulable(self.too_much);
        }
        Status::SUCCESS
    }
}

impl Score for NoisyNeighbour {
    /// How crowded the node is for this pod: pods of its tenant, each counted as one cpu, and the
    /// cpu of noisy pods, twice if it is noisy itself. The manifest asks the host to normalise it
    /// with `reverse`: least crowded is best.
    fn score(&mut self, base: &Base, _: Pod<'_>, node: Node<'_>) -> i64 {
        let load = self.load(base, node);
        let crowd = 1000 * load.tenant_pods + load.noisy_cpu;
        if self.is_noisy {
            return crowd + load.noisy_cpu;
        }
        crowd
    }
}

berth::export!(NoisyNeighbour: configure, filter, score);

package berthtest

import (
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Node is a node and the pods on it. What the host computes from pods, such as requested
// resources and ports in use, is computed here too.
type Node struct {
	Name          string
	Unschedulable bool
	// Allocatable and Capacity are in milli-CPU, bytes or a count.
	Allocatable, Capacity map[string]int64
	// CreatedAt is in seconds since 1970; 0 for none.
	CreatedAt           int64
	Labels, Annotations map[string]string
	Taints              []Taint
	// Conditions has True, False or Unknown by type.
	Conditions map[string]string
	// Feeds has what feeds say, by their names with units, such as node.cpu.usage:milli. Stale says which of these are stale.
	Feeds map[string]int64
	Stale []string
	// Objects has what objects of the node say, by columns as the manifest has them, such as zones.status.zones[*].free:quantity.
	Objects map[string]Values
	// RequestedSince has, by resource, the sum of the requests of pods that the samples cannot contain; 0 if it is missing.
	RequestedSince map[string]int64
	// Images has sizes in bytes by name.
	Images map[string]int64
	Pods   []Pod
	// Object is what node_object returns: Kubernetes protobuf. If it is nil, node_object returns
	// one with the metadata above.
	Object []byte
}

// Taint is a taint; the effect is NoSchedule, PreferNoSchedule or NoExecute.
type Taint struct{ Key, Value, Effect string }

// Namespace is a namespace with an object.
type Namespace struct {
	Name   string
	Labels map[string]string
	// Objects has what objects of the namespace say, as Node.Objects.
	Objects map[string]Values
}

// Pod is a pod, on a node or to be placed.
type Pod struct {
	Namespace, Name string
	// UID is metadata.uid; default `namespace/name`.
	UID                 string
	Labels, Annotations map[string]string
	Priority            int32
	// Owner is `Kind/name`.
	Owner string
	// Requests is in milli-CPU, bytes or a count. NonZero is cpu and memory, with
	// kube-scheduler's defaults for containers without requests; 0 means as in Requests.
	Requests    map[string]int64
	NonZero     [2]int64
	HostPorts   []Port
	Terminating bool
	// Object is what pod_object returns: Kubernetes protobuf. If it is nil, pod_object returns
	// one with this metadata and node name.
	Object []byte

	// Limits are by resource; one that is not there is that of a container without a limit. QOS is empty for BestEffort.
	Limits map[string]int64
	QOS    string
	// CreatedAt and AssignedAt, which only pods on nodes have, are in seconds since 1970.
	CreatedAt, AssignedAt int64
	Running, Ready        bool // of pods on nodes

	// The following fields are used only for the pod of a call.
	NodeName        string
	SchedulingGates []string
	Images          []string
	Tolerations     []Toleration
	NodeSelector    map[string]string
	// Required are the terms of required affinity, one of which must match; nil means no
	// required affinity.
	Required  [][]Requirement
	Preferred []Preferred
	// PreemptionPolicy is empty for the API's default, the others for none.
	PriorityClass, ServiceAccount, PreemptionPolicy, Group string
	Claims                                                 []string
	// Containers are those of spec, init containers first.
	Containers []Container
}

// Container is a container of a pod. Kind is app, init or sidecar. Requests and Limits are by resource, in milli-CPU, bytes or a count.
type Container struct {
	Name, Kind, Image string
	Requests, Limits  map[string]int64
}

// Port is a host port. An empty IP means 0.0.0.0, an empty protocol TCP.
type Port struct {
	IP       string
	Port     uint16
	Protocol string
}

// Toleration is a toleration. An empty operator means Equal, an empty effect all effects.
type Toleration struct {
	Key, Operator, Value, Effect string
	Seconds                      *int64
}

// Requirement is a requirement on a label. The operator is In, NotIn, Exists,
// DoesNotExist, Gt or Lt.
type Requirement struct {
	Key, Operator string
	Values        []string
}

// Preferred is a preferred term.
type Preferred struct {
	Weight       int32
	Requirements []Requirement
}

// Pending is a pod to be placed, with its data in the queue.
type Pending struct {
	Pod
	// Queued is in nanoseconds since 1970.
	Queued   int64
	Attempts uint32
}

// Nominated is a pod with a nominated node: pods that do not have a higher priority must fit
// beside it.
type Nominated struct {
	Pod
	Node string
}

// Event is a cluster event. Its objects have one kind; an added object has no old version and a
// deleted one no new version.
type Event struct {
	// Resource is a resource in a manifest's events, such as `Pod` or `storage.k8s.io/CSINode`.
	Resource         string
	Actions          abi.EventAction
	OldPod, NewPod   *Pod
	OldNode, NewNode *Node
	// Namespace and Name belong to an object of another kind.
	Namespace, Name string
}

// id is the pod's name in the output of a trial.
func (p *Pod) id() string { return p.Namespace + "/" + p.Name }

func (p *Pod) uid() string {
	if p.UID != "" {
		return p.UID
	}
	return p.id()
}

// patched returns the pod with more labels and annotations.
func (p Pod) patched(labels, annotations map[string]string) Pod {
	p.Labels, p.Annotations = merged(p.Labels, labels), merged(p.Annotations, annotations)
	return p
}

func merged(a, b map[string]string) map[string]string {
	if len(b) == 0 {
		return a
	}
	m := maps.Clone(a)
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, b)
	return m
}

// cloneNodes copies nodes deeply enough to add and remove pods.
func cloneNodes(nodes []Node) []Node {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i].Pods = slices.Clone(nodes[i].Pods)
	}
	return nodes
}

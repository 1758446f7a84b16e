package berthtest

// Node is a node and the pods on it. What the host computes from pods, such as
// requested resources and ports in use, is computed here too.
type Node struct {
	Name          string
	Unschedulable bool
	// Allocatable is in milli-CPU, bytes or a count.
	Allocatable         map[string]int64
	Labels, Annotations map[string]string
	Taints              []Taint
	// Conditions has True, False or Unknown by type.
	Conditions map[string]string
	// Images has sizes in bytes by name.
	Images map[string]int64
	Pods   []Pod
}

// Taint is a taint; the effect is NoSchedule, PreferNoSchedule or NoExecute.
type Taint struct{ Key, Value, Effect string }

// Pod is a pod, on a node or to be placed.
type Pod struct {
	Namespace, Name     string
	Labels, Annotations map[string]string
	Priority            int32
	// Owner is `Kind/name`.
	Owner string
	// Requests is in milli-CPU, bytes or a count. NonZero is cpu and memory with
	// kube-scheduler's values for containers without a request; 0 is as Requests.
	Requests    map[string]int64
	NonZero     [2]int64
	HostPorts   []Port
	Terminating bool

	// The following count for the pod to be placed only.
	Images       []string
	Tolerations  []Toleration
	NodeSelector map[string]string
	// Required is terms of which one must hold; nil is no required affinity.
	Required  [][]Requirement
	Preferred []Preferred
}

// Port is a host port. An empty IP is 0.0.0.0, an empty protocol TCP.
type Port struct {
	IP       string
	Port     uint16
	Protocol string
}

// Toleration is a toleration. An empty operator is Equal, an empty effect all.
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

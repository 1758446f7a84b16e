// Package cluster describes nodes, pods and namespaces for the conformance kit.
//
// The types are plain data with the JSON of the Kubernetes API (core/v1), with the fields that
// a plugin can read. A host that works with API objects converts them through JSON; other hosts
// read the fields.
package cluster

// Cluster has the objects of a snapshot.
type Cluster struct {
	Nodes []Node `json:"nodes,omitempty"`
	// Pods are on nodes: each has a spec.nodeName.
	Pods       []Pod       `json:"pods,omitempty"`
	Namespaces []Namespace `json:"namespaces,omitempty"`
	// Now is the time of calls in seconds since 1970. It is no object: a host shows it as its clock.
	Now int64 `json:"now,omitempty"`
}

// Metadata is an object's metadata.
type Metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	UID         string            `json:"uid,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Owners      []Owner           `json:"ownerReferences,omitempty"`
	// Creation is the time of creation in RFC 3339; may be empty.
	Creation string `json:"creationTimestamp,omitempty"`
	// Deletion is the time of the deletion request in RFC 3339; may be empty.
	Deletion string `json:"deletionTimestamp,omitempty"`
	// Managed lets a case check that a host omits it (ABI-7.7).
	Managed []Managed `json:"managedFields,omitempty"`
}

// Managed is one of metadata.managedFields.
type Managed struct {
	Manager   string `json:"manager,omitempty"`
	Operation string `json:"operation,omitempty"`
}

// Owner is one of metadata.ownerReferences.
type Owner struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
	Controller bool   `json:"controller,omitempty"`
}

// Node is a node.
type Node struct {
	Metadata Metadata   `json:"metadata"`
	Spec     NodeSpec   `json:"spec"`
	Status   NodeStatus `json:"status"`
	// Feeds has what feeds say of the node, by their names with units. It is no field of the API: a host shows it with its feeds.
	Feeds map[string]Feed `json:"feeds,omitempty"`
	// Objects has what objects of the node say, by columns as manifests have them, likewise.
	Objects map[string]Values `json:"objects,omitempty"`
}

// Values are those of a column of objects: numbers, or texts of which null is none.
type Values struct {
	Numbers []int64   `json:"numbers,omitempty"`
	Texts   []*string `json:"texts,omitempty"`
}

// Feed is what a feed says of a node.
type Feed struct {
	Value int64 `json:"value"`
	// State is 1 for fresh, and 2 for stale.
	State uint8 `json:"state"`
	// Since is when pods began to count that the sample cannot contain, in seconds since 1970: those that were assigned after it do.
	Since int64 `json:"since"`
}

// NodeSpec is the spec of a node.
type NodeSpec struct {
	Unschedulable bool    `json:"unschedulable,omitempty"`
	Taints        []Taint `json:"taints,omitempty"`
}

// NodeStatus is the status of a node.
type NodeStatus struct {
	// Allocatable and Capacity have quantities by resource.
	Allocatable map[string]Quantity `json:"allocatable,omitempty"`
	Capacity    map[string]Quantity `json:"capacity,omitempty"`
	Conditions  []Condition         `json:"conditions,omitempty"`
	Images      []Image             `json:"images,omitempty"`
}

// Taint is one of spec.taints.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// Condition is one of status.conditions.
type Condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	// Since is the time of the last transition in RFC 3339; may be empty.
	Since string `json:"lastTransitionTime,omitempty"`
}

// Image is one of status.images, with its size in bytes.
type Image struct {
	Names []string `json:"names"`
	Size  int64    `json:"sizeBytes,omitempty"`
}

// Pod is a pod.
type Pod struct {
	Metadata Metadata  `json:"metadata"`
	Spec     PodSpec   `json:"spec"`
	Status   PodStatus `json:"status"`
}

// PodStatus is the status of a pod.
type PodStatus struct {
	// QOS is Guaranteed, Burstable or BestEffort; empty for what follows from the containers' requests and limits.
	QOS string `json:"qosClass,omitempty"`
	// Phase is Pending, Running, Succeeded, Failed or Unknown; may be empty.
	Phase      string      `json:"phase,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	// NominatedNodeName is the node that a pod without one is nominated to.
	NominatedNodeName string `json:"nominatedNodeName,omitempty"`
}

// PodSpec is the spec of a pod.
type PodSpec struct {
	NodeName        string            `json:"nodeName,omitempty"`
	SchedulerName   string            `json:"schedulerName,omitempty"`
	Priority        *int32            `json:"priority,omitempty"`
	NodeSelector    map[string]string `json:"nodeSelector,omitempty"`
	Affinity        *Affinity         `json:"affinity,omitempty"`
	Tolerations     []Toleration      `json:"tolerations,omitempty"`
	SchedulingGates []Gate            `json:"schedulingGates,omitempty"`
	Containers      []Container       `json:"containers,omitempty"`
	InitContainers  []Container       `json:"initContainers,omitempty"`
	PriorityClass   string            `json:"priorityClassName,omitempty"`
	ServiceAccount  string            `json:"serviceAccountName,omitempty"`
	// PreemptionPolicy is PreemptLowerPriority or Never; empty means the former.
	PreemptionPolicy string   `json:"preemptionPolicy,omitempty"`
	Group            *Group   `json:"schedulingGroup,omitempty"`
	Volumes          []Volume `json:"volumes,omitempty"`
	// Overhead is what the pod needs besides its containers.
	Overhead map[string]Quantity `json:"overhead,omitempty"`
}

// Group is spec.schedulingGroup.
type Group struct {
	Name string `json:"podGroupName,omitempty"`
}

// Container is one of spec.containers or spec.initContainers.
type Container struct {
	Name      string    `json:"name"`
	Image     string    `json:"image,omitempty"`
	Resources Resources `json:"resources"`
	Ports     []Port    `json:"ports,omitempty"`
	// RestartPolicy is Always for a sidecar: an init container that stays.
	RestartPolicy string `json:"restartPolicy,omitempty"`
}

// Resources are the requests and limits of a container.
type Resources struct {
	Requests map[string]Quantity `json:"requests,omitempty"`
	Limits   map[string]Quantity `json:"limits,omitempty"`
}

// Volume is one of spec.volumes, with the sources that have a claim.
type Volume struct {
	Name      string     `json:"name"`
	Claim     *Claim     `json:"persistentVolumeClaim,omitempty"`
	Ephemeral *Ephemeral `json:"ephemeral,omitempty"`
}

// Claim refers to a persistent volume claim.
type Claim struct {
	Name string `json:"claimName"`
}

// Ephemeral has a claim made for the pod.
type Ephemeral struct{}

// Port is a port of a container.
type Port struct {
	HostIP        string `json:"hostIP,omitempty"`
	HostPort      int32  `json:"hostPort,omitempty"`
	ContainerPort int32  `json:"containerPort"`
	// Protocol is TCP, UDP or SCTP; empty means TCP.
	Protocol string `json:"protocol,omitempty"`
}

// Gate is one of spec.schedulingGates.
type Gate struct {
	Name string `json:"name"`
}

// Toleration is one of spec.tolerations.
type Toleration struct {
	Key string `json:"key,omitempty"`
	// Operator is Equal or Exists; empty means Equal.
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	// Effect is empty for all effects.
	Effect  string `json:"effect,omitempty"`
	Seconds *int64 `json:"tolerationSeconds,omitempty"`
}

// Affinity is spec.affinity, with node affinity only.
type Affinity struct {
	Node *NodeAffinity `json:"nodeAffinity,omitempty"`
}

// NodeAffinity has the required and the preferred terms.
type NodeAffinity struct {
	Required  *Selector       `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
	Preferred []PreferredTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// Selector has terms, at least one of which must match.
type Selector struct {
	Terms []Term `json:"nodeSelectorTerms"`
}

// PreferredTerm is a term with a weight.
type PreferredTerm struct {
	Weight int32 `json:"weight"`
	Term   Term  `json:"preference"`
}

// Term has requirements, all of which must match.
type Term struct {
	Expressions []Requirement `json:"matchExpressions,omitempty"`
	Fields      []Requirement `json:"matchFields,omitempty"`
}

// Requirement is one requirement on a label or a field.
type Requirement struct {
	Key string `json:"key"`
	// Operator is In, NotIn, Exists, DoesNotExist, Gt or Lt.
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// Namespace is a namespace.
type Namespace struct {
	Metadata Metadata `json:"metadata"`
	// Objects has what objects of the namespace say, as Node.Objects.
	Objects map[string]Values `json:"objects,omitempty"`
}

// Node returns a node by name, nil if there is none.
func (c *Cluster) Node(name string) *Node {
	for i := range c.Nodes {
		if c.Nodes[i].Metadata.Name == name {
			return &c.Nodes[i]
		}
	}
	return nil
}

// Namespace returns a namespace by name, nil if there is none.
func (c *Cluster) Namespace(name string) *Namespace {
	for i := range c.Namespaces {
		if c.Namespaces[i].Metadata.Name == name {
			return &c.Namespaces[i]
		}
	}
	return nil
}

// NominatedTo returns the pods without a node that are nominated to one.
func (c *Cluster) NominatedTo(node string) []*Pod {
	var out []*Pod
	for i := range c.Pods {
		if p := &c.Pods[i]; p.Spec.NodeName == "" && p.Status.NominatedNodeName == node {
			out = append(out, p)
		}
	}
	return out
}

// PodsOn returns the pods on a node.
func (c *Cluster) PodsOn(node string) []*Pod {
	var out []*Pod
	for i := range c.Pods {
		if c.Pods[i].Spec.NodeName == node {
			out = append(out, &c.Pods[i])
		}
	}
	return out
}

package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Quantity is a quantity of the Kubernetes API in one of the forms that the kit uses: a whole
// number, or one with the suffix m (thousandths, for cpu), Ki, Mi, Gi or Ti.
type Quantity string

// In returns the quantity in the unit of columns (ABI-4, table 1): milli-CPU for cpu, bytes or
// a count for others.
//
// # Errors
//
// The quantity has another form.
func (q Quantity) In(resource string) (int64, error) {
	text, scale := string(q), int64(1)
	if resource == "cpu" {
		scale = 1000
	}
	for shift, suffix := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if digits, ok := strings.CutSuffix(text, suffix); ok {
			text, scale = digits, scale<<(10*(shift+1))
		}
	}
	if digits, ok := strings.CutSuffix(text, "m"); ok && resource == "cpu" {
		text, scale = digits, 1
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n != 0 && n*scale/n != scale {
		return 0, fmt.Errorf("cluster: quantity %q of %s: write a whole number, or one with m (cpu), Ki, Mi, Gi or Ti", q, resource)
	}
	return n * scale, nil
}

// value returns a quantity of an object that has passed Check.
func (q Quantity) value(resource string) int64 {
	n, err := q.In(resource)
	if err != nil {
		return 0
	}
	return n
}

// The assumed requests of a container without requests, in milli-CPU and bytes (ABI-4, column
// 5).
const (
	DefaultCPU    int64 = 100
	DefaultMemory int64 = 200 << 20
)

// Allocatable returns how much of a resource a node has; may be 0.
func (n *Node) Allocatable(resource string) int64 {
	q, ok := n.Status.Allocatable[resource]
	if !ok {
		return 0
	}
	return q.value(resource)
}

// Capacity returns how much of a resource a node has before what the system reserves; may be 0.
func (n *Node) Capacity(resource string) int64 { return n.Status.Capacity[resource].value(resource) }

// CreatedAt returns when an object was created, in seconds since 1970; 0 if that is not known.
func (m *Metadata) CreatedAt() int64 { return unix(m.Creation) }

// unix returns a time in seconds since 1970; 0 for none.
func unix(text string) int64 {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0
	}
	return at.Unix()
}

// PreemptionPolicy returns spec.preemptionPolicy, or the API's default.
func (p *Pod) PreemptionPolicy() string {
	return cmp.Or(p.Spec.PreemptionPolicy, "PreemptLowerPriority")
}

// GroupName returns the name of the pod's scheduling group; empty for none.
func (p *Pod) GroupName() string {
	if p.Spec.Group == nil {
		return ""
	}
	return p.Spec.Group.Name
}

// Requests returns what a pod requests of a resource (ABI-6.5); of pods it is one.
func (p *Pod) Requests(resource string) int64 {
	if resource == "pods" {
		return 1
	}
	return p.requests(resource, 0)
}

// NonZeroRequests returns milli-CPU and bytes, with the defaults for containers without
// requests.
func (p *Pod) NonZeroRequests() (cpu, memory int64) {
	return p.requests("cpu", DefaultCPU), p.requests("memory", DefaultMemory)
}

// requests returns what a pod requests of a resource. A container without a request counts with
// a default.
func (p *Pod) requests(resource string, without int64) int64 {
	sum := p.sum(func(c *Container) int64 {
		if q, ok := c.Resources.Requests[resource]; ok {
			return q.value(resource)
		}
		return without
	})
	return sum + p.Spec.Overhead[resource].value(resource)
}

// Limit returns how much of a resource a pod may use; −1 if a container has no limit of it (ABI-6.6).
func (p *Pod) Limit(resource string) int64 {
	unlimited := false
	sum := p.sum(func(c *Container) int64 {
		q, ok := c.Resources.Limits[resource]
		unlimited = unlimited || !ok
		return q.value(resource)
	})
	switch {
	case unlimited:
		return -1
	case sum == 0:
		return 0
	}
	return sum + p.Spec.Overhead[resource].value(resource)
}

// QOS returns status.qosClass, or what it would be.
func (p *Pod) QOS() string {
	if p.Status.QOS != "" {
		return p.Status.QOS
	}
	some, guaranteed := false, true
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, resource := range []string{"cpu", "memory"} {
			request, limit := c.Resources.Requests[resource].value(resource), c.Resources.Limits[resource].value(resource)
			some = some || request > 0 || limit > 0
			_, requested := c.Resources.Requests[resource]
			guaranteed = guaranteed && limit > 0 && (!requested || request == limit)
		}
	}
	switch {
	case !some:
		return "BestEffort"
	case guaranteed:
		return "Guaranteed"
	}
	return "Burstable"
}

// AssignedAt returns since when the pod has the condition PodScheduled, in seconds since 1970; 0 if it has not.
func (p *Pod) AssignedAt() int64 {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "True" {
			return unix(c.Since)
		}
	}
	return 0
}

// State returns 1 for a pod that runs, plus 2 for one that is ready.
func (p *Pod) State() (bits uint8) {
	if p.Status.Phase == "Running" {
		bits = 1
	}
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			return bits | 2
		}
	}
	return bits
}

// Claims returns the names of the claims of a pod's volumes.
func (p *Pod) Claims() (out []string) {
	for _, v := range p.Spec.Volumes {
		switch {
		case v.Claim != nil:
			out = append(out, v.Claim.Name)
		case v.Ephemeral != nil:
			out = append(out, p.Metadata.Name+"-"+v.Name)
		}
	}
	return out
}

// The kinds of containers in the record.
const (
	AppContainer  = 1
	InitContainer = 2
	Sidecar       = 3
)

// KindOfContainer is a container with its role.
type KindOfContainer struct {
	*Container
	Kind uint32
}

// Containers returns the init containers and then the others (ABI-6.8).
func (p *Pod) Containers() (out []KindOfContainer) {
	for i := range p.Spec.InitContainers {
		c := KindOfContainer{&p.Spec.InitContainers[i], InitContainer}
		if c.RestartPolicy == "Always" {
			c.Kind = Sidecar
		}
		out = append(out, c)
	}
	for i := range p.Spec.Containers {
		out = append(out, KindOfContainer{&p.Spec.Containers[i], AppContainer})
	}
	return out
}

// Request returns what a container requests of a resource.
func (c *Container) Request(resource string) int64 {
	return c.Resources.Requests[resource].value(resource)
}

// Limit returns how much of a resource a container may use; −1 for as much as there is.
func (c *Container) Limit(resource string) int64 {
	if _, limited := c.Resources.Limits[resource]; !limited {
		return -1
	}
	return c.Resources.Limits[resource].value(resource)
}

// sum adds up an amount of the containers (ABI-6.5).
func (p *Pod) sum(of func(*Container) int64) int64 {
	var sum, sidecars, starting int64
	for i := range p.Spec.Containers {
		sum += of(&p.Spec.Containers[i])
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy == "Always" {
			sidecars += of(c)
			starting = max(starting, sidecars)
			continue
		}
		starting = max(starting, sidecars+of(c))
	}
	return max(sum+sidecars, starting)
}

// Requested returns what the pods on a node request of a resource; for pods their number.
func (c *Cluster) Requested(node, resource string) int64 {
	return c.sum(resource, func(p *Pod) bool { return p.Spec.NodeName == node })
}

// RequestedIn returns what the pods of a namespace that are on nodes request of a resource; for pods their number.
func (c *Cluster) RequestedIn(namespace, resource string) int64 {
	return c.sum(resource, func(p *Pod) bool { return p.Spec.NodeName != "" && p.Metadata.Namespace == namespace })
}

// sum returns what some pods request of a resource, or the largest int64 if that is less; for pods their number.
func (c *Cluster) sum(resource string, of func(p *Pod) bool) (sum int64) {
	for i := range c.Pods {
		if p := &c.Pods[i]; !of(p) {
			continue
		} else if resource == "pods" {
			sum++
		} else if n := p.Requests(resource); sum > math.MaxInt64-n {
			sum = math.MaxInt64
		} else {
			sum += n
		}
	}
	return sum
}

// RequestedSince returns what the pods on a node request of a resource that samples of feeds cannot contain; for pods their number.
func (c *Cluster) RequestedSince(n *Node, feeds []string, resource string) int64 {
	return Since(n, feeds, resource, c.PodsOn(n.Metadata.Name))
}

// Since is RequestedSince of pods.
func Since(n *Node, feeds []string, resource string, pods []*Pod) (sum int64) {
	since := int64(math.MaxInt64)
	for _, f := range feeds {
		since = min(since, n.Feeds[f].Since)
	}
	for _, p := range pods {
		switch {
		case p.AssignedAt() <= since:
		case resource == "pods":
			sum++
		default:
			sum += p.Requests(resource)
		}
	}
	return sum
}

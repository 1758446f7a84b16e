package devices

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Category is what the devices and claims of a cluster are like.
type Category string

// The categories.
const (
	Plain        Category = "plain"
	All          Category = "all"
	Subrequests  Category = "subrequests"
	Constraints  Category = "constraints"
	Counters     Category = "counters"
	Capacity     Category = "shared-capacity"
	Taints       Category = "taints"
	Admin        Category = "admin-access"
	SharedPools  Category = "pools-over-nodes"
	BrokenPools  Category = "broken-pools"
	Conditions   Category = "binding-conditions"
	Extended     Category = "extended-resources"
	Mixed        Category = "mixed" // several of the others at once, and what is seldom
	driver                = "gpu.example.com"
	secondDriver          = "nic.example.com" // with pools of the same names
	bytes                 = resourcev1.QualifiedName("memory")
	readyCond             = "example.com/ready"
	failedCond            = "example.com/failed"
)

// cluster draws what a test needs.
type cluster struct {
	*rand.Rand
	category Category
	mixed    map[Category]bool // the categories that a Mixed cluster draws from
	nodes    []*v1.Node
	uid      int
	serials  int64
}

// Categories returns all categories.
func Categories() []Category {
	return []Category{Plain, All, Subrequests, Constraints, Counters, Capacity, Taints, Admin, SharedPools, BrokenPools, Conditions, Extended, Mixed}
}

// has reports whether a cluster has something of a category, and is whether what is drawn now has.
func (c *cluster) has(category Category) bool { return c.category == category || c.mixed[category] }

func (c *cluster) is(category Category) bool {
	return c.category == category || c.mixed[category] && c.chance(60)
}

func (c *cluster) chance(percent int) bool { return c.IntN(100) < percent }

func pick[T any](c *cluster, from ...T) T { return from[c.IntN(len(from))] }

func (c *cluster) nextUID() types.UID {
	c.uid++
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", c.uid))
}

func (c *cluster) drawNodes() {
	n := 2 + c.IntN(4)
	if c.chance(40) {
		n = 10 + c.IntN(20)
	}
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		node := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name, "zone": pick(c, "a", "b")}},
			Status: v1.NodeStatus{Allocatable: v1.ResourceList{
				v1.ResourceCPU: *resource.NewQuantity(4, resource.DecimalSI), v1.ResourcePods: *resource.NewQuantity(10, resource.DecimalSI),
			}},
		}
		for _, name := range []v1.ResourceName{gpuResource, otherResource} {
			if c.has(Extended) && c.chance(30) {
				node.Status.Allocatable[name] = *resource.NewQuantity(int64(c.IntN(4)), resource.DecimalSI)
			}
		}
		c.nodes = append(c.nodes, node)
	}
}

func selector(expression string) resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

// classes draws the device classes. One expression fails for devices that lack an attribute.
func (c *cluster) classes() []*resourcev1.DeviceClass {
	expressions := map[string]string{
		"any": "true", "gpu": `device.driver == "` + driver + `"`, "big": `device.attributes["` + driver + `"].size >= 2`,
	}
	if c.chance(5) {
		expressions["odd"] = `device.attributes["` + driver + `"].missing == 1`
	}
	if c.has(Extended) {
		expressions["free"] = ""
	}
	if c.is(Counters) {
		expressions["nic"] = `device.driver == "` + secondDriver + `"`
	}
	var out []*resourcev1.DeviceClass
	for _, name := range []string{"any", "gpu", "big", "free", "nic", "odd"} {
		if expression, ok := expressions[name]; ok {
			class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if expression != "" {
				class.Spec.Selectors = []resourcev1.DeviceSelector{selector(expression)}
			}
			if c.has(Extended) && (name == "gpu" || name == "big" && c.chance(30)) {
				class.Spec.ExtendedResourceName = ptr.To(string(gpuResource))
				class.CreationTimestamp = metav1.Unix(int64(c.IntN(3)), 0)
			}
			if c.chance(20) {
				class.Spec.Config = []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{
					Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver},
				}}}
			}
			out = append(out, class)
		}
	}
	return out
}

func (c *cluster) class() string {
	if c.chance(3) {
		return "unknown"
	}
	if c.is(Counters) && c.chance(25) {
		return "nic"
	}
	return pick(c, "any", "any", "gpu", "big", "odd")
}

// containers draws containers with extended resources, of some only those that no node has itself.
func (c *cluster) containers(pod *v1.Pod, ofClasses bool) {
	names := []v1.ResourceName{anyResource, freeResource, anyResource, freeResource, gpuResource, gpuResource, gpuResource, otherResource, unknownResource}
	if ofClasses {
		names = names[:2]
	}
	draw := func(name string) v1.Container {
		container := v1.Container{Name: name}
		container.Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("10m")}
		for range c.IntN(3) {
			n := int64(1 + c.IntN(2))
			if c.chance(5) {
				n = pick(c, 0, int64(resourcev1.AllocationResultsMaxSize+1))
			}
			if name := pick(c, names...); c.chance(20) || name == anyResource || name == freeResource || name == gpuResource {
				container.Resources.Requests[name] = *resource.NewQuantity(n, resource.DecimalSI)
			}
		}
		return container
	}
	if c.chance(40) {
		for i := range 1 + c.IntN(3) {
			container := draw(fmt.Sprintf("init%d", i))
			if c.chance(40) {
				container.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
			}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
		}
	}
	for i := range 1 + c.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, draw(fmt.Sprintf("main%d", i)))
	}
}

// pod draws a pod that uses claims, with the names of those that exist.
func (c *cluster) pod(name string, claims []string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: c.nextUID()}, Spec: v1.PodSpec{SchedulerName: "default-scheduler"}}
	for i, claim := range claims {
		entry := v1.PodResourceClaim{Name: fmt.Sprintf("c%d", i), ResourceClaimName: &claim}
		if c.chance(20) {
			entry.ResourceClaimName, entry.ResourceClaimTemplateName = nil, ptr.To("template")
			switch c.IntN(8) {
			case 0: // not made yet
			case 1: // not needed
				pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: entry.Name})
			default:
				pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: entry.Name, ResourceClaimName: &claim})
			}
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
	}
	return pod
}

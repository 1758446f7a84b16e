package noderesources

import (
	"encoding/binary"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Devices tells which extended resources device classes provide (KEP-5004). A node that has none of
// such a resource may have it as devices: then the plugins here leave the check to DynamicResources,
// and count devices instead. It must be called on the scheduler's loop.
type Devices interface {
	// Provides reports whether a device class provides a resource.
	Provides(resource v1.ResourceName) bool
	// Counter returns a function that counts the devices of a resource which a node can use, and those
	// of them that are allocated; nil if no device class provides the resource. Until the next
	// change of devices, several workers may call it.
	Counter(resource v1.ResourceName) func(node *v1.Node) (all, allocated int64)
}

// NoDevices is a cluster without device classes.
type NoDevices struct{}

// Provides implements Devices.
func (NoDevices) Provides(v1.ResourceName) bool { return false }

// Counter implements Devices.
func (NoDevices) Counter(v1.ResourceName) func(*v1.Node) (all, allocated int64) { return nil }

// appendCounted appends what no other cycle has, if devices count for the pod's scores: what they
// depend on is not in the snapshot.
func appendCounted(b []byte, c *plugin.Cycle, resources []scored, devices Devices) []byte {
	for i := range resources {
		if r := &resources[i]; r.scalar && c.Pod.Requests.Scalar(r.name) != 0 && devices.Provides(r.name) {
			return binary.LittleEndian.AppendUint64(b, c.Seed)
		}
	}
	return b
}

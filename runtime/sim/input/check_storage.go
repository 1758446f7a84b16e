package input

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func (c *checker) storageClass(s *storagev1.StorageClass) {
	c.given("provisioner", s.Provisioner, "name one, or kubernetes.io/no-provisioner for existing volumes")
	c.oneOf("volumeBindingMode", string(*s.VolumeBindingMode), "Immediate", "WaitForFirstConsumer")
	for i, t := range s.AllowedTopologies {
		for j, r := range t.MatchLabelExpressions {
			at := fmt.Sprintf("allowedTopologies[%d].matchLabelExpressions[%d]", i, j)
			c.key(at+".key", r.Key)
			c.valueCount(at, "In", r.Values) // any values: those that no label can have match no node
		}
	}
}

func (c *checker) storageCapacity(s *storagev1.CSIStorageCapacity) {
	c.given("storageClassName", s.StorageClassName, "name the class that the capacity is for")
	c.selector("nodeTopology", s.NodeTopology)
	c.bytes("capacity", s.Capacity)
}

func (c *checker) volume(p *v1.PersistentVolume) {
	c.quantities("spec.capacity", p.Spec.Capacity)
	c.accessModes(p.Spec.AccessModes)
	c.volumeMode(p.Spec.VolumeMode)
	if a := p.Spec.NodeAffinity; a != nil && a.Required != nil {
		c.nodeSelector("spec.nodeAffinity.required", a.Required)
	}
}

func (c *checker) claim(p *v1.PersistentVolumeClaim) {
	c.quantities("spec.resources.requests", p.Spec.Resources.Requests)
	c.accessModes(p.Spec.AccessModes)
	c.volumeMode(p.Spec.VolumeMode)
	c.selector("spec.selector", p.Spec.Selector)
}

func (c *checker) csiNode(n *storagev1.CSINode) {
	seen := map[string]int{}
	for i, d := range n.Spec.Drivers {
		at := fmt.Sprintf("spec.drivers[%d]", i)
		c.given(at+".name", d.Name, "write the name of the driver")
		if j, twice := seen[d.Name]; twice {
			c.bad(at+".name", fmt.Sprintf("spec.drivers[%d] has the same name", j), "remove one of them")
		}
		seen[d.Name] = i
		for j, key := range d.TopologyKeys {
			c.key(fmt.Sprintf("%s.topologyKeys[%d]", at, j), key)
		}
		if a := d.Allocatable; a != nil && a.Count != nil && *a.Count < 0 {
			c.bad(at+".allocatable.count", fmt.Sprintf("%d is negative", *a.Count), "write 0 or more, or remove it if there is no limit")
		}
	}
}

func (c *checker) attachment(a *storagev1.VolumeAttachment) {
	c.given("spec.attacher", a.Spec.Attacher, "name the CSI driver")
	c.given("spec.nodeName", a.Spec.NodeName, "name the node")
	if a.Spec.Source.PersistentVolumeName == nil && a.Spec.Source.InlineVolumeSpec == nil {
		c.bad("spec.source", "it names no volume", "write persistentVolumeName")
	}
}

// given refuses an empty field.
func (c *checker) given(path, value, fix string) {
	if value == "" {
		c.bad(path, "it is missing", fix)
	}
}

// bytes checks an amount of storage.
func (c *checker) bytes(path string, q *resource.Quantity) {
	if q != nil && q.Sign() < 0 {
		c.bad(path, "it is negative", "write 0 or more")
	}
}

func (c *checker) accessModes(modes []v1.PersistentVolumeAccessMode) {
	for i, mode := range modes {
		c.oneOf(fmt.Sprintf("spec.accessModes[%d]", i), string(mode), "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
	}
}

func (c *checker) volumeMode(mode *v1.PersistentVolumeMode) {
	if mode != nil {
		c.oneOf("spec.volumeMode", string(*mode), "Filesystem", "Block")
	}
}

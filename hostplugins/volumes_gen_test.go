package hostplugins_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
)

// volumeGen draws clusters of few names, so that many collide. Unlike gen it draws uniformly:
// faults must be rare, or hardly any pod gets past its claims.
type volumeGen struct{ *rapid.T }

func (g volumeGen) number(label string, most int) int {
	x := rapid.Uint64().Draw(g.T, label) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	return int((x ^ x>>31) % uint64(most+1))
}

func (g volumeGen) chance(label string, percent int) bool { return g.number(label, 99) < percent }

func (g volumeGen) pick(label string, from ...string) string {
	return from[g.number(label, len(from)-1)]
}

func (g volumeGen) volumeNode(i int) *v1.Node {
	name := fmt.Sprintf("n%d", i)
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}}
	for _, key := range []string{
		v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion, "topology.ebs.csi.aws.com/zone",
	} {
		if g.chance(key, 40) {
			n.Labels[key] = g.pick("zone", "z1", "z2", "")
		}
	}
	return n
}

func (g volumeGen) size(label string) v1.ResourceList {
	if g.chance("no "+label, 4) {
		return nil
	}
	return v1.ResourceList{v1.ResourceStorage: resource.MustParse(g.pick(label, "1Gi", "2Gi", "5Gi"))}
}

func (g volumeGen) volumeTerm() v1.NodeSelectorTerm {
	var t v1.NodeSelectorTerm
	if g.chance("simple term", 60) {
		key, values := v1.LabelTopologyZone, []string{g.pick("zone", "z1", "z2")}
		if g.chance("local", 60) {
			key, values = v1.LabelHostname, []string{g.pick("host", "n0", "n1", "n2"), g.pick("host", "n0", "n1", "n3")}
		}
		t.MatchExpressions = []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}}
		return t
	}
	for range g.number("expressions", 2) {
		r := v1.NodeSelectorRequirement{
			Key:      g.pick("topology key", v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyZone, "nokey"),
			Operator: v1.NodeSelectorOperator(g.pick("operator", "In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Like")),
		}
		switch r.Operator {
		case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		case v1.NodeSelectorOpGt:
			r.Values = []string{g.pick("bound", "1", "x")}
		default:
			for range g.number("values", 3) {
				r.Values = append(r.Values, g.pick("value", "n0", "n1", "n2", "z1", "z2", "", "-"))
			}
		}
		t.MatchExpressions = append(t.MatchExpressions, r)
	}
	if g.chance("fields", 10) {
		t.MatchFields = []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n0"}}}
	}
	return t
}

func (g volumeGen) class() string {
	return g.pick("class", "local", "local", "local", "csi", "csi", "csi", "aws", "plain", "broken", "now", "none", "")
}

func (g volumeGen) storageClass(name string) *storagev1.StorageClass {
	wait, now := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, VolumeBindingMode: &wait, Provisioner: "kubernetes.io/no-provisioner"}
	switch name {
	case "csi":
		c.Provisioner = "csi.example.com"
	case "aws":
		c.Provisioner = "kubernetes.io/aws-ebs"
	case "plain":
		c.Provisioner = g.pick("provisioner", "plain.example.com", "", "kubernetes.io/azure-file")
	case "now":
		c.VolumeBindingMode = &now
	case "broken":
		if g.chance("no mode", 30) {
			c.VolumeBindingMode = nil
		}
	}
	for range g.number("topologies", 5) / 3 {
		var term v1.TopologySelectorTerm
		for range g.number("labels", 2) {
			term.MatchLabelExpressions = append(term.MatchLabelExpressions, v1.TopologySelectorLabelRequirement{
				Key: v1.LabelTopologyZone, Values: []string{g.pick("zone", "z1", "z2"), g.pick("zone", "z1", "z3")},
			})
		}
		c.AllowedTopologies = append(c.AllowedTopologies, term)
	}
	return c
}

func (g volumeGen) modes(percent int) []v1.PersistentVolumeAccessMode {
	var out []v1.PersistentVolumeAccessMode
	for _, m := range []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteMany, v1.ReadWriteOncePod} {
		if g.chance(string(m), percent) {
			out = append(out, m)
		}
	}
	return out
}

func (g volumeGen) volumeMode() *v1.PersistentVolumeMode {
	if g.chance("default mode", 80) {
		return nil
	}
	mode := v1.PersistentVolumeMode(g.pick("mode", "Block", "Filesystem"))
	return &mode
}

func (g volumeGen) attributes() *string {
	if g.chance("no attributes", 90) {
		return nil
	}
	name := g.pick("attributes", "", "gold")
	return &name
}

func (g volumeGen) when(label string, percent int) *metav1.Time {
	if !g.chance(label, percent) {
		return nil
	}
	now := metav1.Unix(1, 0)
	return &now
}

func (g volumeGen) volume(i int) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("v%d", i), Labels: map[string]string{}, Annotations: map[string]string{}, DeletionTimestamp: g.when("volume deleted", 5),
	}}
	pv.Spec.Capacity, pv.Spec.AccessModes, pv.Spec.VolumeMode = g.size("capacity"), g.modes(85), g.volumeMode()
	pv.Spec.VolumeAttributesClassName = g.attributes()
	if pv.Spec.StorageClassName = g.class(); g.chance("beta class", 5) {
		pv.Annotations[v1.BetaStorageClassAnnotation] = g.class()
	}
	for _, key := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion} {
		if g.chance("volume "+key, 15) {
			pv.Labels[key] = g.pick("volume zone", "z1", "z2", "z1__z2", " z1 __z3", "z1__", "")
		}
	}
	if g.chance("disk label", 50) {
		pv.Labels["disk"] = g.pick("disk", "ssd", "hdd")
	}
	pv.Status.Phase = v1.PersistentVolumePhase(g.pick("phase", "Available", "Available", "Available", "Bound", "Released", "Pending"))
	if g.chance("claimed", 25) {
		ref := &v1.ObjectReference{Namespace: g.pick("ref namespace", "ns", "ns", "other"), Name: fmt.Sprintf("c%d", g.number("ref", 4))}
		ref.UID = types.UID(g.pick("ref uid", "", ref.Name, ref.Name, "former"))
		pv.Spec.ClaimRef = ref
	}
	if g.chance("affinity", 50) {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{}
		if g.chance("required", 90) {
			pv.Spec.NodeAffinity.Required = &v1.NodeSelector{}
			for range 1 + g.number("terms", 4)/3 {
				pv.Spec.NodeAffinity.Required.NodeSelectorTerms = append(pv.Spec.NodeAffinity.Required.NodeSelectorTerms, g.volumeTerm())
			}
		}
	}
	switch g.pick("source", "csi", "csi", "csi", "aws", "gce", "nfs", "azureFile") {
	case "csi":
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: g.driver(), VolumeHandle: g.pick("handle", "h1", "h2", "h3", "")}
	case "aws":
		pv.Spec.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: g.pick("aws disk", "vol-1", "aws://z1/vol-2", "no id")}
	case "gce":
		pv.Spec.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: "pd1"}
	case "nfs":
		pv.Spec.NFS = &v1.NFSVolumeSource{Server: "s"}
	case "azureFile":
		pv.Spec.AzureFile = &v1.AzureFilePersistentVolumeSource{ShareName: "s"}
	}
	return pv
}

func (g volumeGen) driver() string {
	return g.pick("driver", "csi.example.com", "csi.example.com", "other.example.com", "ebs.csi.aws.com", "pd.csi.storage.gke.io")
}

// claim draws a claim; owner is the pod that it is created for, if any.
func (g volumeGen) claim(namespace, name string, volumes int, owner *v1.Pod) *v1.PersistentVolumeClaim {
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(name), Annotations: map[string]string{}, DeletionTimestamp: g.when("claim deleted", 3),
	}}
	c.Spec.AccessModes, c.Spec.Resources.Requests, c.Spec.VolumeMode = g.modes(25), g.size("request"), g.volumeMode()
	c.Spec.VolumeAttributesClassName = g.attributes()
	if name := g.class(); name != "" || g.chance("empty class", 50) {
		c.Spec.StorageClassName = &name
	}
	if g.chance("beta class", 5) {
		c.Annotations[v1.BetaStorageClassAnnotation] = g.class()
	}
	if g.chance("names volume", 40) {
		c.Spec.VolumeName = fmt.Sprintf("v%d", g.number("volume", volumes))
		if g.chance("completed", 85) {
			c.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
		}
	}
	if g.chance("selected", 15) {
		c.Annotations["volume.kubernetes.io/selected-node"] = g.pick("selected node", "n0", "n1", "n9")
	}
	if g.chance("selector", 15) {
		c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"disk": g.pick("disk", "ssd", "hdd")}}
		if g.chance("bad selector", 10) {
			c.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "disk", Operator: "Like"}}
		}
	}
	if g.chance("lost", 3) {
		c.Status.Phase = v1.ClaimLost
	}
	if owner != nil && g.chance("owned", 85) {
		yes := true
		c.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: owner.Name, UID: owner.UID, Controller: &yes}}
	}
	return c
}

// volumePod draws a pod with volumes; it is placed if node is not empty.
func (g volumeGen) volumePod(name, node string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: g.pick("namespace", "ns", "ns", "ns", "other"), Name: name, UID: types.UID(name)}}
	p.Spec.Containers = []v1.Container{{Name: "main"}}
	p.Spec.NodeName = node
	for i := range 1 + g.number("volumes", 2) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: fmt.Sprintf("e%d", i), VolumeSource: g.source()})
	}
	return p
}

func (g volumeGen) source() v1.VolumeSource {
	readOnly := g.chance("read only", 50)
	switch g.pick("kind", "claim", "claim", "claim", "claim", "claim", "claim", "ephemeral", "gce", "aws", "iscsi", "rbd", "azureDisk", "azureFile", "emptyDir", "csi") {
	case "ephemeral":
		return v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}
	case "gce":
		return v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: g.pick("pd", "pd1", "pd2"), ReadOnly: readOnly}}
	case "aws":
		return v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: g.pick("ebs", "vol-1", "vol-2", "no id"), ReadOnly: readOnly}}
	case "iscsi":
		return v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{IQN: g.pick("iqn", "i1", "i2"), ReadOnly: readOnly}}
	case "rbd":
		r := &v1.RBDVolumeSource{RBDPool: g.pick("pool", "p1", "p2"), RBDImage: g.pick("image", "i1", "i1", "i2"), ReadOnly: readOnly}
		for range g.number("monitors", 2) {
			r.CephMonitors = append(r.CephMonitors, g.pick("monitor", "m1", "m2", "m3"))
		}
		return v1.VolumeSource{RBD: r}
	case "azureDisk":
		kind := v1.AzureDataDiskKind(g.pick("azure kind", "Managed", "Managed", "Dedicated"))
		return v1.VolumeSource{AzureDisk: &v1.AzureDiskVolumeSource{DataDiskURI: "d1", Kind: &kind}}
	case "azureFile":
		return v1.VolumeSource{AzureFile: &v1.AzureFileVolumeSource{ShareName: "s"}}
	case "emptyDir":
		return v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
	case "csi":
		return v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "csi.example.com"}}
	}
	return v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: g.claimName()}}
}

// claimName is mostly that of an existing claim.
func (g volumeGen) claimName() string {
	if g.chance("bad name", 2) {
		return g.pick("bad claim", "", "missing")
	}
	return fmt.Sprintf("c%d", g.number("claim", 4))
}

func (g volumeGen) csiNode(name string) *storagev1.CSINode {
	n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	if g.chance("migrated", 70) {
		n.Annotations[v1.MigratedPluginsAnnotationKey] = g.pick("plugins", "kubernetes.io/aws-ebs", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd", "")
	}
	for _, driver := range []string{"csi.example.com", "other.example.com", "ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com"} {
		if !g.chance("driver on node", 60) {
			continue
		}
		d := storagev1.CSINodeDriver{Name: driver}
		if g.chance("allocatable", 80) {
			d.Allocatable = &storagev1.VolumeNodeResources{}
			if g.chance("limit", 90) {
				limit := int32(g.number("limit", 3))
				d.Allocatable.Count = &limit
			}
		}
		n.Spec.Drivers = append(n.Spec.Drivers, d)
	}
	return n
}

func (g volumeGen) csiDriver(name string) *storagev1.CSIDriver {
	d := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if g.chance("says capacity", 90) {
		counts := g.chance("counts capacity", 75)
		d.Spec.StorageCapacity = &counts
	}
	return d
}

func (g volumeGen) storageCapacity(i int) *storagev1.CSIStorageCapacity {
	c := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "csi", Name: fmt.Sprintf("k%d", i)}, StorageClassName: g.pick("of class", "csi", "csi", "aws")}
	amount := func(label string) *resource.Quantity {
		if !g.chance(label, 60) {
			return nil
		}
		q := resource.MustParse(g.pick("amount", "1Gi", "3Gi", "10Gi"))
		return &q
	}
	c.Capacity, c.MaximumVolumeSize = amount("capacity"), amount("largest")
	switch g.pick("reach", "host", "host", "zone", "all", "none", "expression", "bad") {
	case "host":
		c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelHostname: g.pick("host", "n0", "n1", "n2")}}
	case "zone":
		c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: "z1", v1.LabelHostname: g.pick("host", "n0", "n1")}}
	case "all":
		c.NodeTopology = &metav1.LabelSelector{}
	case "expression":
		c.NodeTopology = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: v1.LabelTopologyZone, Operator: metav1.LabelSelectorOperator(g.pick("operator", "In", "NotIn")), Values: []string{"z1", "z2"},
		}}}
	case "bad":
		c.NodeTopology = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: v1.LabelTopologyZone, Operator: metav1.LabelSelectorOperator(g.pick("bad operator", "Gt", "Like")), Values: []string{"1"},
		}}}
	}
	return c
}

func (g volumeGen) attachment(i, nodes, volumes int) *storagev1.VolumeAttachment {
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("a%d", i)}}
	a.Spec.NodeName = fmt.Sprintf("n%d", g.number("attached to", nodes-1))
	if g.chance("attacher", 90) {
		a.Spec.Attacher = g.driver()
	}
	if g.chance("attached volume", 90) {
		name := fmt.Sprintf("v%d", g.number("attached", volumes))
		a.Spec.Source.PersistentVolumeName = &name
	}
	return a
}

const volumesDrawn = 6

// volumeWorld draws a cluster with up to most nodes.
func (g volumeGen) volumeWorld(most int) *volumeWorld {
	w := &volumeWorld{}
	for i := range 1 + g.number("nodes", most-1) {
		w.nodes = append(w.nodes, g.volumeNode(i))
	}
	for _, name := range []string{"local", "csi", "aws", "plain", "broken", "now"} {
		if g.chance("class is there", 95) {
			w.put(g.storageClass(name))
		}
	}
	for i := range 3 + g.number("volumes", volumesDrawn-3) {
		w.put(g.volume(i))
	}
	for i := range 5 {
		w.put(g.claim("ns", fmt.Sprintf("c%d", i), volumesDrawn, nil))
		if g.chance("claim of another namespace", 30) {
			w.put(g.claim("other", fmt.Sprintf("c%d", i), volumesDrawn, nil))
		}
	}
	for _, n := range w.nodes {
		if g.chance("has CSINode", 85) {
			w.put(g.csiNode(n.Name))
		}
	}
	for _, name := range []string{"csi.example.com", "kubernetes.io/aws-ebs"} {
		if g.chance("has CSIDriver", 60) {
			w.put(g.csiDriver(name))
		}
	}
	for i := range g.number("capacities", 6) {
		w.put(g.storageCapacity(i))
	}
	for i := range g.number("attachments", 4) {
		w.put(g.attachment(i, len(w.nodes), volumesDrawn))
	}
	for i := range g.number("placed", 8) {
		pod := g.volumePod(fmt.Sprintf("old%d", i), fmt.Sprintf("n%d", g.number("on", len(w.nodes))))
		w.placed = append(w.placed, pod)
		g.claimsFor(w, pod)
	}
	return w
}

// claimsFor draws the claims of the pod's ephemeral volumes.
func (g volumeGen) claimsFor(w *volumeWorld, pod *v1.Pod) (out []storage.Change) {
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.Ephemeral != nil && g.chance("claim was made", 90) {
			out = append(out, w.put(g.claim(pod.Namespace, pod.Name+"-"+v.Name, volumesDrawn, pod)))
		}
	}
	return out
}

// incoming draws a pod to be scheduled.
func (g volumeGen) incoming(w *volumeWorld, name string) *v1.Pod {
	pod := g.volumePod(name, "")
	g.claimsFor(w, pod)
	return pod
}

// world draws either kind of cluster.
func (g volumeGen) world(nodes int) *volumeWorld {
	if g.chance("binding", 50) {
		return g.bindingWorld(nodes)
	}
	return g.volumeWorld(nodes)
}

// bindingWorld draws a cluster without faults: waiting claims, free volumes that match most of
// them, and a driver that reports its capacity. Pods are rejected only for lack of these.
func (g volumeGen) bindingWorld(nodes int) *volumeWorld {
	w := &volumeWorld{}
	for i := range 2 + g.number("nodes", nodes-2) {
		n := g.volumeNode(i)
		n.Labels[v1.LabelTopologyZone] = g.pick("zone", "z1", "z2")
		w.nodes = append(w.nodes, n)
	}
	counts := true
	w.put(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &counts}})
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	w.put(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait})
	w.put(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "csi"}, Provisioner: "csi.example.com", VolumeBindingMode: &wait})
	sizes := func(label string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceStorage: resource.MustParse(g.pick(label, "1Gi", "1Gi", "2Gi", "3Gi"))}
	}
	for i := range 2 + g.number("volumes", volumesDrawn-2) {
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("v%d", i)}}
		pv.Spec.StorageClassName, pv.Spec.Capacity, pv.Status.Phase = g.pick("class", "local", "local", "csi"), sizes("capacity"), v1.VolumeAvailable
		if g.chance("reached from some", 70) {
			pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{g.volumeTerm()}}}
		}
		w.put(pv)
	}
	for i := range 5 {
		class := g.pick("class", "local", "local", "csi")
		c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("c%d", i), UID: types.UID(fmt.Sprintf("c%d", i))}}
		c.Spec.StorageClassName, c.Spec.Resources.Requests = &class, sizes("request")
		w.put(c)
	}
	for i := range g.number("capacities", 4) {
		k := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "csi", Name: fmt.Sprintf("k%d", i)}, StorageClassName: "csi"}
		size := resource.MustParse(g.pick("left", "1Gi", "4Gi", "10Gi"))
		k.Capacity, k.NodeTopology = &size, &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelHostname: fmt.Sprintf("n%d", g.number("left on", len(w.nodes)-1))}}
		w.put(k)
	}
	return w
}

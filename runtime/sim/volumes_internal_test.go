package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// moody is a plugin that fails pods at Permit, after volumes were reserved for them, a number
// of times; with -1 it lets the pod wait until it leaves.
type moody struct {
	info  plugin.Info
	moods map[string]int
}

func (m *moody) Info() *plugin.Info { return &m.info }

func (m *moody) Permit(p *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	switch left := m.moods[p.Pod.Name]; {
	case left < 0:
		return time.Hour, plugin.Directives{}, plugin.NewStatus(abi.Wait)
	case left > 0:
		m.moods[p.Pod.Name]--
		return 0, plugin.Directives{}, plugin.Fail(errors.New("not now"))
	}
	return 0, plugin.Directives{}, nil
}

// volumeCase is a small cluster with few volumes.
type volumeCase struct {
	Config
	claims []*v1.PersistentVolumeClaim
	moods  map[string]int
}

func drawVolumeCase(t *rapid.T) volumeCase {
	c := volumeCase{moods: make(map[string]int)}
	number := func(label string, least, most int) int { return rapid.IntRange(least, most).Draw(t, label) }
	chance := func(label string, percent int) bool { return number(label, 0, 99) < percent }
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	c.Storage = []metav1.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "waits"}, Provisioner: "csi.example.com", VolumeBindingMode: &mode},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "now"}, Provisioner: "csi.example.com"},
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(chance("capacity counts", 60))}},
	}
	c.Storage[2].(*storagev1.StorageClass).VolumeBindingMode = new(storagev1.VolumeBindingImmediate)
	for _, zone := range []string{"a", "b"} {
		if chance("pool", 70) {
			c.Storage = append(c.Storage, pool(zone, int64(number("left", 1, 6)), -1))
		}
	}
	for i := range number("nodes", 1, 4) {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{}}}
		n.Labels[v1.LabelHostname], n.Labels["zone"] = n.Name, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourcePods: resource.MustParse("10")}
		c.Nodes = append(c.Nodes, n)
		driver := storagev1.CSINodeDriver{Name: "csi.example.com", NodeID: n.Name, TopologyKeys: []string{"zone"}}
		if chance("limited", 60) {
			driver.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(number("limit", 1, 3)))}
		}
		c.Storage = append(c.Storage, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{driver}}})
		for j := range number("disks", 0, 2) {
			disk := volumeOf(fmt.Sprintf("disk-%d-%d", i, j), "local", int64(number("size", 1, 3)), "", "")
			disk.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{n.Name}}},
			}}}}
			disk.Spec.AccessModes = append(disk.Spec.AccessModes, v1.ReadWriteOncePod)
			c.Storage = append(c.Storage, disk)
		}
	}
	for i := range number("claims", 1, 5) {
		claim := claimOf(rapid.SampledFrom([]string{"local", "local", "waits", "waits", "now"}).Draw(t, "class"), int64(number("request", 1, 3)), "")
		claim.Name = fmt.Sprint("c", i)
		claim.UID = types.UID(claim.Name)
		if chance("for one pod", 25) {
			claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
		}
		c.claims = append(c.claims, claim)
		c.Storage = append(c.Storage, claim)
	}
	at := time.Duration(0)
	for i := range number("pods", 1, 7) {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("p", i))}}
		p.Spec.SchedulerName, p.Spec.Priority = v1.DefaultSchedulerName, new(int32(number("priority", 0, 2)))
		p.Spec.TerminationGracePeriodSeconds = new(int64(number("grace", 0, 5)))
		p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m")}}}}
		for j := range number("volumes", 0, 2) {
			mounted := v1.Volume{Name: fmt.Sprint("v", j)}
			if chance("ephemeral", 20) {
				template := &v1.PersistentVolumeClaimTemplate{Spec: claimOf("waits", 1, "").Spec}
				mounted.Ephemeral = &v1.EphemeralVolumeSource{VolumeClaimTemplate: template}
				own := claimOf("waits", 1, "")
				own.Name = p.Name + "-" + mounted.Name
				c.claims = append(c.claims, own)
			} else {
				name := c.claims[number("claim", 0, len(c.claims)-1)].Name
				if strings.HasPrefix(name, "p") {
					continue
				}
				mounted.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}
			}
			p.Spec.Volumes = append(p.Spec.Volumes, mounted)
		}
		arrival := input.Arrival{Pod: p, At: at}
		if chance("leaves", 40) {
			arrival.Until = at + time.Duration(number("after", 1, 40))*time.Second
			if chance("waits at Permit", 30) {
				c.moods[p.Name] = -1
			}
		} else if chance("fails at Permit", 30) {
			c.moods[p.Name] = number("times", 1, 2)
		}
		c.Arrivals = append(c.Arrivals, arrival)
		at += time.Duration(number("pause", 0, 20)) * time.Second
	}
	return c
}

// run runs a simulation to its end.
func (c *volumeCase) run(t *rapid.T, seed uint64, workers int) (*Sim, *Result) {
	scheduler, m := assembly.Default(), &moody{info: plugin.Info{Name: "Moody"}, moods: maps.Clone(c.moods)}
	ref := scheduler.Profiles[0].Points["bind"][0]
	ref.Name = m.info.Name
	scheduler.Profiles[0].Points["permit"] = append(scheduler.Profiles[0].Points["permit"], ref)
	c.Assembly = assembly.Config{
		Scheduler: scheduler, Plugins: plugin.Registry{m.info.Name: func(any) (plugin.Plugin, error) { return m, nil }}, Seed: seed, Workers: workers,
	}
	s, err := New(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// staying returns the pods that are on nodes at the end, and those that were never placed.
func (c *volumeCase) staying(r *Result) (placed, pending []*v1.Pod) {
	for _, a := range c.Arrivals {
		if slices.ContainsFunc(r.Unschedulable, func(p Pending) bool { return p.Pod == a.Pod.Name }) {
			if a.Until == 0 {
				pending = append(pending, a.Pod)
			}
			continue
		}
		at := slices.IndexFunc(r.Placements, func(p Placement) bool { return p.Pod == a.Pod.Name })
		if at < 0 || a.Until != 0 {
			continue
		}
		p := a.Pod.DeepCopy()
		p.Spec.NodeName = r.Placements[at].Node
		placed = append(placed, p)
	}
	return placed, pending
}

// check checks the invariants at the end of a simulation.
func (c *volumeCase) check(t *rapid.T, v *volumes, placed []*v1.Pod) {
	owners := make(map[string]string)
	for _, drawn := range c.claims {
		claim := v.store.Claim("ns", drawn.Name)
		if claim == nil || claim.Spec.VolumeName == "" {
			continue
		}
		pv := v.store.Volume(claim.Spec.VolumeName)
		if other, taken := owners[pv.Name]; taken {
			t.Fatalf("claims %s and %s have volume %s", other, claim.Name, pv.Name)
		}
		owners[pv.Name] = claim.Name
		size := pv.Spec.Capacity[v1.ResourceStorage]
		if size.Cmp(claim.Spec.Resources.Requests[v1.ResourceStorage]) < 0 || pv.Spec.ClaimRef.UID != claim.UID {
			t.Fatalf("claim %s has volume %v", claim.Name, pv)
		}
	}
	users, attached := make(map[string]int), make(map[string]map[string]bool)
	for _, p := range placed {
		node := v.nodes[p.Spec.NodeName]
		used := make(map[string]bool)
		for i := range p.Spec.Volumes {
			mounted := &p.Spec.Volumes[i]
			name := p.Name + "-" + mounted.Name
			if mounted.PersistentVolumeClaim != nil {
				name = mounted.PersistentVolumeClaim.ClaimName
			}
			claim := v.store.Claim("ns", name)
			if claim.Status.Phase != v1.ClaimBound {
				t.Fatalf("pod %s is placed and claim %s is not bound", p.Name, name)
			}
			pv := v.store.Volume(claim.Spec.VolumeName)
			if err := volume.CheckNodeAffinity(pv, node.Labels); err != nil {
				t.Fatalf("pod %s on %s cannot reach volume %s: %v", p.Name, node.Name, pv.Name, err)
			}
			if used[name] = true; pv.Spec.CSI != nil {
				if attached[node.Name] == nil {
					attached[node.Name] = make(map[string]bool)
				}
				attached[node.Name][pv.Name] = true
			}
		}
		for name := range used {
			users[name]++
			if claim := v.store.Claim("ns", name); users[name] > 1 && slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod) {
				t.Fatalf("%d pods use claim %s", users[name], name)
			}
		}
	}
	for name, volumes := range attached {
		if most := v.store.CSINode(name).Spec.Drivers[0].Allocatable; most != nil && len(volumes) > int(*most.Count) {
			t.Fatalf("node %s has %d volumes attached, of at most %d", name, len(volumes), *most.Count)
		}
	}
	for _, left := range v.store.CapacitiesOf("waits") {
		if left.Capacity.Sign() < 0 {
			t.Fatalf("capacity %s is %v", left.Name, left.Capacity)
		}
	}
}

// after returns the cluster at the end of a simulation, with the pods that were never placed to
// be tried once more.
func (c *volumeCase) after(v *volumes, placed, pending []*v1.Pod) *volumeCase {
	out := &volumeCase{Config: Config{Nodes: c.Nodes}}
	for _, pod := range placed {
		out.Bound = append(out.Bound, state.NewPod(pod))
	}
	for _, o := range c.Storage {
		switch x := o.(type) {
		case *v1.PersistentVolume, *v1.PersistentVolumeClaim, *storagev1.CSIStorageCapacity:
		default:
			out.Storage = append(out.Storage, x)
		}
	}
	for _, class := range []string{"local", "waits", "now"} {
		for _, pv := range v.store.VolumesOf(class) {
			out.Storage = append(out.Storage, pv)
		}
		for _, left := range v.store.CapacitiesOf(class) {
			out.Storage = append(out.Storage, left)
		}
	}
	for _, drawn := range c.claims {
		if claim := v.store.Claim("ns", drawn.Name); claim != nil {
			out.Storage = append(out.Storage, claim)
		}
	}
	for _, p := range pending {
		out.Arrivals = append(out.Arrivals, input.Arrival{Pod: p})
	}
	return out
}

// TestRandomVolumes: in whatever order pods come and go, a volume has one claim, placed pods
// have their claims, and limits hold; the number of workers does not matter. A pod that was not
// placed would not be placed in a fresh simulation of the final cluster either, so no
// reservation was left behind and no event missed.
func TestRandomVolumes(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c := drawVolumeCase(t)
		seed := rapid.Uint64().Draw(t, "seed")
		s, r := c.run(t, seed, 1)
		placed, pending := c.staying(r)
		c.check(t, s.api.volumes, placed)
		if _, again := c.run(t, seed, 3); fmt.Sprint(again.Placements, again.Unschedulable) != fmt.Sprint(r.Placements, r.Unschedulable) {
			t.Fatalf("with more workers\n%v %v, not\n%v %v", again.Placements, again.Unschedulable, r.Placements, r.Unschedulable)
		}
		next := c.after(s.api.volumes, placed, pending)
		if _, fresh := next.run(t, seed, 1); len(fresh.Placements) > 0 {
			t.Fatalf("placed after all: %v; in the run:\n%v", fresh.Placements, r.Unschedulable)
		}
	})
}

package bridge

import (
	"errors"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/state"
)

// cluster presents the snapshot as the framework's objects. It follows the snapshot from cycle
// to cycle: a NodeInfo is rebuilt when its row has changed, and a PodInfo is built when a pod
// is added.
// It belongs to the loop's goroutine, and may be read by goroutines that a plugin starts within
// a call. As in kube-scheduler, it must not be read in a binding cycle.
type cluster struct {
	snapshot   *state.Snapshot
	generation uint64 // of the snapshot

	infos []framework.NodeInfo // by row
	rows  []*nodeInfo          // the same
	pods  []*podInfo           // by slot
	// claims maps "namespace/name" of a claim to the number of pods that use it.
	claims map[string]int
	images imageCounts

	// listMu guards the lists of nodes with such pods, which are built on demand.
	listMu                 sync.Mutex
	affinity, requiredAnti nodeList
}

// nodeList is a subset of the nodes.
type nodeList struct {
	nodes []framework.NodeInfo
	stale bool
}

// follow brings the cluster up to date with a snapshot.
func (c *cluster) follow(s *state.Snapshot) {
	if c.snapshot == s && c.generation == s.Generation {
		return
	}
	if c.snapshot != s {
		// Generations of different caches are not comparable.
		*c = cluster{snapshot: s, claims: make(map[string]int)}
		c.images.clear()
	}
	rows, _, known := s.Changes(c.generation)
	c.generation = s.Generation
	for n := len(c.rows); n > s.Len(); n-- {
		c.leave(c.rows[n-1])
		c.rows, c.infos = c.rows[:n-1], c.infos[:n-1]
	}
	for len(c.rows) < s.Len() {
		c.rows, c.infos = append(c.rows, nil), append(c.infos, nil)
		known = false
	}
	if known {
		for _, row := range rows {
			if int(row) < len(c.rows) {
				c.write(row)
			}
		}
		return
	}
	for row := range c.rows {
		c.write(uint32(row))
	}
}

// write rebuilds the NodeInfo of a row that has changed.
func (c *cluster) write(row uint32) {
	t, old := &c.snapshot.Nodes, c.rows[row]
	if old != nil && old.objectGeneration == t.ObjectGeneration[row] && old.podsGeneration == t.PodsGeneration[row] {
		return
	}
	n := c.read(row, old)
	c.leave(old)
	c.enter(n)
	c.rows[row], c.infos[row] = n, n
}

// read builds a NodeInfo from the current contents of a row.
func (c *cluster) read(row uint32, old *nodeInfo) *nodeInfo {
	return newNodeInfo(c.snapshot, row, c.pod, &c.images, old)
}

// at returns the NodeInfo of a row, which may be an overlay: overlays change within a cycle, so
// they are read each time.
func (c *cluster) at(row uint32) *nodeInfo {
	if int(row) < len(c.rows) {
		return c.rows[row]
	}
	return c.read(row, nil)
}

// pod returns the PodInfo of a slot.
func (c *cluster) pod(slot uint32) *podInfo {
	pod := c.snapshot.Pods.Pod[slot]
	for int(slot) >= len(c.pods) {
		c.pods = append(c.pods, nil)
	}
	if p := c.pods[slot]; p != nil && p.pod == pod {
		return p
	}
	c.pods[slot] = newPodInfo(pod)
	return c.pods[slot]
}

// enter and leave maintain the totals over all nodes.
func (c *cluster) enter(n *nodeInfo) { c.account(n, 1) }

func (c *cluster) leave(n *nodeInfo) {
	if n != nil {
		c.account(n, -1)
	}
}

func (c *cluster) account(n *nodeInfo, by int) {
	for _, p := range n.pods {
		for _, claim := range claimsOf(p) {
			if c.claims[claim] += by; c.claims[claim] == 0 {
				delete(c.claims, claim)
			}
		}
	}
	c.images.change(n.node, by)
	c.affinity.stale = c.affinity.stale || len(n.withAffinity) > 0
	c.requiredAnti.stale = c.requiredAnti.stale || len(n.withRequiredAnti) > 0
}

// lister implements the framework's listers over the cluster.
type lister struct {
	*cluster
	podGroups framework.PodGroupManager // or nil
}

var (
	_ framework.SharedLister      = lister{}
	_ framework.NodeInfoLister    = lister{}
	_ framework.StorageInfoLister = lister{}
)

// NodeInfos implements framework.SharedLister.
func (l lister) NodeInfos() framework.NodeInfoLister { return l }

// StorageInfos implements framework.SharedLister.
func (l lister) StorageInfos() framework.StorageInfoLister { return l }

// PodGroupStates implements framework.SharedLister.
func (l lister) PodGroupStates() framework.PodGroupStateLister {
	if l.podGroups != nil {
		return l.podGroups.PodGroupStates()
	}
	return none[framework.PodGroupState]{}
}

// PodGroups implements framework.SharedLister.
func (l lister) PodGroups() framework.PodGroupLister {
	if l.podGroups != nil {
		return l.podGroups.PodGroups()
	}
	return none[*schedulingv1beta1.PodGroup]{}
}

// CompositePodGroupStates implements framework.SharedLister.
func (l lister) CompositePodGroupStates() framework.CompositePodGroupStateLister {
	if l.podGroups != nil {
		return l.podGroups.CompositePodGroupStates()
	}
	return none[framework.CompositePodGroupState]{}
}

// CompositePodGroups implements framework.SharedLister.
func (l lister) CompositePodGroups() framework.CompositePodGroupLister {
	if l.podGroups != nil {
		return l.podGroups.CompositePodGroups()
	}
	return none[*schedulingv1alpha3.CompositePodGroup]{}
}

// none implements the listers of pod groups when there are none.
type none[T any] struct{}

// Get returns an error.
func (none[T]) Get(namespace, name string) (T, error) {
	var zero T
	return zero, fmt.Errorf("pod group %s/%s not found: Deps.PodGroups is not set", namespace, name)
}

// List implements framework.NodeInfoLister: all nodes, in the order of rows. The
// list is valid until the next cycle.
func (l lister) List() ([]framework.NodeInfo, error) { return l.infos, nil }

// HavePodsWithAffinityList implements framework.NodeInfoLister.
func (l lister) HavePodsWithAffinityList() ([]framework.NodeInfo, error) {
	return l.nodes(&l.affinity, func(n *nodeInfo) bool { return len(n.withAffinity) > 0 }), nil
}

// HavePodsWithRequiredAntiAffinityList implements framework.NodeInfoLister.
func (l lister) HavePodsWithRequiredAntiAffinityList() ([]framework.NodeInfo, error) {
	return l.nodes(&l.requiredAnti, func(n *nodeInfo) bool { return len(n.withRequiredAnti) > 0 }), nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList implements framework.NodeInfoLister: no node, as without the gate
// InterPodAffinityHostnameFastPath.
func (l lister) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]framework.NodeInfo, error) {
	return nil, nil
}

func (l lister) nodes(list *nodeList, keep func(*nodeInfo) bool) []framework.NodeInfo {
	l.listMu.Lock()
	defer l.listMu.Unlock()
	if !list.stale {
		return list.nodes
	}
	list.stale = false
	list.nodes = nil // callers may have kept the slice of the last cycle
	for _, n := range l.rows {
		if keep(n) {
			list.nodes = append(list.nodes, n)
		}
	}
	return list.nodes
}

// Get implements framework.NodeInfoLister.
func (l lister) Get(name string) (framework.NodeInfo, error) {
	if l.snapshot != nil {
		if row, ok := l.snapshot.Row(name); ok {
			return l.infos[row], nil
		}
	}
	return nil, fmt.Errorf("node %q is not in the snapshot", name)
}

// IsPVCUsedByPods implements framework.StorageInfoLister.
func (l lister) IsPVCUsedByPods(key string) bool { return l.claims[key] > 0 }

// unchanged implements framework.MutableSnapshotSharedLister, which only PodGroupPostFilter may use: Berth does not have this
// point, so nothing may change the snapshot.
type unchanged struct{ lister }

var _ framework.MutableSnapshotSharedLister = unchanged{}

// StartMutations implements framework.MutableSnapshotSharedLister.
func (unchanged) StartMutations() error { return errFixed() }

// EndMutations implements framework.MutableSnapshotSharedLister.
func (unchanged) EndMutations() error { return errFixed() }

// AddPod implements framework.MutableSnapshotSharedLister.
func (unchanged) AddPod(framework.PodInfo, string) error { return errFixed() }

// RemovePod implements framework.MutableSnapshotSharedLister.
func (unchanged) RemovePod(klog.Logger, *v1.Pod, string) error { return errFixed() }

func errFixed() error {
	return errors.New("the snapshot cannot be changed: there is no PodGroupPostFilter; a PostFilter tries hypothetical nodes instead")
}

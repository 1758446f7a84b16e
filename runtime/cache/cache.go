// Package cache stores what the scheduler knows about nodes, namespaces, and pods on nodes,
// including placements that the API server has not confirmed yet. It writes changed rows to
// snapshots. It does not depend on plugins.
package cache

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// The mistakes of callers; errors wrap one of these.
var (
	// ErrKnown: the cache already has the pod.
	ErrKnown = errors.New("the cache already has the pod")
	// ErrUnknown: the cache does not have the pod.
	ErrUnknown = errors.New("the cache does not have the pod")
	// ErrNotAssumed: the API server has confirmed the pod.
	ErrNotAssumed = errors.New("the pod is confirmed, not assumed")
	// ErrAssumed: the API server has not confirmed the pod.
	ErrAssumed = errors.New("the pod is assumed, not confirmed")
	// ErrIncomplete: the pod has no node or no UID.
	ErrIncomplete = errors.New("the pod needs a node name and a UID")
)

// Config configures a cache.
type Config struct {
	// Rank orders nodes for a tie-break by first node: the smallest rank wins. It is called once
	// for each new node. nil ranks all nodes 0.
	Rank func(nodeName string) uint64
}

// Cache is the nodes, the placed pods and the namespaces of the cluster.
//
// # Pods
//
// A pod is unknown, assumed or added. There is no timeout: an assumed pod stays assumed until
// the API server or the binding says otherwise.
//
//	           Patch
//	           ┌──┐
//	           │  ▼
//	Assume   ┌───────┐  AddPod (confirms)  ┌───────┐
//	───────► │assumed│ ──────────────────► │ added │ ◄─┐ UpdatePod
//	         └───────┘                     └───────┘ ──┘
//	          │     │                       ▲     │
//	   Forget │     │ RemovePod      AddPod │     │ RemovePod
//	          ▼     ▼                       │     ▼
//	        (unknown)                  (unknown) (unknown)
//
// A confirmation may have another node than the assumed one; then the pod moves, and [Change]
// says so. The API server's version overrides patches.
//
// # Nodes
//
// A node with an object is a row; rows are 0 … n-1 without gaps, and the last row moves into
// the gap of a removed node. Pods on a node without an object are kept on a ghost: it has no
// row, its pods have no slots, and it is removed with its last pod or becomes a row when the
// node is added. Ghosts exist because pods and nodes arrive from separate watches, in any
// order.
//
// # Namespaces
//
// A namespace keeps its row until it is removed; then the row is reused. Pods and namespaces
// may arrive in any order. What the pods of a namespace request is kept as a sum, with and without
// its object.
//
// # Generations
//
// One counter numbers each change of a node's object, of a node's pods, of a pod, and of a
// namespace. Numbers are never reused, so equal generations mean equal content, whatever row or
// slot it had in between. The sums of namespaces have a counter of their own.
//
// # Owner
//
// The scheduler loop owns the cache: one goroutine, no locks. Its objects are immutable.
// Snapshots copy from the cache, so a cycle may read its snapshot while the loop changes the
// cache.
type Cache struct {
	rank       func(string) uint64
	generation uint64

	nodes map[string]*node // rows and ghosts
	rows  []*node
	infos []*state.NodeInfo // by row, as snapshots read them

	pods    map[types.UID]placed
	assumed int // number of assumed pods
	// nominated are the pods that are nominated to nodes, if a plugin reads them.
	nominated map[string][]*state.Pod
	slots     slots

	namespaces namespaces
	account    account
	feeds      feeds

	// What has changed since the last update of snapshot.
	dirty marks // rows
	freed marks // slots

	snapshot           *state.Snapshot
	snapshotGeneration uint64
}

// placed is a pod and where it is.
type placed struct {
	pod     *state.Pod
	node    *node
	patch   state.Patch // of an assumed pod
	assumed bool
}

// New returns an empty cache.
func New(config Config) *Cache {
	c := &Cache{
		rank: config.Rank, nodes: make(map[string]*node), pods: make(map[types.UID]placed),
		nominated:  make(map[string][]*state.Pod),
		namespaces: namespaces{rows: make(map[string]uint32)},
		account:    account{sums: make(map[string]*sum)},
	}
	if c.rank == nil {
		c.rank = func(string) uint64 { return 0 }
	}
	return c
}

// next returns a new generation.
func (c *Cache) next() uint64 {
	c.generation++
	return c.generation
}

// UpdateSnapshot makes s show the cache. If s is the snapshot that was updated last, only
// changed rows are written. Any other snapshot is rewritten in a new epoch, and so is one whose
// dictionary or pods table is mostly dead.
func (c *Cache) UpdateSnapshot(s *state.Snapshot) {
	known := s == c.snapshot && s.Generation == c.snapshotGeneration && !c.renumber()
	namespaces := c.namespaces.changed(&c.account)
	if !known || s.Update(c.infos, c.dirty.list, c.freed.list, namespaces...) {
		s.Rebuild(c.infos, c.namespaces.infos...)
		for _, info := range c.infos {
			info.Shown()
		}
	}
	for _, row := range c.dirty.list {
		if int(row) < len(c.infos) {
			c.infos[row].Shown()
		}
	}
	c.dirty.reset()
	c.freed.reset()
	c.namespaces.dirty.reset()
	c.snapshot, c.snapshotGeneration = s, s.Generation
}

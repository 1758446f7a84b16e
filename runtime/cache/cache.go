// Package cache keeps what the scheduler knows of nodes, of the pods on them, the
// placements that the API server has not confirmed yet included, and of
// namespaces, and writes it into snapshots, changed rows only. It knows no plugins.
package cache

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// What is wrong with a call; errors wrap one of these.
var (
	// ErrKnown means that the cache has the pod already.
	ErrKnown = errors.New("the cache has the pod already")
	// ErrUnknown means that the cache does not have the pod.
	ErrUnknown = errors.New("the cache does not have the pod")
	// ErrNotAssumed means that the API server has confirmed the pod.
	ErrNotAssumed = errors.New("the pod is confirmed, not assumed")
	// ErrAssumed means that the API server has not confirmed the pod.
	ErrAssumed = errors.New("the pod is assumed, not confirmed")
	// ErrIncomplete means that the pod names no node or has no UID.
	ErrIncomplete = errors.New("the pod needs a node name and a UID")
)

// Config is what a cache is built from.
type Config struct {
	// Rank orders nodes for a tie-break by first node: the smallest wins. It is
	// asked once for each node that comes. Nil ranks all nodes 0.
	Rank func(nodeName string) uint64
}

// Cache is the nodes, the placed pods and the namespaces of the cluster.
//
// # Pods
//
// A pod is unknown, assumed or added; nothing else. Time changes nothing: an
// assumed pod stays assumed until the API server or the binding says otherwise.
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
// A confirmation may name another node than the assumed one; the pod moves, and
// [Change] says so. What the API server shows wins over patches.
//
// # Nodes
//
// A node with an object is a row; rows are 0 … n-1 without gaps, and the last
// row moves into the gap that a removed node leaves. Pods on a node whose object
// is not known, or not any more, are kept on a ghost: it has no row, its pods
// have no slots, and it goes with its last pod or becomes a row when the node
// comes (pods and nodes arrive by separate watches, in any order).
//
// # Namespaces
//
// A namespace has a row from its coming to its going; the row is then another
// one's. Pods and namespaces do not wait for each other.
//
// # Generations
//
// One counter gives a number to each change of a node's object, of a node's
// pods, of a pod, and of a namespace. A number is never given twice, so equal generations mean
// equal content whatever row or slot the content had in between.
//
// # Owner
//
// The scheduler loop owns the cache: one goroutine, no locks. The objects that
// go in are immutable. Snapshots copy from the cache, so a cycle may read its
// snapshot while the loop changes the cache.
type Cache struct {
	rank       func(string) uint64
	generation uint64

	nodes map[string]*node // rows and ghosts
	rows  []*node
	infos []*state.NodeInfo // of rows, as snapshots take them

	pods    map[types.UID]placed
	assumed int // pods that are assumed
	slots   slots

	namespaces namespaces

	// What has changed since snapshot was updated last.
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
		namespaces: namespaces{rows: make(map[string]uint32)},
	}
	if c.rank == nil {
		c.rank = func(string) uint64 { return 0 }
	}
	return c
}

// next returns a generation that was never given before.
func (c *Cache) next() uint64 {
	c.generation++
	return c.generation
}

// UpdateSnapshot makes s show the cache. The snapshot that was updated last gets
// the changed rows only; any other one, and one whose dictionary or pods table is
// mostly dead, is written anew in a new epoch.
func (c *Cache) UpdateSnapshot(s *state.Snapshot) {
	known := s == c.snapshot && s.Generation == c.snapshotGeneration && !c.renumber()
	if !known || s.Update(c.infos, c.dirty.list, c.freed.list, c.namespaces.changed()...) {
		s.Rebuild(c.infos, c.namespaces.infos...)
	}
	c.dirty.reset()
	c.freed.reset()
	c.namespaces.dirty.reset()
	c.snapshot, c.snapshotGeneration = s, s.Generation
}

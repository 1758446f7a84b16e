package wasm

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// publishedKey is a key that another plugin of the profile publishes.
type publishedKey struct{ plugin, key string }

// publishedKeys splits the entries of a manifest's reads.published (ABI-9.4).
func publishedKeys(names []string) []publishedKey {
	out := make([]publishedKey, len(names))
	for i, name := range names {
		out[i].plugin, out[i].key, _ = strings.Cut(name, "/")
	}
	return out
}

// PublishedGet returns what another plugin published in this pod's cycle
// (ABI-7.9).
func (e *Env) PublishedGet(index uint32) ([]byte, bool) {
	if e.cycle == nil || uint64(index) >= uint64(len(e.published)) {
		return nil, false
	}
	from := &e.published[index]
	s, ok := e.cycle.Read(from.plugin, stateKey).(*guestState)
	if !ok || !slices.Contains(s.public, from.key) {
		return nil, false
	}
	value, ok := s.values[from.key]
	return value, ok
}

// encodedObject is the object that a guest asked for last: it asks twice, first
// for the size.
type encodedObject struct {
	pod  *state.Pod
	node *state.Node
	data []byte
}

// PodObject returns a pod of the call as protobuf (ABI-7.7).
func (e *Env) PodObject(index uint32) ([]byte, bool) {
	if uint64(index) >= uint64(len(e.pods)) {
		return nil, false
	}
	pod := e.pods[index]
	if e.encoded.pod != pod {
		e.encoded = encodedObject{pod: pod, data: encodePod(pod.Object)}
	}
	return e.encoded.data, true
}

// NodeObject returns the node of a row as protobuf (ABI-7.8).
func (e *Env) NodeObject(row uint32) ([]byte, bool) {
	if e.node == nil {
		return nil, false
	}
	node := e.node(row)
	if node == nil {
		return nil, false
	}
	if e.encoded.node != node {
		e.encoded = encodedObject{node: node, data: encodeNode(node.Object)}
	}
	return e.encoded.data, true
}

func encodePod(pod *v1.Pod) []byte {
	object := *pod
	object.ManagedFields = nil
	data, err := object.Marshal()
	if err != nil {
		panic("BUG: a pod cannot be encoded: " + err.Error())
	}
	return data
}

func encodeNode(node *v1.Node) []byte {
	object := *node
	object.ManagedFields = nil
	data, err := object.Marshal()
	if err != nil {
		panic("BUG: a node cannot be encoded: " + err.Error())
	}
	return data
}

// nodeAt returns the node of a row of the instance; nil if there is none.
func (s *shard) nodeAt(row uint32) *state.Node {
	switch {
	case s.snapshot == nil:
		return nil
	case row < s.rows:
		return s.snapshot.Nodes.Node[s.host(row)]
	case row == s.layout.Tables[nodesTable].Capacity && s.overlaid != 0:
		return s.snapshot.Nodes.Node[s.overlaid]
	}
	return nil
}

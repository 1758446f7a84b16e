package wasm

import (
	"strings"

	"github.com/berth-scheduler/berth/runtime/wasm/encoding"
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

// keySet is keys that a manifest lists, as many as it may.
func keySet(keys []string) map[string]bool {
	set := make(map[string]bool, len(keys))
	for _, key := range keys {
		set[key] = true
	}
	return set
}

// PublishedGet returns what another plugin published in this pod's cycle
// (ABI-7.9).
func (e *Env) PublishedGet(index uint32) ([]byte, bool) {
	if e.cycle == nil || uint64(index) >= uint64(len(e.published)) {
		return nil, false
	}
	from := &e.published[index]
	s, ok := e.cycle.Read(from.plugin, stateKey).(*guestState)
	if !ok || !s.public[from.key] {
		return nil, false
	}
	value, ok := s.values[from.key]
	return value, ok
}

// PodObject returns a pod of the call as protobuf (ABI-7.7).
func (e *Env) PodObject(index uint32) ([]byte, bool) {
	if uint64(index) >= uint64(len(e.pods)) {
		return nil, false
	}
	return e.read(e.encodings.Pod(e.pods[index].Object)), true
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
	return e.read(e.encodings.Node(node.Object)), true
}

// read charges for an object, whether it had to be encoded or not, so that fuel is the
// same whatever others have read.
func (e *Env) read(object *encoding.Object) []byte {
	e.charge(object.Price)
	return object.Data
}

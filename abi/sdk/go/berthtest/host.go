package berthtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// host implements the host functions of a trial.
type host struct {
	tb       testing.TB
	manifest *Manifest
	last     string // last logged text
	// state is the state of the current call; nil means none. Its values are copies.
	state     state
	writable  bool
	published state // by other plugins, as `plugin/key`; nil if the call has none
	img       *image
	pods      []Pod // the call's list, or the rest of it
	draws     uint64
}

var _ berth.ObjectHost = (*host)(nil)

// draw returns a different source of numbers each time, but the same sequence in each run of a
// test.
func (h *host) draw() *rand.Rand {
	h.draws++
	return rand.New(rand.NewPCG(h.draws, 2))
}

// need fails the test if the manifest does not list a function (ABI-9.6).
func (h *host) need(function string) {
	if !slices.Contains(h.manifest.Host, function) {
		h.tb.Fatalf("the plugin calls %s, which is not in the manifest's list host (ABI-9.6)", function)
	}
}

// Log implements berth.Host.
func (h *host) Log(_ int, text string) {
	h.need("log")
	h.last = text
}

// StateGet implements berth.Host.
func (h *host) StateGet(key string) ([]byte, bool) {
	h.need("state_get")
	v, ok := h.state[key]
	return append([]byte(nil), v...), ok
}

// StateSet implements berth.Host.
func (h *host) StateSet(key string, value []byte) bool {
	h.need("state_set")
	if h.state == nil || !h.writable || len(key) > 128 || len(value) > 65536 {
		return false
	}
	if _, known := h.state[key]; !known && len(h.state) >= 64 {
		return false
	}
	size := len(value)
	for k, v := range h.state {
		if k != key {
			size += len(k) + len(v)
		}
	}
	if size+len(key) > 262144 {
		return false
	}
	h.state[key] = append([]byte(nil), value...)
	return true
}

// PublishedGet implements berth.ObjectHost.
func (h *host) PublishedGet(index uint32) ([]byte, bool) {
	h.need("published_get")
	names := h.manifest.Reads["published"]
	if int64(index) >= int64(len(names)) {
		return nil, false
	}
	if h.manifest.without == h.manifest.read("published", index) {
		h.tb.Fatalf("the plugin asks for %s", names[index])
	}
	v, ok := h.published[names[index]]
	return slices.Clone(v), ok
}

// PodObject implements berth.ObjectHost.
func (h *host) PodObject(index uint32) ([]byte, bool) {
	h.need("pod_object")
	pods := h.pods
	if own := h.img.content.pod; pods == nil && own != nil {
		pods = []Pod{*own}
	}
	if int64(index) >= int64(len(pods)) {
		return nil, false
	}
	return pods[index].object(), true
}

// NodeObject implements berth.ObjectHost.
func (h *host) NodeObject(row uint32) ([]byte, bool) {
	h.need("node_object")
	n := h.img.node(row)
	if n == nil {
		return nil, false
	}
	return n.object(), true
}

package wasm

import (
	"math"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

// TestState: the limits of ABI-10.
func TestState(t *testing.T) {
	s := &guestState{}
	long := string(make([]byte, 129))
	if s.set(long, nil) || !s.set(long[:128], nil) {
		t.Error("a key has 128 bytes at most")
	}
	if s.set("a", make([]byte, 65537)) || !s.set("a", make([]byte, 65536)) {
		t.Error("a value has 65,536 bytes at most")
	}
	for i := range 3 {
		s.set(string(rune('b'+i)), make([]byte, 65536))
	}
	if s.size > 262144 {
		t.Errorf("the state has %d bytes", s.size)
	}
	if !s.set("a", []byte("short")) || s.set("e", make([]byte, 65536)) && s.size > 262144 {
		t.Error("a value may be replaced, and its room is free again")
	}
	many := &guestState{}
	for i := range 64 {
		if !many.set(string(rune('A'+i)), []byte{1}) {
			t.Fatalf("key %d is refused", i)
		}
	}
	if many.set("one more", nil) || !many.set("A", []byte{2}) {
		t.Error("64 keys at most, and known ones may be set again")
	}
	clone := many.Clone().(*guestState)
	clone.set("A", []byte{3})
	if many.values["A"][0] != 2 || clone.values["A"][0] != 3 {
		t.Error("a clone shares its values with the original")
	}
}

// TestEventActions: actions that the ABI does not have are another update, though their bits may have a meaning there.
func TestEventActions(t *testing.T) {
	for action, want := range map[state.Action]abi.EventAction{
		state.UpdatePodGeneratedResourceClaim:          abi.ActionUpdatePodGeneratedResourceClaim,
		state.UpdateOther:                              abi.ActionUpdateOther,
		state.UpdateNodePreemptionPolicy:               abi.ActionUpdateOther,
		state.UpdatePodScaleUp:                         abi.ActionUpdateOther,
		state.UpdatePodReady:                           abi.ActionUpdatePodReady,
		state.UpdateOther | state.UpdatePodReady:       abi.ActionUpdateOther | abi.ActionUpdatePodReady,
		state.UpdateOther | state.UpdateNamespaceLabel: abi.ActionUpdateOther | abi.ActionUpdateNamespaceLabel,
		state.UpdatePodLabel | state.UpdatePodScaleUp:  abi.ActionUpdatePodLabel | abi.ActionUpdateOther,
	} {
		if got := eventActions(action); got != want {
			t.Errorf("%b: got %b, want %b", action, got, want)
		}
	}
}

// TestTooLarge: a region that is too large for 32-bit memory is a clear fault.
func TestTooLarge(t *testing.T) {
	c := &core{}
	c.projection = mirror.NewProjection(&wire.Manifest{Reads: wire.ManifestReads{Node: []string{"labels", "images"}}}, nil)
	src := c.newSource()
	src.RoomForBatch(1, math.MaxUint32, false)
	err := (&shard{core: c, src: &src, Mirror: src.Mirror(0)}).make(t.Context(), 0)
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.NoMemory || !strings.Contains(f.Detail, "declare fewer columns; the largest are node: ") {
		t.Errorf("got %v", err)
	}
}

// TestReadsPlaced: the node with its pods is looked up for a plugin that reads one thing of it after the choice.
func TestReadsPlaced(t *testing.T) {
	for _, c := range []struct {
		points, reads string
		want          bool
	}{
		{`{"reserve": {}}`, `{"node": ["requested"], "resources": ["cpu"]}`, true},
		{`{"reserve": {}}`, `{"nodeLabels": ["a"]}`, false},
		{`{"filter": {}}`, `{"node": ["requested"], "resources": ["cpu"]}`, false},
	} {
		man, err := wire.DecodeManifest([]byte(`{"name": "x", "version": "1.0.0", "abi": "1.0", "points": ` + c.points + `, "reads": ` + c.reads + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := readsPlaced(man); got != c.want {
			t.Errorf("%s with %s: %t, want %t", c.points, c.reads, got, c.want)
		}
	}
}

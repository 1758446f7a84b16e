package wasm_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// patchedBytes is the text of each patch, and patchedSize what counts for it.
const (
	patchedBytes = 64_000
	patchedSize  = patchedBytes + len("example.com/much") + 128
)

// patching makes a plugin that sets a long annotation at reserve, preBind and bind.
func patching(t *testing.T, m int64) *wasm.Plugin {
	return patchingOf(t, m, patchedBytes, patchedBytes)
}

// patchingOf is one whose text is shorter at reserve, and at other points.
func patchingOf(t *testing.T, m int64, reserve, others uint32) *wasm.Plugin {
	point := &wire.ManifestPoint{}
	manifest := &wire.Manifest{Points: wire.ManifestPoints{Reserve: point, PreBind: point, Bind: point}, Directives: all()}
	p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", VerifyEvery: 1, Grants: all(), Limits: sandbox.Limits{TotalMemory: m, OwnMemory: uint32(m / 8)}},
		wasm.Deps{Factory: sandbox.NewNativeFactory(func(env *sandbox.Env) sandbox.NativePlugin {
			const text, end = 4096, 4096 + patchedBytes
			return &tiny{env: env, exports: []string{abi.ExportReserve, abi.ExportPreBind, abi.ExportBind}, top: end, memory: append(make([]byte, text), bytes.Repeat([]byte("x"), patchedBytes)...),
				point: func(g *tiny, export string, call, _, _ uint32) int32 {
					g.ask(call, abi.Annotate, "example.com/much", "")
					g.put32(scratch+16, text)
					g.put32(scratch+20, others)
					if export == abi.ExportReserve {
						g.put32(scratch+20, reserve)
					}
					if export == abi.ExportBind {
						g.ask(call, abi.BindPod)
					}
					return 0
				}}
		}), Manifest: manifest, Binder: &binder{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(t.Context()) })
	return p
}

// noRoom fails the test unless a status is the fault of patches that have no room.
func noRoom(t *testing.T, status *plugin.Status) {
	t.Helper()
	if f, ok := fault.As(status.AsError()); !ok || f.Kind != fault.NoMemory || !strings.Contains(f.Detail, "patches of pods that wait") {
		t.Fatalf("%v", status.Message())
	}
}

// TestPatchesOfWaitingPods: 5,000 pods wait, and reserve and preBind return 64,000 bytes for each. What patches hold is limited in
// total. A pod for which there is no room fails, and others are tried again when a pod was confirmed or given up.
func TestPatchesOfWaitingPods(t *testing.T) {
	const total = 64 << 20
	p, w := patching(t, total), newWorld(3)
	before := p.Status().Memory
	var waiting []*plugin.Placement
	failed := 0
	for i := range 5000 {
		pl := w.placement(incoming("a", fmt.Sprint("p", i), 0), "n1")
		d, status := p.Reserve(pl)
		if !status.Success() {
			noRoom(t, status)
			if failed++; !d.Patch.Empty() || pl.Faults != 1 {
				t.Fatal("a pod that failed has a patch, or no fault")
			}
			continue
		}
		waiting = append(waiting, pl)
	}
	const most = total / 8 / 4 // a quarter of an instance
	if want := most / patchedSize; len(waiting) != want || failed != 5000-want || p.FaultsAt(abi.Reserve) != int64(failed) {
		t.Fatalf("%d pods wait, want %d; %d failed, with %d faults", len(waiting), want, failed, p.FaultsAt(abi.Reserve))
	}
	if held := p.Status().Memory - before; held != int64(len(waiting)*patchedSize) {
		t.Errorf("%d bytes are held for %d pods", held, len(waiting))
	}
	bound := 0
	for _, pl := range waiting {
		if _, status := p.PreBind(pl); status.Success() {
			bound++
		} else {
			noRoom(t, status)
		}
	}
	if want := most / 4 / patchedSize; bound != want {
		t.Errorf("preBind patched %d pods, want %d", bound, want)
	}
	if _, status := p.Bind(waiting[len(waiting)-1]); status.Success() {
		t.Error("bind patched a pod for which there is no room")
	} else {
		noRoom(t, status)
	}
	for _, ended := range waiting[0].Ended {
		ended()
	}
	if _, status := p.Bind(waiting[0]); !status.Success() {
		t.Errorf("a binding cycle has ended, and the next has no room: %v", status.Message())
	}
	p.Unassumed(waiting[0].Pod.UID)
	p.Unassumed(waiting[0].Pod.UID)
	if _, status := p.Reserve(w.placement(incoming("a", "later", 0), "n1")); !status.Success() {
		t.Errorf("a pod was confirmed, and the next has no room: %v", status.Message())
	}
	if _, status := p.Reserve(w.placement(incoming("a", "last", 0), "n1")); status.Success() {
		t.Error("a pod gave its room back twice")
	}
}

// TestCarriedPatches: a plugin that is restored from what another one carries counts the same, and gives it back.
func TestCarriedPatches(t *testing.T) {
	first, second, w := patching(t, 64<<20), patching(t, 64<<20), newWorld(3)
	pod := incoming("a", "p", 0)
	if first.CarriedFor(nil) != nil {
		t.Error("something is carried for no pods")
	}
	if _, status := first.Reserve(w.placement(pod, "n1")); !status.Success() {
		t.Fatal(status.Message())
	}
	before := second.Status().Memory
	if err := second.ResumeFor(nil, first.CarriedFor(nil)); err != nil || string(second.CarriedFor(nil)) != string(first.CarriedFor(nil)) {
		t.Fatalf("%s became %s: %v", first.CarriedFor(nil), second.CarriedFor(nil), err)
	}
	if held := second.Status().Memory - before; held != int64(patchedSize) {
		t.Errorf("%d bytes are held", held)
	}
	if second.Unassumed(pod.UID); second.Status().Memory != before || second.CarriedFor(nil) != nil {
		t.Errorf("%d bytes are held for nobody", second.Status().Memory-before)
	}
}

package wasm

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// patchEntry is what an annotation or label takes in the maps of a pod that waits, besides its text, in bytes.
const patchEntry = 128

// patchSize returns how many bytes the host keeps for a patch.
func patchSize(p *state.Patch) (size int) {
	for _, entries := range []map[string]string{p.Annotations, p.Labels} {
		for key, value := range entries {
			size += len(key) + len(value) + patchEntry
		}
	}
	return size
}

// keepPatch counts a patch of reserve until Unassumed.
func (p *Plugin) keepPatch(pl *plugin.Placement, patch state.Patch) *fault.Fault {
	size := patchSize(&patch)
	if size == 0 {
		return nil
	}
	if most, ok := p.budget.KeepState(size); !ok {
		pl.Faults++
		return p.keepsTooMuch(abi.Reserve, most)
	}
	if p.patched == nil {
		p.patched = make(map[types.UID]int)
	}
	p.patched[pl.Pod.UID] += size
	return nil
}

// addPatch counts a patch of a binding cycle until its end.
func (p *Plugin) addPatch(pl *plugin.Placement, point abi.Point, patch state.Patch) *fault.Fault {
	size := patchSize(&patch)
	if size == 0 {
		return nil
	}
	if most, ok := p.budget.AddState(size); !ok {
		pl.Faults++
		return p.keepsTooMuch(point, most)
	}
	pl.Ended = append(pl.Ended, func() { p.budget.DropState(0, size) })
	return nil
}

// Unassumed implements plugin.Patcher.
func (p *Plugin) Unassumed(pod types.UID) {
	if size := p.patched[pod]; size > 0 {
		p.budget.DropState(size, 0)
		delete(p.patched, pod)
	}
}

// resumePatches counts the patches of a checkpoint.
func (p *Plugin) resumePatches(patched map[types.UID]int) {
	p.patched = maps.Clone(patched)
	for _, size := range patched {
		p.budget.KeepState(size) // there was room
	}
}

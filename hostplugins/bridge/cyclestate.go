package bridge

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/state"
)

// stateKey is the key of the hosted plugins' shared state in Berth's cycle state.
const stateKey = "CycleState"

// cycleState implements framework.CycleState. The plugins of a bridge share one per cycle, so
// that they can read what others wrote, as in kube-scheduler.
type cycleState struct {
	data *stateData
	// cloneAs (optional) is the state whose data the next clone shares. It is set only while a
	// what-if is started.
	cloneAs *cycleState
	// hypothetical holds the hypothetical nodes of this state, by node name.
	hypothetical map[string]*hypothetical
}

// stateData is the contents of a state. Several goroutines may read and write it, since filters
// run in parallel.
type stateData struct {
	mu                           sync.RWMutex
	values                       map[framework.StateKey]framework.StateData
	skipFilter, skipScore        sets.Set[string]
	skipPreBind, parallelPreBind sets.Set[string]
}

var _ framework.CycleState = (*cycleState)(nil)

func newCycleState() *cycleState {
	return &cycleState{data: &stateData{values: make(map[framework.StateKey]framework.StateData)}}
}

// stateValue stores a cycleState in Berth's cycle state.
type stateValue struct{ *cycleState }

// Clone implements state.Value.
func (v stateValue) Clone() state.Value {
	if v.cloneAs != nil {
		return stateValue{&cycleState{data: v.cloneAs.data}}
	}
	return stateValue{v.clone()}
}

// stateOf returns the state of a cycle, of a what-if, or of a placement.
func (b *Bridge) stateOf(s *state.CycleState) *cycleState {
	if v, ok := s.Read(b.config.Profile, stateKey).(stateValue); ok {
		return v.cycleState
	}
	fresh := newCycleState()
	s.Write(b.config.Profile, stateKey, stateValue{fresh})
	return fresh
}

func (s *cycleState) clone() *cycleState {
	d := s.data
	d.mu.RLock()
	defer d.mu.RUnlock()
	c := newCycleState()
	for key, value := range d.values {
		c.data.values[key] = value.Clone()
	}
	c.data.skipFilter, c.data.skipScore = d.skipFilter, d.skipScore
	c.data.skipPreBind, c.data.parallelPreBind = d.skipPreBind, d.parallelPreBind
	return c
}

// Clone implements framework.CycleState.
func (s *cycleState) Clone() framework.CycleState {
	if s == nil {
		return nil
	}
	return s.clone()
}

// Read implements framework.CycleState.
func (s *cycleState) Read(key framework.StateKey) (framework.StateData, error) {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	if value, ok := s.data.values[key]; ok {
		return value, nil
	}
	return nil, framework.ErrNotFound
}

// Write implements framework.CycleState.
func (s *cycleState) Write(key framework.StateKey, value framework.StateData) {
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	s.data.values[key] = value
}

// Delete implements framework.CycleState.
func (s *cycleState) Delete(key framework.StateKey) {
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	delete(s.data.values, key)
}

// skipped records that a plugin answered Skip.
func (s *cycleState) skipped(set *sets.Set[string], name string) {
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	*set = set.Union(sets.New(name)) // clones share the old set
}

func get[T any](s *cycleState, field func(*stateData) *T) T {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	return *field(s.data)
}

func put[T any](s *cycleState, field func(*stateData) *T, value T) {
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	*field(s.data) = value
}

type nameSet = sets.Set[string]

func skipFilter(d *stateData) *nameSet      { return &d.skipFilter }
func skipScore(d *stateData) *nameSet       { return &d.skipScore }
func skipPreBind(d *stateData) *nameSet     { return &d.skipPreBind }
func parallelPreBind(d *stateData) *nameSet { return &d.parallelPreBind }

// GetSkipFilterPlugins implements framework.CycleState. It names hosted plugins
// only.
func (s *cycleState) GetSkipFilterPlugins() sets.Set[string] { return get(s, skipFilter) }

// SetSkipFilterPlugins implements framework.CycleState.
func (s *cycleState) SetSkipFilterPlugins(names sets.Set[string]) { put(s, skipFilter, names) }

// GetSkipScorePlugins implements framework.CycleState.
func (s *cycleState) GetSkipScorePlugins() sets.Set[string] { return get(s, skipScore) }

// SetSkipScorePlugins implements framework.CycleState.
func (s *cycleState) SetSkipScorePlugins(names sets.Set[string]) { put(s, skipScore, names) }

// GetSkipPreBindPlugins implements framework.CycleState.
func (s *cycleState) GetSkipPreBindPlugins() sets.Set[string] { return get(s, skipPreBind) }

// SetSkipPreBindPlugins implements framework.CycleState.
func (s *cycleState) SetSkipPreBindPlugins(names sets.Set[string]) { put(s, skipPreBind, names) }

// GetParallelPreBindPlugins implements framework.CycleState.
func (s *cycleState) GetParallelPreBindPlugins() sets.Set[string] { return get(s, parallelPreBind) }

// SetParallelPreBindPlugins implements framework.CycleState.
func (s *cycleState) SetParallelPreBindPlugins(names sets.Set[string]) {
	put(s, parallelPreBind, names)
}

// ShouldRecordPluginMetrics implements framework.CycleState: Berth measures
// every call itself.
func (s *cycleState) ShouldRecordPluginMetrics() bool { return false }

// ShouldSkipAllPostFilterPlugins implements framework.CycleState.
func (s *cycleState) ShouldSkipAllPostFilterPlugins() bool { return false }

// IsPodGroupSchedulingCycle implements framework.CycleState: Berth has no cycles
// of pod groups (KEP-4671).
func (s *cycleState) IsPodGroupSchedulingCycle() bool { return false }

// GetPodGroupSchedulingCycle implements framework.CycleState.
func (s *cycleState) GetPodGroupSchedulingCycle() framework.PodGroupCycleState { return nil }

// GetPlacementCycleState implements framework.CycleState.
func (s *cycleState) GetPlacementCycleState() framework.PlacementCycleState { return nil }

package assembly

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// HoldName is the name of the plugin that keeps back the pods of attached plugins that do not run, and the reason that these pods have.
const HoldName = "TenantPluginNotReady"

// held is an attached plugin that does not run, and whose pods wait.
type held struct {
	Name, Why  string
	Namespaces []string // empty means all
	Share      state.Share
}

// holdPods keeps back the pods of attached plugins that do not run: new ones at PreEnqueue, and
// those that are in the queue already at PreFilter. A profile has it only while such plugins
// exist. When they change it is replaced, which has its pods tried again.
type holdPods struct {
	info plugin.Info
	held []held
	// of has the positions of those of a namespace, and those of all namespaces under the empty name,
	// ascending. There may be thousands; of those for all pods it has the first.
	of map[string][]int
}

var (
	_ plugin.PreEnqueue = (*holdPods)(nil)
	_ plugin.PreFilter  = (*holdPods)(nil)
)

// everyone stands for all namespaces; none has this name.
const everyone = ""

// newHold is a plugin.Factory.
func newHold(args any) (plugin.Plugin, error) {
	var all []held
	if raw, ok := args.([]byte); !ok || json.Unmarshal(raw, &all) != nil {
		return nil, fmt.Errorf("BUG: args of %s are %v", HoldName, args)
	}
	return holdFor(all), nil
}

func holdFor(all []held) *holdPods {
	h := &holdPods{
		held: all, of: make(map[string][]int),
		info: plugin.Info{Name: HoldName, Holds: true, Reads: plugin.Whole(abi.IncomingNamespace)},
	}
	for i := range all {
		names := all[i].Namespaces
		if len(names) == 0 {
			names = []string{everyone}
		}
		for _, name := range names {
			if at := h.of[name]; len(at) == 0 || !all[at[len(at)-1]].Share.All() {
				h.of[name] = append(at, i)
			}
		}
	}
	if len(h.of[everyone]) == 0 {
		h.info.Namespaces = slices.Sorted(maps.Keys(h.of))
	}
	return h
}

// Info describes the plugin.
func (h *holdPods) Info() *plugin.Info { return &h.info }

// PreEnqueue gates pods that wait for a plugin.
func (h *holdPods) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	for i, pod := range pods {
		out[i] = h.status(pod)
	}
}

// PreFilter rejects pods that were in the queue before their plugin stopped running.
func (h *holdPods) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	return nil, h.status(c.Pod)
}

// status names the first plugin that the pod waits for; nil if there is none.
func (h *holdPods) status(pod *state.Pod) *plugin.Status {
	first := -1
	for _, name := range []string{pod.Namespace, everyone} {
		for _, at := range h.of[name] {
			if h.held[at].Share.Has(pod) {
				if first < 0 || at < first {
					first = at
				}
				break
			}
		}
	}
	if first < 0 {
		return nil
	}
	x := &h.held[first]
	if x.Name == folderName {
		return plugin.NewStatus(abi.UnschedulableAndUnresolvable, fmt.Sprintf("%s: the modules of %s do not run: %s", HoldName, x.Name, x.Why))
	}
	return plugin.NewStatus(abi.UnschedulableAndUnresolvable, fmt.Sprintf("%s: the plugin %s does not run: %s", HoldName, x.Name, x.Why))
}

package plugin

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Keyed reports whether answers of the plugin can be kept (package equivalence): it has a point of
// scope node, and pods can be equivalent to it. why says why not: what the plugin reads that is
// each pod's own.
func (i *Info) Keyed() (why string, ok bool) {
	if len(i.NodeScoped) == 0 {
		return "its answers for a node depend on other nodes", false
	}
	for j := range i.Reads {
		e := fields.Of(i.Reads[j].Column)
		if e == nil {
			panic(fmt.Sprintf("BUG: plugin: %s reads column %d, which package fields does not have", i.Name, i.Reads[j].Column))
		}
		if e.ID == abi.PodVolumes && slices.Equal(i.Reads[j].Args, []string{state.VolumeImage}) {
			continue // which are as many pods' as images are
		}
		if e.NotKept != "" {
			return e.NotKept, false
		}
	}
	return "", true
}

package plugin

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Keyed reports whether answers of the plugin can be kept (package reuse): it has a point of
// scope node, and pods can be alike to it. why says why not: what the plugin reads that is
// each pod's own.
func (i *Info) Keyed() (why string, ok bool) {
	if len(i.NodeScoped) == 0 {
		return "its answers for a node depend on other nodes", false
	}
	for j := range i.Reads {
		switch i.Reads[j].Column {
		case abi.PodName:
			return "it reads the pod's name", false
		case abi.IncomingUID:
			return "it reads the pod's UID", false
		case abi.PodQueueTime:
			return "it reads when the pod was queued", false
		case abi.PodVolumes:
			if !slices.Equal(i.Reads[j].Args, []string{state.VolumeImage}) {
				return "it reads the pod's volumes", false
			}
		case abi.PodWhole, abi.PodSpreadConstraint, abi.PodAffinity:
			return "it reads the whole pod", false
		}
	}
	return "", true
}

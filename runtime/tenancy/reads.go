package tenancy

import (
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// platformPoints are the points of a profile.
func platformPoints() []string {
	return append(tenantPoints(), "queueSort", "postFilter", "bind")
}

// tenantPoints can be granted. The queue's order, preemption and binding are not among them:
// they are about other pods, or about whether a pod is bound at all.
func tenantPoints() []string {
	return []string{"preEnqueue", "preFilter", "filter", "preScore", "score", "reserve", "permit", "preBind", "postBind"}
}

// defaultPoints narrow the nodes of a pod and rank them.
func defaultPoints() []string { return []string{"preFilter", "filter", "preScore", "score"} }

// points are those of a profile at which a module runs.
func points(m *wire.Manifest) (out []string) {
	for _, point := range m.Declared() {
		switch point { // these belong to other points
		case abi.Hint, abi.AddPod, abi.RemovePod, abi.Normalize, abi.Unreserve:
		default:
			out = append(out, wire.PointName(point))
		}
	}
	return out
}

func allReads() []v1alpha1.Read {
	return []v1alpha1.Read{
		v1alpha1.ReadPorts, v1alpha1.ReadImages, v1alpha1.ReadGenerations, v1alpha1.ReadNodeObjects,
		v1alpha1.ReadVolumeEvents, v1alpha1.ReadNamespaces, v1alpha1.ReadPublished, v1alpha1.ReadSeed,
	}
}

// telling is something that a module reads and that tells it of other tenants.
type telling struct {
	read v1alpha1.Read
	by   string // as the manifest has it
}

// tells returns what a module reads that tells it of other tenants, but for feeds and objects, which a grant names one by one.
func tells(m *wire.Manifest) (out []telling) {
	add := func(read v1alpha1.Read, by string) { out = append(out, telling{read, by}) }
	for _, e := range fields.All() {
		read := v1alpha1.Read(e.Grant)
		known := slices.ContainsFunc(out, func(t telling) bool { return t.read == read })
		if read != "" && e.Grant != fields.GrantFeeds && e.Grant != fields.GrantObjects && !known && m.Reads.Declares(&e) {
			add(read, e.Manifest())
		}
	}
	if len(m.Reads.Published) > 0 {
		add(v1alpha1.ReadPublished, "published: "+m.Reads.Published[0])
	}
	for _, f := range fields.Functions() {
		if f.Grant != "" && slices.Contains(m.Host, f.Name) {
			add(v1alpha1.Read(f.Grant), f.Name)
		}
	}
	if m.Points.Hint != nil {
		if resource := ofVolumes(m.Events); resource != "" {
			add(v1alpha1.ReadVolumeEvents, "events of "+resource)
		}
	}
	slices.SortFunc(out, func(a, b telling) int { return slices.Index(allReads(), a.read) - slices.Index(allReads(), b.read) })
	return out
}

// feeds returns the names of the feeds that a module reads.
func feeds(m *wire.Manifest) (out []string) {
	for _, feed := range m.Reads.Feeds {
		name, _, _ := strings.Cut(feed, ":")
		out = append(out, name)
	}
	return out
}

// ofVolumes returns an event resource that tells of other tenants' volumes and devices; empty if
// there is none. No events means all.
func ofVolumes(events []wire.ManifestEvent) string {
	if len(events) == 0 {
		return "all resources"
	}
	all := fields.Events()
	for _, e := range events {
		tells := func(known fields.Event) bool { return known.Resource == e.Resource && known.Grant != "" }
		switch {
		case !slices.ContainsFunc(all, tells):
		case e.Resource == "*":
			return "all resources"
		default:
			return e.Resource
		}
	}
	return ""
}

// Package zonelimit is a plugin that limits how many pods of one app are in a zone. PreFilter counts
// them once, and the answer for a node depends on other nodes: the counts are the plugin's state,
// which AddPod and RemovePod keep right when the host asks about pods that are not there.
package zonelimit

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// ReasonFull is the reason for rejecting a node.
const ReasonFull = "node(s) were in a zone with enough pods of the app"

// ZoneLimit is the plugin. Pods of one app are those of a namespace with the same label app.
type ZoneLimit struct {
	berth.Base
	zone   berth.NodeLabel
	app    berth.PodLabel
	appKey berth.Const
	full   berth.Reason
	noRoom berth.Reason

	most  int64
	zones zones // of this call
}

var (
	_ berth.Configurer  = (*ZoneLimit)(nil)
	_ berth.Preparer    = (*ZoneLimit)(nil)
	_ berth.PreFilterer = (*ZoneLimit)(nil)
	_ berth.PodAdder    = (*ZoneLimit)(nil)
	_ berth.Filterer    = (*ZoneLimit)(nil)
)

// New returns the plugin.
func New() *ZoneLimit {
	b := berth.Load(Manifest)
	return &ZoneLimit{
		Base:   b,
		zone:   b.NodeLabel("topology.kubernetes.io/zone"),
		app:    b.PodLabel("app"),
		appKey: b.Const("app"),
		full:   b.Reason(ReasonFull),
		noRoom: b.Reason("there is no room for the number of pods in each zone"),
		most:   1,
		zones:  zones{},
	}
}

// Configure reads the limit.
func (p *ZoneLimit) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("most")
	p.most = c.Get("most").Int64(1)
	return c.Err()
}

// appOf returns the app of a pod.
func (p *ZoneLimit) appOf(pod berth.Pod) berth.ID { return pod.LabelByKey(p.appKey.ID()) }

// PreFilter counts the pods of the app. A pod without an app fits everywhere.
func (p *ZoneLimit) PreFilter(pod berth.Pod, nodes berth.Nodes) (*berth.Rows, berth.Status) {
	app, namespace := p.appOf(pod), pod.Namespace()
	if app == berth.Absent {
		return nil, berth.Skip
	}
	clear(p.zones)
	for i := range nodes.Len() {
		node := nodes.At(i)
		zone, pods := node.Label(p.zone), node.Pods()
		for k := range pods.Len() {
			if other := pods.At(k); zone != berth.Absent && other.Label(p.app) == app && other.Namespace() == namespace {
				p.zones[p.Text(zone)]++
			}
		}
	}
	return nil, p.save()
}

// AddPod counts a pod that is not there yet, such as one with a nominated node.
func (p *ZoneLimit) AddPod(pod, added berth.Pod, node berth.Node) berth.Status {
	return p.change(pod, added, node, 1)
}

// RemovePod counts a pod no more, such as one that would be preempted.
func (p *ZoneLimit) RemovePod(pod, removed berth.Pod, node berth.Node) berth.Status {
	return p.change(pod, removed, node, -1)
}

func (p *ZoneLimit) change(pod, other berth.Pod, node berth.Node, by int32) berth.Status {
	zone := node.Label(p.zone)
	if zone == berth.Absent || p.appOf(other) != p.appOf(pod) || other.Namespace() != pod.Namespace() {
		return berth.Success
	}
	p.load()
	p.zones[p.Text(zone)] += uint32(by)
	return p.save()
}

// Prepare reads the counts, once for many nodes.
func (p *ZoneLimit) Prepare(berth.Pod) berth.Status {
	p.load()
	return berth.Success
}

// Filter rejects nodes of zones with enough pods. Preemption can help, because such pods may leave.
func (p *ZoneLimit) Filter(_ berth.Pod, node berth.Node) berth.Status {
	zone := node.Label(p.zone)
	if zone != berth.Absent && int64(p.zones[p.Text(zone)]) >= p.most {
		return berth.Unschedulable(p.full)
	}
	return berth.Success
}

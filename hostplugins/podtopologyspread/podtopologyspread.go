// Package podtopologyspread implements spec.topologySpreadConstraints (KEP-895): with
// whenUnsatisfiable DoNotSchedule it rejects nodes where the pods that a constraint selects
// would be spread too unevenly over the topology's domains, with ScheduleAnyway it prefers
// nodes of domains with few such pods. Pods without constraints get those of the args, by
// default kube-scheduler's for pods of services and controllers.
// Pods are counted by an index that follows the snapshot; see package tally.
package podtopologyspread

import (
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "PodTopologySpread"

// kube-scheduler's reasons.
const (
	ReasonSkew  = "node(s) didn't match pod topology spread constraints"
	ReasonLabel = ReasonSkew + " (missing required label)"
)

// Deps is what default constraints read. A nil one means that there are no such objects.
type Deps struct {
	Services    objects.Services
	Controllers objects.Controllers
	// CompareTolerations is as in hostplugins.Deps.
	CompareTolerations bool
}

// PodTopologySpread is the plugin. PreFilter and PreScore maintain an index of placed pods that
// cycles share; they must be called from the goroutine that runs cycles.
type PodTopologySpread struct {
	info        plugin.Info
	deps        Deps
	skew, label []string // reason sets

	// defaults has constraints without selectors.
	defaults struct{ hard, soft []state.SpreadConstraint }
	system   bool // defaults are kube-scheduler's own
	// mu is for Filter, which counts pods if PreFilter has not run, in several goroutines.
	mu    sync.Mutex
	index *tally.Index
	key   []byte   // scratch
	rated []uint32 // scratch
}

var (
	_ plugin.PreFilter           = (*PodTopologySpread)(nil)
	_ plugin.PreFilterExtensions = (*PodTopologySpread)(nil)
	_ plugin.Filter              = (*PodTopologySpread)(nil)
	_ plugin.PreScore            = (*PodTopologySpread)(nil)
	_ plugin.Score               = (*PodTopologySpread)(nil)
	_ plugin.Normalize           = (*PodTopologySpread)(nil)
)

// New returns the plugin. args may be nil.
func New(args *configv1.PodTopologySpreadArgs, deps Deps) (*PodTopologySpread, error) {
	p := &PodTopologySpread{deps: deps, skew: []string{ReasonSkew}, label: []string{ReasonLabel}, index: tally.New(tally.Config{})}
	if args == nil {
		args = &configv1.PodTopologySpreadArgs{}
	}
	var defaults []v1.TopologySpreadConstraint
	switch args.DefaultingType {
	case configv1.SystemDefaulting, "":
		if len(args.DefaultConstraints) > 0 {
			return nil, fmt.Errorf("defaultConstraints are given with defaultingType System; set defaultingType: List")
		}
		defaults, p.system = systemConstraints(), true
	case configv1.ListDefaulting:
		defaults = args.DefaultConstraints
	default:
		return nil, fmt.Errorf("unknown defaultingType %q, want System or List", args.DefaultingType)
	}
	for _, c := range state.CompileSpread(defaults, nil) {
		switch c.When {
		case v1.DoNotSchedule:
			p.defaults.hard = append(p.defaults.hard, c)
		case v1.ScheduleAnyway:
			p.defaults.soft = append(p.defaults.soft, c)
		}
	}
	p.info = plugin.Info{
		Name: Name,
		Reads: plugin.Whole(
			abi.NodeName, abi.NodeLabels, abi.NodeTaints, abi.NodePods, abi.PodNamespace, abi.PodLabels, abi.PodFlags,
			abi.PodSpreadConstraint, abi.IncomingNamespace, abi.IncomingLabels, abi.IncomingOwner,
			abi.PodNodeSelector, abi.PodRequiredTerms, abi.PodTolerations,
		),
		Enforces: state.FeatureTopologySpread,
		Events: []plugin.Event{
			{
				ClusterEvent: state.ClusterEvent{
					Resource: state.AssignedPodResource, Action: state.Add | state.UpdatePodLabel | state.UpdateOther | state.Delete,
				},
				Hint: p.afterPodChange,
			},
			{
				ClusterEvent: state.ClusterEvent{Resource: state.TargetPodResource, Action: state.UpdatePodLabel | state.UpdatePodToleration},
				Hint:         p.afterPodChange,
			},
			{
				ClusterEvent: state.ClusterEvent{
					Resource: state.NodeResource, Action: state.Add | state.Delete | state.UpdateNodeLabel | state.UpdateNodeTaint,
				},
				Hint: p.afterNodeChange,
			},
		},
	}
	return p, nil
}

// Info describes the plugin.
func (p *PodTopologySpread) Info() *plugin.Info { return &p.info }

// Work returns what counting pods has cost so far.
func (p *PodTopologySpread) Work() tally.Work { return p.index.Work() }

// systemConstraints returns kube-scheduler's default constraints for pods of a service or a
// controller.
func systemConstraints() []v1.TopologySpreadConstraint {
	return []v1.TopologySpreadConstraint{
		{TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, MaxSkew: 3},
		{TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway, MaxSkew: 5},
	}
}

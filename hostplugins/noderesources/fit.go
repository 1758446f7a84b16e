// Package noderesources holds NodeResourcesFit, which keeps the requests on a node within its
// allocatable and scores nodes by what would remain, and NodeResourcesBalancedAllocation, which
// prefers nodes whose resources are used evenly.
// Quantities are int64 in the unit of the resource: milli-CPU, bytes, or a count.
package noderesources

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/shape"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// FitName is the name of Fit in a profile.
const FitName = "NodeResourcesFit"

// kube-scheduler's reasons. ReasonInsufficient is followed by the resource.
const (
	ReasonTooManyPods  = "Too many pods"
	ReasonInsufficient = "Insufficient "
)

// Keys of the values that the plugins store in a CycleState.
const (
	preFilterKey = "PreFilter"
	preScoreKey  = "PreScore"
)

// Fit is the plugin NodeResourcesFit.
type Fit struct {
	info          plugin.Info
	ignored       []string // extended resources
	ignoredGroups []string // the prefix before the slash of extended resources
	strategy      configv1.ScoringStrategyType
	scored        []scored
	shape         shape.Shape
	reasons       fixedReasons
	devices       Devices
}

var (
	_ plugin.PreFilter  = (*Fit)(nil)
	_ plugin.Filter     = (*Fit)(nil)
	_ plugin.PreScore   = (*Fit)(nil)
	_ plugin.Score      = (*Fit)(nil)
	_ plugin.Aggregates = (*Fit)(nil)
)

// NewFit returns the plugin. Without args, or without a strategy in them, nodes with the least
// allocated cpu and memory score highest.
func NewFit(args *configv1.NodeResourcesFitArgs, devices Devices) (*Fit, error) {
	if args == nil {
		args = &configv1.NodeResourcesFitArgs{}
	}
	strategy := args.ScoringStrategy
	if strategy == nil {
		strategy = &configv1.ScoringStrategy{Type: configv1.LeastAllocated}
	}
	f := &Fit{
		ignored:       slices.Clone(args.IgnoredResources),
		ignoredGroups: slices.Clone(args.IgnoredResourceGroups),
		strategy:      strategy.Type,
		reasons:       newFixedReasons(),
		devices:       devices,
	}
	f.info = plugin.Info{
		Name:       FitName,
		Reads:      plugin.Whole(abi.NodeAllocatable, abi.NodeRequested, abi.NodeNonZeroRequested, abi.IncomingRequests, abi.IncomingNonZero),
		NodeScoped: []abi.Point{abi.Filter, abi.Score},
		Enforces:   state.FeatureRequests,
		Resizes:    true,
		Events: []plugin.Event{
			{ClusterEvent: state.ClusterEvent{Resource: state.AssignedPodResource, Action: state.Delete | state.UpdatePodScaleDown}, Hint: afterPodEvent},
			{ClusterEvent: state.ClusterEvent{Resource: state.TargetPodResource, Action: state.UpdatePodScaleDown}, Hint: afterPodEvent},
			{ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add | state.UpdateNodeAllocatable}, Hint: f.afterNodeChange},
			{ClusterEvent: state.ClusterEvent{Resource: state.DeviceClassResource, Action: state.Add | state.Update}, Hint: afterClassChange},
		},
	}
	var err error
	if f.scored, err = newScored(strategy.Resources); err != nil {
		return nil, err
	}
	switch strategy.Type {
	case configv1.LeastAllocated, configv1.MostAllocated:
	case configv1.RequestedToCapacityRatio:
		if strategy.RequestedToCapacityRatio == nil {
			return nil, fmt.Errorf("scoring strategy %s has no shape", strategy.Type)
		}
		if f.shape, err = shape.New(strategy.RequestedToCapacityRatio.Shape); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("unknown scoring strategy %q", strategy.Type)
	}
	return f, nil
}

// Info describes the plugin.
func (f *Fit) Info() *plugin.Info { return &f.info }

// checked is the scalar requests that Filter checks.
type checked []scalar

// scalar is a scalar request.
type scalar struct {
	state.Scalar
	// devices is true if a node that has none of the resource may have it as devices, which
	// DynamicResources sees to.
	devices bool
	// unenforced is true if it may, but no plugin of the profile sees to that.
	unenforced bool
}

// Clone returns the value itself: it does not change after PreFilter.
func (s checked) Clone() state.Value { return s }

// PreFilter leaves out scalar requests that need no check.
func (f *Fit) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	if len(c.Pod.Requests.Scalars) > 0 {
		c.State.Write(FitName, preFilterKey, f.checked(c))
	}
	return nil, nil
}

// checked returns the scalar requests above zero that the args do not ignore.
func (f *Fit) checked(c *plugin.Cycle) checked {
	var out checked
	for _, s := range c.Pod.Requests.Scalars {
		if s.Value != 0 && !f.ignores(s.Name) {
			provided := f.devices.Provides(s.Name)
			enforced := c.Unenforced&state.FeatureResourceClaims == 0
			out = append(out, scalar{Scalar: s, devices: provided && enforced, unenforced: provided && !enforced})
		}
	}
	return out
}

// reason returns what is said of a node that lacks the resource.
func (s *scalar) reason() string {
	text := ReasonInsufficient + string(s.Name)
	if s.unenforced {
		text += fmt.Sprintf(" (device classes provide it by %s, which no enabled plugin enforces)", state.FeatureResourceClaims)
	}
	return text
}

func (f *Fit) ignores(name v1.ResourceName) bool {
	if len(f.ignored) == 0 && len(f.ignoredGroups) == 0 || !state.IsExtendedResource(name) {
		return false
	}
	group, _, _ := strings.Cut(string(name), "/")
	return slices.Contains(f.ignored, string(name)) || slices.Contains(f.ignoredGroups, group)
}

// AppendAggregates appends which of the pod's resources device classes provide, and whether a plugin sees to that.
func (f *Fit) AppendAggregates(b []byte, c *plugin.Cycle) []byte {
	if c.Unenforced&state.FeatureResourceClaims != 0 {
		b = append(b, 1)
	}
	for _, s := range c.Pod.Requests.Scalars {
		if f.devices.Provides(s.Name) {
			b = append(append(b, s.Name...), 0)
		}
	}
	return appendCounted(b, c, f.scored, f.devices)
}

// Package interpodaffinity enforces required pod affinity and anti-affinity (spec.affinity), of
// the pod itself and of placed pods, whose anti-affinity may repel it. It scores nodes by the
// preferred terms of both, and by the required affinity of placed pods.
// Pods and the terms of placed pods are counted by an index that follows the snapshot; see
// package tally.
package interpodaffinity

import (
	"fmt"
	"sync"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "InterPodAffinity"

// kube-scheduler's reasons.
const (
	ReasonExisting     = "node(s) didn't satisfy existing pods anti-affinity rules"
	ReasonAffinity     = "node(s) didn't match pod affinity rules"
	ReasonAntiAffinity = "node(s) didn't match pod anti-affinity rules"
)

// Limits and default of hardPodAffinityWeight (InterPodAffinityArgs).
const (
	maxHardWeight     = 100
	defaultHardWeight = 1
)

// InterPodAffinity is the plugin. PreFilter and PreScore maintain an index of placed pods that
// cycles share; they must be called from the goroutine that runs cycles.
type InterPodAffinity struct {
	info                     plugin.Info
	existing, affinity, anti []string // reason sets

	hardWeight int32
	// ignorePreferred leaves out the preferred terms of placed pods for pods
	// without preferred terms of their own.
	ignorePreferred bool

	// mu is for Filter, which counts pods if PreFilter has not run, in several goroutines.
	mu    sync.Mutex
	index *tally.Index
	terms placedTerms
	key   []byte // scratch
}

var (
	_ plugin.PreFilter           = (*InterPodAffinity)(nil)
	_ plugin.PreFilterExtensions = (*InterPodAffinity)(nil)
	_ plugin.Filter              = (*InterPodAffinity)(nil)
	_ plugin.PreScore            = (*InterPodAffinity)(nil)
	_ plugin.Score               = (*InterPodAffinity)(nil)
	_ plugin.Normalize           = (*InterPodAffinity)(nil)
)

// New returns the plugin. args may be nil.
func New(args *configv1.InterPodAffinityArgs) (*InterPodAffinity, error) {
	p := &InterPodAffinity{
		existing: []string{ReasonExisting}, affinity: []string{ReasonAffinity}, anti: []string{ReasonAntiAffinity},
		hardWeight: defaultHardWeight,
	}
	if args != nil {
		p.ignorePreferred = args.IgnorePreferredTermsOfExistingPods
		if args.HardPodAffinityWeight != nil {
			p.hardWeight = *args.HardPodAffinityWeight
		}
	}
	if p.hardWeight < 0 || p.hardWeight > maxHardWeight {
		return nil, fmt.Errorf("hardPodAffinityWeight is %d, want 0 to %d", p.hardWeight, maxHardWeight)
	}
	p.index = tally.New(tally.Config{Affinity: true, Joined: p.joined, Left: p.left, Reset: func() { p.terms = newPlacedTerms() }})
	p.info = plugin.Info{
		Name: Name,
		Reads: plugin.Whole(
			abi.NodeLabels, abi.NodePods, abi.PodNamespace, abi.PodLabels, abi.NamespaceName, abi.NamespaceLabels,
			abi.PodAffinity, abi.IncomingNamespace, abi.IncomingLabels, abi.IncomingNamespaceLabels,
		),
		Enforces: state.FeatureInterPodAffinity,
		Events:   events(),
	}
	return p, nil
}

// Info describes the plugin.
func (p *InterPodAffinity) Info() *plugin.Info { return &p.info }

// Work returns what counting pods has cost so far.
func (p *InterPodAffinity) Work() tally.Work { return p.index.Work() }

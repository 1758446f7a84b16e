package bench

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internal "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	fwkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/berth-scheduler/berth/test/internal/upstream"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// Theirs is a plugin of kube-scheduler on its own snapshot, called as its
// framework calls it, without what the framework adds: no metrics, no goroutines.
type Theirs struct {
	cache    cache.Cache
	snapshot *cache.Snapshot
	placed   []*v1.Pod

	plugin framework.Plugin
	nodes  []framework.NodeInfo
	pods   []*v1.Pod
	fits   []framework.NodeInfo
	scores framework.NodeScoreList
}

// NewTheirs creates it.
func NewTheirs(ctx context.Context, w *world.World, name string, pods []*v1.Pod) (*Theirs, error) {
	c, err := upstream.Load(nil)
	if err != nil {
		return nil, err
	}
	dra, err := upstream.NewDRAManager(ctx, w.Informers)
	if err != nil {
		return nil, err
	}
	t := &Theirs{pods: pods, cache: cache.New(ctx, nil, false, false), snapshot: cache.NewEmptySnapshot()}
	nodes, placed := w.Objects()
	for _, n := range nodes {
		t.cache.AddNode(klog.FromContext(ctx), n)
	}
	t.placed = placed
	for _, p := range placed {
		if err := t.cache.AddPod(klog.FromContext(ctx), p); err != nil {
			return nil, err
		}
	}
	if err := t.cache.UpdateSnapshot(klog.FromContext(ctx), t.snapshot); err != nil {
		return nil, err
	}
	handle, err := fwkruntime.NewFramework(ctx, nil, nil,
		fwkruntime.WithInformerFactory(w.Informers), fwkruntime.WithSnapshotSharedLister(t.snapshot), fwkruntime.WithSharedDRAManager(dra),
		fwkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(w.Informers.Storage().V1().CSINodes().Lister())),
		fwkruntime.WithLogger(klog.FromContext(ctx)))
	if err != nil {
		return nil, err
	}
	factory, ok := plugins.NewInTreeRegistry()[name]
	if !ok {
		return nil, fmt.Errorf("kube-scheduler has no plugin %q", name)
	}
	if t.plugin, err = factory(ctx, upstream.Args(c, name), handle); err != nil {
		return nil, err
	}
	t.nodes, err = t.snapshot.NodeInfos().List()
	return t, err
}

// Change removes a pod from a node and adds it again.
func (t *Theirs) Change(ctx context.Context, i int) error {
	pod, logger := t.placed[i*stride%len(t.placed)], klog.FromContext(ctx)
	err := t.cache.RemovePod(logger, pod)
	if err == nil {
		err = t.cache.AddPod(logger, pod)
	}
	if err == nil {
		err = t.cache.UpdateSnapshot(logger, t.snapshot)
	}
	if err == nil {
		t.nodes, err = t.snapshot.NodeInfos().List()
	}
	return err
}

// Run runs the i-th pod from PreFilter to NormalizeScore.
func (t *Theirs) Run(ctx context.Context, i int) (Outcome, error) {
	pod, cs := t.pods[i%len(t.pods)], internal.NewCycleState()
	skip := false
	var set *framework.PreFilterResult
	if p, ok := t.plugin.(framework.PreFilterPlugin); ok {
		var status *framework.Status
		set, status = p.PreFilter(ctx, cs, pod, t.nodes)
		if skip = status.IsSkip(); !skip && !status.IsSuccess() {
			return Outcome{}, status.AsError()
		}
	}
	score, scores := t.plugin.(framework.ScorePlugin)
	fits, out := t.nodes, Outcome{Feasible: len(t.nodes)}
	if p, ok := t.plugin.(framework.FilterPlugin); ok && !skip {
		fits, out.Feasible = t.fits[:0], 0
		for _, n := range t.nodes {
			if !set.AllNodes() && !set.NodeNames.Has(n.Node().Name) {
				continue
			}
			if !p.Filter(ctx, cs, pod, n).IsSuccess() {
				continue
			}
			if out.Feasible++; scores {
				fits = append(fits, n)
			}
		}
		t.fits = fits
	}
	if p, ok := t.plugin.(framework.PreScorePlugin); ok {
		if status := p.PreScore(ctx, cs, pod, fits); status.IsSkip() {
			return out, nil
		} else if !status.IsSuccess() {
			return out, status.AsError()
		}
	}
	if !scores || len(fits) == 0 {
		return out, nil
	}
	t.scores = t.scores[:0]
	for _, n := range fits {
		value, status := score.Score(ctx, cs, pod, n)
		if !status.IsSuccess() {
			return out, status.AsError()
		}
		t.scores = append(t.scores, framework.NodeScore{Name: n.Node().Name, Score: value})
	}
	if e := score.ScoreExtensions(); e != nil {
		if status := e.NormalizeScore(ctx, cs, pod, t.scores); !status.IsSuccess() {
			return out, status.AsError()
		}
	}
	for _, s := range t.scores {
		out.Total += s.Score
	}
	return out, nil
}

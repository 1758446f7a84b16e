package hostplugins_test

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/hostplugins/internal/pernode"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// profile holds the arguments of the plugins of both chains.
type profile struct {
	Fit      configv1.NodeResourcesFitArgs                `json:"fit"`
	Balanced configv1.NodeResourcesBalancedAllocationArgs `json:"balanced"`
	Affinity configv1.NodeAffinityArgs                    `json:"affinity"`
	Spread   configv1.PodTopologySpreadArgs               `json:"spread"`
	Pods     configv1.InterPodAffinityArgs                `json:"podAffinity"`

	world world
}

// filterNames and scoreWeights are kube-scheduler's defaults.
func filterNames() []string {
	return []string{"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures"}
}

func scoreNames() []string {
	return []string{
		"TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity",
		"NodeResourcesBalancedAllocation", "ImageLocality",
	}
}

func scoreWeights() []int64 { return []int64{3, 2, 1, 2, 2, 1, 1} }

// withDefaults applies the defaults of the configuration.
func (p *profile) withDefaults() {
	specs := func(in []configv1.ResourceSpec) []configv1.ResourceSpec {
		if len(in) == 0 {
			in = []configv1.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}
		}
		return in
	}
	if p.Fit.ScoringStrategy == nil {
		p.Fit.ScoringStrategy = &configv1.ScoringStrategy{Type: configv1.LeastAllocated}
	}
	p.Fit.ScoringStrategy.Resources = specs(p.Fit.ScoringStrategy.Resources)
	p.Balanced.Resources = specs(p.Balanced.Resources)
}

// plugin creates a plugin with the profile's arguments.
func (p *profile) plugin(t testing.TB, name string) plugin.Plugin {
	t.Helper()
	args := map[string]any{
		"NodeResourcesFit": &p.Fit, "NodeResourcesBalancedAllocation": &p.Balanced, "NodeAffinity": &p.Affinity,
		"PodTopologySpread": &p.Spread, "InterPodAffinity": &p.Pods,
	}
	made, err := hostplugins.All(hostplugins.Deps{Services: &p.world, Controllers: &p.world}).New(name, args[name])
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (p *profile) columns(t testing.TB) *plugintest.Columns {
	t.Helper()
	made := map[string]plugin.Plugin{}
	get := func(name string) plugin.Plugin {
		if made[name] == nil {
			made[name] = p.plugin(t, name)
		}
		return made[name]
	}
	c := &plugintest.Columns{}
	for _, name := range filterNames() {
		c.Filters = append(c.Filters, get(name).(plugin.Filter))
	}
	for i, name := range scoreNames() {
		c.Scores = append(c.Scores, plugintest.Weighted{Plugin: get(name).(plugin.Score), Weight: scoreWeights()[i]})
	}
	return c
}

// objects returns the chain of those plugins that package pernode implements.
func (p *profile) objects(t testing.TB) *plugintest.Objects {
	t.Helper()
	var required *nodeaffinity.NodeSelector
	if added := p.Affinity.AddedAffinity; added != nil && added.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		var err error
		if required, err = nodeaffinity.NewNodeSelector(added.RequiredDuringSchedulingIgnoredDuringExecution); err != nil {
			t.Fatal(err)
		}
	}
	spread := pernode.Spread{Defaults: p.Spread.DefaultConstraints, Selector: p.world.selector}
	if spread.System = p.Spread.DefaultingType != configv1.ListDefaulting; spread.System {
		spread.Defaults = []v1.TopologySpreadConstraint{
			{MaxSkew: 3, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: v1.ScheduleAnyway},
			{MaxSkew: 5, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: v1.ScheduleAnyway},
		}
	}
	o := &plugintest.Objects{Filters: []pernode.Filter{
		&pernode.TaintToleration{}, &pernode.NodeAffinity{Added: required}, &pernode.Fit{Args: p.Fit}, &spread, &pernode.Declared{},
	}}
	balanced := configv1.ScoringStrategy{Resources: p.Balanced.Resources}
	for _, s := range []pernode.Score{
		&pernode.Resources{Strategy: *p.Fit.ScoringStrategy}, &pernode.SpreadScore{Spread: spread}, &pernode.Resources{Balanced: true, Strategy: balanced},
	} {
		o.Scores = append(o.Scores, plugintest.WeightedPerNode{Score: s, Weight: scoreWeights()[slices.Index(scoreNames(), s.Name())]})
	}
	return o
}

// only keeps the plugins of these names.
func only(c *plugintest.Columns, names ...string) {
	c.Filters = slices.DeleteFunc(c.Filters, func(f plugin.Filter) bool { return !slices.Contains(names, f.Info().Name) })
	c.Scores = slices.DeleteFunc(c.Scores, func(w plugintest.Weighted) bool { return !slices.Contains(names, w.Plugin.Info().Name) })
}

// both returns both chains, of the plugins that both have.
func (p *profile) both(t testing.TB) (*plugintest.Columns, *plugintest.Objects) {
	t.Helper()
	columns, objects := p.columns(t), p.objects(t)
	columns.Filters = slices.DeleteFunc(columns.Filters, func(f plugin.Filter) bool {
		return !slices.ContainsFunc(objects.Filters, func(o pernode.Filter) bool { return o.Name() == f.Info().Name })
	})
	columns.Scores = slices.DeleteFunc(columns.Scores, func(w plugintest.Weighted) bool {
		return !slices.ContainsFunc(objects.Scores, func(o plugintest.WeightedPerNode) bool { return o.Score.Name() == w.Plugin.Info().Name })
	})
	return columns, objects
}

// difference schedules a pod with both chains and compares.
func (p *profile) difference(t testing.TB, nodes []*v1.Node, placed []*v1.Pod, pods ...*v1.Pod) error {
	t.Helper()
	columns, objects := p.both(t)
	snapshot, cluster := plugintest.Snapshot(nodes, placed, p.world.Namespaces...), pernode.Cluster(nodes, placed)
	a, b := plugintest.Result{KeepRaw: true}, plugintest.Result{KeepRaw: true}
	for _, pod := range pods {
		columns.Run(snapshot, decoded(pod), &a)
		objects.Run(cluster, pod, &b)
		if err := plugintest.Difference(&a, &b); err != nil {
			return err
		}
	}
	return nil
}

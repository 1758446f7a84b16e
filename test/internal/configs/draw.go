// Package configs loads random configuration files as Berth does and as kube-scheduler does,
// down to the plugins of each point, their weights and their args, and compares: both must
// reject a file, or both must arrive at the same configuration.
package configs

import (
	"fmt"
	"math/rand/v2"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/test/internal/generate"
	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/upstream"
)

// Name is the name of this comparison among the others.
const Name = "Configuration"

// drawer draws a file.
type drawer struct {
	*rand.Rand
	seed  uint64
	n     int
	names []string
}

func (d *drawer) chance(p float64) bool { return d.Float64() < p }

// mistake returns true rarely, so that many files have none.
func (d *drawer) mistake() bool { return d.chance(0.01) }

func pick[T any](d *drawer, from ...T) T { return from[d.IntN(len(from))] }

// Draw draws the n-th file.
func Draw(seed uint64, n int) map[string]any {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed^0xc0f6, uint64(n))), seed: seed, n: n}
	d.names = append(native.Names(), upstream.Defaults()...)
	c := map[string]any{"apiVersion": configv1.SchemeGroupVersion.String(), "kind": "KubeSchedulerConfiguration"}
	if d.mistake() {
		c["apiVersion"] = pick(d, "kubescheduler.config.k8s.io/v1beta3", "v1", "example.com/v1")
	}
	if d.mistake() {
		c["kind"] = "SchedulerConfiguration"
	}
	number := func(key string, chance float64, from ...any) {
		if d.chance(chance) {
			c[key] = from[d.IntN(len(from))]
		}
	}
	number("parallelism", 0.2, 1, 8, 64)
	number("percentageOfNodesToScore", 0.2, 0, 1, 50, 100)
	number("podInitialBackoffSeconds", 0.2, 1, 2, 5)
	number("podMaxBackoffSeconds", 0.2, 10, 60)
	number("parallelism", 0.01, 0, -1)
	number("percentageOfNodesToScore", 0.01, -1, 101)
	number("podInitialBackoffSeconds", 0.01, 0, -3, 20)
	number("podMaxBackoffSeconds", 0.01, 0, -1)
	number("enableProfiling", 0.1, true, false)
	if d.mistake() {
		c["unknownField"] = 1
	}
	d.connections(c)
	if d.chance(0.15) {
		return c
	}
	var profiles []any
	most := 1 + d.IntN(2)*d.IntN(3)
	for i := range most {
		profiles = append(profiles, d.profile(i, most > 1))
	}
	c["profiles"] = profiles
	return c
}

func (d *drawer) profile(i int, named bool) map[string]any {
	p := map[string]any{}
	if named || d.chance(0.5) {
		p["schedulerName"] = fmt.Sprintf("scheduler-%d", i)
	}
	if d.mistake() {
		p["schedulerName"] = pick(d, "", "scheduler-0")
	}
	if d.chance(0.2) {
		p["percentageOfNodesToScore"] = pick(d, 0, 10, 100)
	}
	if d.mistake() {
		p["percentageOfNodesToScore"] = pick(d, -1, 101)
	}
	if d.chance(0.8) {
		plugins := map[string]any{}
		if d.chance(0.6) {
			plugins["multiPoint"] = d.set("multiPoint")
		}
		for _, point := range points() {
			if d.chance(0.12) {
				plugins[point] = d.set(point)
			}
		}
		p["plugins"] = plugins
	}
	var args []any
	for _, name := range []string{"NodeResourcesFit", "NodeResourcesBalancedAllocation", "NodeAffinity", "PodTopologySpread", "InterPodAffinity", "DefaultPreemption", "VolumeBinding"} {
		if d.chance(0.15) {
			args = append(args, map[string]any{"name": name, "args": d.args(name, i)})
		}
	}
	if d.mistake() && len(args) > 0 {
		args = append(args, args[0])
	}
	if args != nil {
		p["pluginConfig"] = args
	}
	return p
}

// points are the extension points of a profile, by field name.
func points() []string {
	return []string{
		"preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "bind", "postBind",
	}
}

// set draws the plugins of a point: mostly plugins that implement it.
func (d *drawer) set(point string) map[string]any {
	s := map[string]any{}
	var enabled, disabled []any
	seen := map[string]bool{}
	for range d.IntN(4) {
		name := pick(d, d.names...)
		switch {
		case d.mistake():
		case seen[name], point != "multiPoint" && !implements(name, point):
			continue
		}
		seen[name] = true
		plugin := map[string]any{"name": name}
		if d.chance(0.4) {
			plugin["weight"] = 1 + d.IntN(20)
		}
		if d.chance(0.04) {
			plugin["weight"] = 0
		}
		enabled = append(enabled, plugin)
	}
	for range d.IntN(3) {
		disabled = append(disabled, map[string]any{"name": pick(d, d.names...)})
	}
	if d.chance(0.12) {
		disabled = []any{map[string]any{"name": "*"}}
		for _, name := range []string{"PrioritySort", "DefaultBinder"} { // required in every profile
			if !seen[name] && (point == "multiPoint" || implements(name, point)) && !d.mistake() {
				enabled = append(enabled, map[string]any{"name": name})
			}
		}
	}
	if enabled != nil {
		s["enabled"] = enabled
	}
	if disabled != nil {
		s["disabled"] = disabled
	}
	return s
}

// args draws args as the cases of the plugin have them, rarely with a mistake.
func (d *drawer) args(name string, i int) any {
	args := generate.New(d.seed, name, d.n*8+i).Args()
	if args == nil {
		args = map[string]any{}
	}
	if d.chance(0.3) {
		args["apiVersion"], args["kind"] = configv1.SchemeGroupVersion.String(), name+"Args"
	}
	if !d.chance(0.08) {
		return args
	}
	wrong := map[string][]func(){
		"NodeResourcesFit": {
			func() { args["ignoredResources"] = []any{"bad name"} },
			func() { args["ignoredResourceGroups"] = []any{"example.com/gpu"} },
			func() { args["scoringStrategy"] = map[string]any{"type": "Least"} },
			func() {
				args["scoringStrategy"] = map[string]any{"resources": []any{map[string]any{"name": "cpu", "weight": 1}}}
			},
			func() {
				args["scoringStrategy"] = map[string]any{"type": "LeastAllocated", "resources": []any{map[string]any{"name": "cpu", "weight": 101}}}
			},
			func() { args["scoringStrategy"] = map[string]any{"type": "RequestedToCapacityRatio"} },
			func() {
				args["scoringStrategy"] = map[string]any{"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": map[string]any{"shape": []any{
					map[string]any{"utilization": 50, "score": 3}, map[string]any{"utilization": 20, "score": 11},
				}}}
			},
		},
		"NodeResourcesBalancedAllocation": {
			func() { args["resources"] = []any{map[string]any{"name": "cpu", "weight": 2}} },
			func() {
				args["resources"] = []any{map[string]any{"name": "cpu", "weight": 1}, map[string]any{"name": "cpu", "weight": 1}}
			},
		},
		"NodeAffinity": {func() {
			args["addedAffinity"] = map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{
				map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": pick(d, "Inn", "Gt"), "values": []any{"x"}}}},
			}}}
		}},
		"PodTopologySpread": {
			func() { args["defaultingType"] = "Nothing" },
			func() {
				args["defaultingType"] = "System"
				args["defaultConstraints"] = []any{map[string]any{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}}
			},
			func() {
				args["defaultingType"] = "List"
				args["defaultConstraints"] = []any{map[string]any{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Never"}}
			},
		},
		"InterPodAffinity":  {func() { args["hardPodAffinityWeight"] = pick(d, -1, 101) }},
		"DefaultPreemption": {func() { args["minCandidateNodesPercentage"] = pick(d, -1, 101) }, func() { args["minCandidateNodesAbsolute"] = -1 }},
		"VolumeBinding":     {func() { args["bindTimeoutSeconds"] = -1 }},
	}[name]
	wrong = append(wrong, func() { args["nonsense"] = true }, func() { args["kind"] = "OtherArgs" })
	wrong[d.IntN(len(wrong))]()
	return args
}

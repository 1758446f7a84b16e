package generate

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// config draws a configuration with args of the plugin; nil for none.
func (g *Generator) config() json.RawMessage {
	if g.plugin == "" {
		return g.profile()
	}
	args := g.Args()
	if args == nil {
		return nil
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": configv1.SchemeGroupVersion.String(), "kind": "KubeSchedulerConfiguration",
		"profiles": []any{map[string]any{
			"schedulerName": v1.DefaultSchedulerName,
			"pluginConfig":  []any{map[string]any{"name": g.plugin, "args": args}},
		}},
	})
	if err != nil {
		panic(fmt.Sprintf("BUG: %v", err))
	}
	return data
}

// Args draws args of the plugin as they appear in a file; nil for none.
func (g *Generator) Args() map[string]any {
	if g.chance(0.3) {
		return nil
	}
	switch g.plugin {
	case "NodeResourcesFit":
		return g.fitArgs()
	case "NodeResourcesBalancedAllocation":
		return map[string]any{"resources": g.weights(1)}
	case "NodeAffinity":
		return map[string]any{"addedAffinity": g.addedAffinity()}
	case "PodTopologySpread":
		return g.spreadArgs()
	case "InterPodAffinity":
		return map[string]any{"hardPodAffinityWeight": g.upTo(100), "ignorePreferredTermsOfExistingPods": g.chance(0.3)}
	case "VolumeBinding":
		args := map[string]any{"bindTimeoutSeconds": 1 + g.upTo(600)}
		if g.chance(0.7) {
			args["shape"] = g.shape()
		}
		return args
	case "DefaultPreemption":
		return g.preemptionArgs()
	}
	return nil
}

func (g *Generator) preemptionArgs() map[string]any {
	return map[string]any{"minCandidateNodesPercentage": pick(g, g.upTo(100), 100), "minCandidateNodesAbsolute": pick(g, 1, 1+g.upTo(9), 100)}
}

func (g *Generator) weights(most int) []any {
	var out []any
	for _, name := range some(g, 4, "cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi") {
		out = append(out, map[string]any{"name": name, "weight": 1 + g.upTo(most-1)})
	}
	if out == nil {
		out = append(out, map[string]any{"name": "cpu", "weight": 1})
	}
	return out
}

func (g *Generator) fitArgs() map[string]any {
	args := map[string]any{}
	if g.chance(0.3) {
		args["ignoredResources"] = some(g, 2, "example.com/gpu", "other.io/disk")
	}
	if g.chance(0.3) {
		args["ignoredResourceGroups"] = some(g, 1, "example.com", "other.io")
	}
	switch g.IntN(4) {
	case 0:
		args["scoringStrategy"] = map[string]any{"type": "LeastAllocated", "resources": g.weights(100)}
	case 1:
		args["scoringStrategy"] = map[string]any{"type": "MostAllocated", "resources": g.weights(100)}
	case 2:
		args["scoringStrategy"] = map[string]any{
			"type": "RequestedToCapacityRatio", "resources": g.weights(100), "requestedToCapacityRatio": map[string]any{"shape": g.shape()},
		}
	}
	return args
}

// shape draws the points of a shape.
func (g *Generator) shape() (points []any) {
	at := 0
	for range 1 + g.upTo(3) {
		points = append(points, map[string]any{"utilization": at, "score": g.upTo(10)})
		at += 1 + g.upTo(33)
	}
	return points
}

func (g *Generator) addedAffinity() map[string]any {
	a := g.nodeTerms([]string{"n1", "n2", "n3"})
	if a == nil {
		a = &v1.NodeAffinity{}
	}
	// Args are validated, pods are not all.
	clean := func(t *v1.NodeSelectorTerm) {
		for i := range t.MatchExpressions {
			if r := &t.MatchExpressions[i]; len(r.Values) == 1 && (r.Values[0] == "many" || r.Values[0] == "-4") {
				r.Values[0] = "7"
			}
		}
	}
	if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		if len(r.NodeSelectorTerms) == 0 {
			a.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
		for i := range r.NodeSelectorTerms {
			clean(&r.NodeSelectorTerms[i])
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		clean(&a.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference)
	}
	data, err := json.Marshal(a)
	if err != nil {
		panic(fmt.Sprintf("BUG: %v", err))
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		panic(fmt.Sprintf("BUG: %v", err))
	}
	return out
}

func (g *Generator) spreadArgs() map[string]any {
	if g.chance(0.4) {
		return map[string]any{"defaultingType": "System"}
	}
	var constraints []any
	for _, key := range some(g, 2, v1.LabelHostname, v1.LabelTopologyZone, "disk") {
		constraints = append(constraints, map[string]any{
			"maxSkew": 1 + g.upTo(4), "topologyKey": key, "whenUnsatisfiable": pick(g, v1.DoNotSchedule, v1.ScheduleAnyway),
		})
	}
	return map[string]any{"defaultingType": "List", "defaultConstraints": constraints}
}

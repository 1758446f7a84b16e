package generate

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/scenario"
	"github.com/berth-scheduler/berth/test/internal/upstream"
)

// decision draws a pod for a whole decision.
func (c *cluster) decision() scenario.Query {
	g := c.g
	if g.resizes {
		return scenario.Query{Pod: c.deferred()}
	}
	q := scenario.Query{Pod: g.pod(c.names()), Place: g.chance(0.7)}
	q.Pod.Spec.SchedulingGates = nil
	if g.preempt {
		c.preemptor(q.Pod)
	}
	if g.chance(0.12) {
		q.Pod.Status.NominatedNodeName = pick(g, append([]string{"nobody"}, c.names()...)...)
	}
	if g.chance(0.2) {
		for range 1 + g.upTo(3) {
			p := g.pod(c.names())
			p.Spec.NodeName, p.Spec.SchedulingGates = "", nil
			p.Status.NominatedNodeName = pick(g, append([]string{"nobody"}, c.names()...)...)
			q.Nominated = append(q.Nominated, p)
		}
	}
	return q
}

// profile draws a configuration for whole decisions: the default plugins that both sides have,
// some with weights and args other than the default.
func (g *Generator) profile() json.RawMessage {
	var disabled []any
	built := make(map[string]bool)
	for _, name := range native.Names() {
		built[name] = true
	}
	for _, name := range upstream.Defaults() {
		if !built[name] {
			disabled = append(disabled, map[string]any{"name": name})
		}
	}
	plugins := map[string]any{"multiPoint": map[string]any{"disabled": disabled}}
	if g.chance(0.4) {
		var enabled []any
		for _, name := range some(g, 3, "TaintToleration", "NodeAffinity", "NodeResourcesFit", "ImageLocality", "NodeResourcesBalancedAllocation") {
			enabled = append(enabled, map[string]any{"name": name, "weight": 1 + g.upTo(9)})
		}
		score := map[string]any{"enabled": enabled}
		if g.chance(0.3) {
			score["disabled"] = []any{map[string]any{"name": "*"}}
		}
		plugins["score"] = score
	}
	profile := map[string]any{"schedulerName": v1.DefaultSchedulerName, "plugins": plugins}
	var args []any
	if g.chance(0.3) {
		args = append(args, map[string]any{"name": "NodeResourcesFit", "args": g.fitArgs()})
	}
	if g.chance(0.3) {
		args = append(args, map[string]any{"name": "DefaultPreemption", "args": g.preemptionArgs()})
	}
	if args != nil {
		profile["pluginConfig"] = args
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": configv1.SchemeGroupVersion.String(), "kind": "KubeSchedulerConfiguration",
		"percentageOfNodesToScore": 100, "profiles": []any{profile},
	})
	if err != nil {
		panic(fmt.Sprintf("BUG: %v", err))
	}
	return data
}

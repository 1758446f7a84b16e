package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"pgregory.net/rapid"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

func (d changing) some(label string, of ...string) (out []string) {
	for _, name := range of {
		if d.n(label+" "+name, 2) == 0 {
			out = append(out, name)
		}
	}
	return out
}

func (d changing) peek() peekArgs {
	a := peekArgs{Salt: d.n("salt", 3), Reads: peekReads{
		Node:       d.some("node", "name", "flags", "allocatable", "requested", "nonZeroRequested", "labels", "taints", "ports", "images", "pods", "zone"),
		NodeLabels: d.some("node label", "zone", v1.LabelHostname), NodeConditions: d.some("condition", "Ready"),
		Pods:      d.some("pods", "namespace", "priority", "requests", "labels", "owner", "flags", "uid", "name"),
		PodLabels: d.some("pod label", "app"), Resources: []string{"cpu"},
		Pod: d.some("pod", "hostPorts", "tolerations", "images", "namespace", "priority", "requests", "labels", "owner", "nodeSelector", "affinity", "nonZeroRequested", "namespaceLabels", "nodeName"),
	}}
	if d.n("of one namespace", 3) == 0 {
		a.Namespaces = []string{"ns"}
	}
	return a
}

const peeks = 3

// profiles returns a configuration: some peeks, weights, and arguments of other plugins.
func (d changing) profiles() assembly.Config {
	s := assembly.Default()
	p := &s.Profiles[0]
	enable := func(point, name string, weight int32) {
		ref := p.Points[point][0]
		ref.Name, ref.Weight = name, weight
		p.Points[point] = append(p.Points[point], ref)
	}
	if n := int32(d.n("percentage", 120)); n < 40 {
		p.PercentageOfNodesToScore = &n
	}
	for i := range peeks {
		if d.n("left out", 4) == 0 {
			continue
		}
		name := fmt.Sprint("peek-", i)
		args := p.Args[name]
		var err error
		if args.Raw, err = json.Marshal(d.peek()); err != nil {
			d.Fatal(err)
		}
		p.Args[name] = args
		if d.n("filters", 2) > 0 {
			enable("filter", name, 0)
		}
		enable("score", name, int32(1+d.n("weight", 3)))
	}
	for i := range p.Points["score"] {
		if d.n("heavier", 6) == 0 {
			p.Points["score"][i].Weight += int32(d.n("by", 4))
		}
	}
	if d.n("leave out a filter", 4) == 0 {
		at := d.n("filter", len(p.Points["filter"])-1)
		if name := p.Points["filter"][at].Name; name == "TaintToleration" || name == "NodeUnschedulable" || name == "NodePorts" {
			p.Points["filter"] = slices.Delete(p.Points["filter"], at, at+1)
			p.AllowUnenforced = append(p.AllowUnenforced, "Tolerations", "HostPorts")
		}
	}
	if d.n("affinity", 3) == 0 {
		args := p.Args["NodeAffinity"]
		args.Typed = &configv1.NodeAffinityArgs{AddedAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
			Weight: 9, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{d.one("added", "a", "b")}}}}}}}}
		p.Args["NodeAffinity"] = args
	}
	return assembly.Config{Scheduler: s}
}

// makePeek makes the guest as a module is made, and runs it natively.
func makePeek(name string) plugin.Factory {
	return func(args any) (plugin.Plugin, error) {
		var a peekArgs
		if err := json.Unmarshal(args.([]byte), &a); err != nil {
			return nil, err
		}
		manifest, err := wire.DecodeManifest(a.manifest())
		if err != nil {
			return nil, err
		}
		factory := sandbox.NewNativeFactory(func(env *sandbox.Env) sandbox.NativePlugin { return berth.NewNative(newPeek(a), env) })
		return wasm.New(context.Background(), wasm.Config{Name: name, Namespaces: a.Namespaces, Kept: true, VerifyEvery: 1, CrashOnBug: true}, wasm.Deps{Factory: factory, Manifest: manifest})
	}
}

// TestReuseReloading: attempts are the same with kept answers as without while plugins, which read anything that a module can,
// come, go and change between pods, and with them their order, weights, arguments and namespaces.
func TestReuseReloading(t *testing.T)     { reuseReloading(t) }
func TestRestReuseReloading(t *testing.T) { reuseReloading(t) }

func reuseReloading(t *testing.T) {
	t.Helper()
	testrest.Checks(t, 30)
	reused := int64(0)
	seeded.Check(t, func(r *rapid.T) {
		d := changing{r}
		c := d.cluster()
		for i := range c.Nodes {
			if d.n("ready", 1) == 0 {
				c.Nodes[i].Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
			}
		}
		configs := make([]assembly.Config, 1+d.n("reloads", 6))
		for i := range configs {
			configs[i] = d.profiles()
			if i > 0 && d.n("mostly as before", 1) == 0 { // plugins that stay keep their answers
				before, now := configs[i-1].Scheduler.Profiles[0].Args, configs[i].Scheduler.Profiles[0].Args
				for name := range now {
					if was, ok := before[name]; ok {
						now[name] = was
					}
				}
			}
		}
		every := time.Duration(1+d.n("every", 60)) * time.Second
		registry := plugin.Registry{}
		for i := range peeks {
			registry[fmt.Sprint("peek-", i)] = makePeek(fmt.Sprint("peek-", i))
		}
		c.Assembly = assembly.Config{
			Seed: rapid.Uint64().Draw(r, "seed"), Workers: 1 + d.n("workers", 1), Scheduler: configs[0].Scheduler, Plugins: registry, Candidates: 4,
			AllRows: d.n("all rows", 1) == 0,
		}
		run := func(kept equivalence.Config) (out []string) {
			c := c
			c.Assembly.Reuse = kept
			c.Attempted = func(a *report.Attempt, name func(uint32) string) {
				a = a.Clone(name)
				for _, x := range a.Timings {
					reused += x.Reused
				}
				a.Timings, a.Points, a.Duration = nil, nil, 0
				out = append(out, fmt.Sprintf("%+v", *a))
			}
			var s *sim.Sim
			loaded := 0
			c.Watch = func(_ *scheduler.Scheduler, now, until time.Duration, _ int) {
				if next := int(now / every); until > now && next > loaded {
					loaded = next
					if err := s.Reload(t.Context(), &configs[next%len(configs)]); err != nil {
						r.Fatal(err)
					}
				}
			}
			s, err := sim.New(c)
			if err != nil {
				r.Fatal(err)
			}
			if _, err := s.Run(t.Context()); err != nil {
				r.Fatal(err)
			}
			return out
		}
		want := run(equivalence.Config{})
		for _, bytes := range []int64{1 << 13, 1 << 30} {
			if diff := cmp.Diff(want, run(equivalence.Config{Bytes: bytes})); diff != "" {
				r.Fatalf("with %d bytes of answers kept (-without +with):\n%s", bytes, diff)
			}
		}
	})
	if reused == 0 {
		t.Error("no answer was reused")
	}
}

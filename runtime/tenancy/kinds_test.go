package tenancy_test

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// TestKinds: Resolve refuses what the API server refuses, for objects from files, which no API
// server has seen. Unknown fields do not get as far as Resolve.
func TestKinds(t *testing.T) {
	table, err := txtar.ParseFile("../api/v1alpha1/testdata/kinds.txtar")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, file := range table.Files {
		if !strings.HasPrefix(file.Name, "refused/") || strings.HasPrefix(string(file.Data), "# unknown field") {
			continue
		}
		if strings.HasSuffix(file.Name, "/weight-zero-is-not-left-out") || strings.HasSuffix(file.Name, "/no-namespaces") {
			continue // in Go, a field of these values is one that was left out
		}
		refused++
		t.Run(file.Name, func(t *testing.T) {
			o := newWorld(t).objects(string(file.Data))
			// Whatever else could be wrong with a tenant's plugin is not.
			o.PluginGrants = append(o.PluginGrants, newWorld(t).objects(
				"kind: PluginGrant\nmetadata: {name: all}\nspec: {namespaceSelector: {}, modules: [{repositories: [ghcr.io/example/*]}]}").PluginGrants...)
			r := tenancy.Resolve(o, tenancy.Config{Load: func(ref module.Reference, _ string) (*module.Loaded, error) {
				t.Errorf("asked for %s", ref.Source())
				return nil, tenancy.ErrPending
			}})
			for _, p := range r.Plugins {
				if p.Refusal == nil || p.Refusal.Reason != tenancy.Invalid {
					t.Errorf("%s: %+v", p.Name, p.Refusal)
				}
			}
			for _, g := range r.Grants {
				if g.Object != "all" && (g.Refusal == nil || g.Refusal.Reason != tenancy.Invalid) {
					t.Errorf("%s: %+v", g.Object, g.Refusal)
				}
			}
		})
	}
	if refused < 20 {
		t.Errorf("%d objects", refused)
	}
}

// TestGrantsSayWhatIsKnown: a point or a read that a grant misspells is answered by what it may name.
func TestGrantsSayWhatIsKnown(t *testing.T) {
	for field, want := range map[string]string{
		"points: [filtr]":                   `spec.points[0]: "filtr" is not an extension point for tenants; did you mean "filter"?`,
		"points: [bind]":                    `spec.points[0]: "bind" is not an extension point for tenants; known are preEnqueue, preFilter, filter, preScore, score, reserve, permit, preBind, postBind`,
		"reads: [port]":                     `spec.reads[0]: "port" is not something that can be granted; known are ports images generations nodeObjects volumeEvents namespaces published seed`,
		"feeds: [\"node.cpu.usage:milli\"]": `spec.feeds[0]: "node.cpu.usage:milli" is not a pattern of feeds: write a name such as node.cpu.usage, or its beginning as node.*, without a unit`,
		"feeds: [node*]":                    `spec.feeds[0]: "node*" is not a pattern of feeds: write a name such as node.cpu.usage, or its beginning as node.*, without a unit`,
		"configNames: [\"example.*\"]":      `spec.configNames[0]: "example.*" is not a pattern of names: write a name such as example.com/pool, or its beginning as example.com/*`,
	} {
		o := newWorld(t).objects("kind: PluginGrant\nmetadata: {name: all}\nspec: {namespaceSelector: {}, modules: [{repositories: [ghcr.io/example/*]}], " + field + "}")
		r := tenancy.Resolve(o, tenancy.Config{})
		if len(r.Grants) != 1 || r.Grants[0].Refusal == nil || r.Grants[0].Refusal.Message != want {
			t.Errorf("%s: %+v", field, r.Grants[0].Refusal)
		}
	}
}

// TestFeedPatterns: a pattern is a whole name, or stands for names that go on after its dot.
func TestFeedPatterns(t *testing.T) {
	for pattern, feeds := range map[v1alpha1.FeedPattern]map[string]bool{
		"node.cpu.usage": {"node.cpu.usage": true, "node.cpu.usage.max": false, "node.cpu": false},
		"node.*":         {"node.cpu.usage": true, "node.": true, "node": false, "nodes": false, "my.node.cpu": false},
		"*":              {"node.cpu.usage": true, "price": true},
		"node*":          {"node.cpu.usage": false},
		"*.usage":        {"node.cpu.usage": false},
		"":               {"": false, "price": false},
	} {
		for feed, want := range feeds {
			if got := pattern.Matches(feed); got != want {
				t.Errorf("%q matches %q: %t", pattern, feed, got)
			}
		}
	}
}

// TestNamePatterns: a pattern is a whole name, or stands for names that go on after its slash.
func TestNamePatterns(t *testing.T) {
	for pattern, names := range map[v1alpha1.NamePattern]map[string]bool{
		"zone":              {"zone": true, "zones": false, "example.com/zone": false},
		"example.com/pool":  {"example.com/pool": true, "example.com/pools": false, "example.com/": false},
		"example.com/*":     {"example.com/pool": true, "example.com": false, "a.example.com/pool": false, "example.company/pool": false},
		"example.com/gpu-*": {"example.com/gpu-a": true, "example.com/gpu": false},
		"*":                 {"zone": true, "example.com/pool": true},
		"example.*":         {"example.com/pool": false},
		"example*":          {"example": false},
		"*/pool":            {"example.com/pool": false},
		"":                  {"": false, "zone": false},
	} {
		for name, want := range names {
			if got := pattern.Matches(name); got != want {
				t.Errorf("%q matches %q: %t", pattern, name, got)
			}
		}
	}
}

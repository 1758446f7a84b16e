package feeds_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/runtime/feeds"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// objects are what followed resources have, by resource and name.
type objects map[string][]string

type followed struct {
	all     []string
	project func(map[string]any) any
}

func (followed) Run(ctx context.Context) { <-ctx.Done() }

func (f followed) Values(context.Context) (out []any, err error) {
	for _, text := range f.all {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			return nil, err
		}
		out = append(out, f.project(object))
	}
	if out == nil {
		return nil, errors.New("there is no such resource")
	}
	return out, nil
}

// once returns what the first round brings, as feed, key, value, state and the times of the sample, and its error.
func once(t *testing.T, declared string, has objects) (said []string, paths []string, err error) {
	t.Helper()
	fs, err := feeds.New(feeds.Config{Feeds: load(t, declared)}, feeds.Deps{
		Clock: clock.NewStep(start()),
		Follow: func(o feeds.Objects, at []fieldpath.Path, project func(map[string]any) any) feeds.Followed {
			for _, p := range at {
				paths = append(paths, p.String())
			}
			return followed{has[o.Resource.String()+o.Namespace+o.Name], project}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	news, err := fs.Due(t.Context())
	for _, feed := range news {
		for key, cell := range feed.Cells {
			since, at := cell.Since, cell.At
			if since == 0 {
				since, at = feed.Since, feed.At
			}
			from := "never"
			if since != math.MaxInt64 {
				from = strconv.FormatInt(since-start().Unix(), 10)
			}
			said = append(said, fmt.Sprintf("%s %s=%d/%d since %s at %d", feed.Name, key, cell.Value, cell.State, from, at-start().Unix()))
		}
	}
	slices.Sort(said)
	return said, paths, err
}

// TestObjects: feeds are read from objects of the API: an agent's resource of each node, and one object that has rows.
func TestObjects(t *testing.T) {
	metric := func(name, created, cpu string) string {
		return `{"metadata": {"name": "` + name + `", "creationTimestamp": "` + created + `"}, "status": {"updateTime": "2025-12-31T23:59:50Z",
			"nodeMetric": {"nodeUsage": {"resources": {"cpu": ` + cpu + `, "memory": "7Gi"}}}}}`
	}
	const koordinator = "nodemetrics.slo.koordinator.sh/v1alpha1"
	declared := `
- name: node.cpu.usage
  step: 1
  settle: 1s
  source: {object: {resource: ` + koordinator + `, value: .status.nodeMetric.nodeUsage.resources.cpu, time: .status.updateTime, lag: 5m}}
- name: node.memory.usage
  step: 1
  settle: 1s
  source: {object: {resource: ` + koordinator + `, value: .status.nodeMetric.nodeUsage.resources.memory, time: .status.updateTime, lag: 5m}}
- name: carbon
  unit: gram
  key: {nodeLabel: topology.kubernetes.io/zone}
  source: {object: {resource: configmaps/v1, namespace: kube-system, name: carbon, rows: ".data[*]", value: .}}
- name: free
  unit: gpus
  settle: 1s
  source: {object: {resource: pools.example.com/v1, rows: ".nodes[*]", key: .name, value: ".free[\"nvidia.com/gpu\"]", scale: 0.5}}
`
	has := objects{
		koordinator: {
			metric("node-1", "2025-01-02T00:00:00Z", `"1500m"`), metric("node-2", "2025-01-02T00:00:00Z", `2`),
			metric("node-3", "2025-01-02T00:00:00Z", "0.25"),
			`{"metadata": {"name": "node-4"}}`, `{}`, `{"status": "?"}`,
		},
		"configmaps/v1kube-systemcarbon": {`{"metadata": {"name": "carbon"}, "data": {"zone-a": "320", "zone-b": "45"}}`},
		"pools.example.com/v1": {`{"metadata": {"name": "old", "creationTimestamp": "2024-01-01T00:00:00Z"},
			"nodes": [{"name": "node-1", "free": {"nvidia.com/gpu": "8"}}, {"free": {"nvidia.com/gpu": 1}}, {"name": "node-2"}]}`},
	}
	said, paths, err := once(t, declared, has)
	if err != nil {
		t.Error(err)
	}
	want := []string{
		"carbon zone-a=320/1 since never at 0", "carbon zone-b=45/1 since never at 0",
		"free node-1=4/1 since -1 at 0",
		"node.cpu.usage node-1=1500/1 since -311 at -10", "node.cpu.usage node-2=2000/1 since -311 at -10",
		"node.cpu.usage node-3=250/1 since -311 at -10",
		"node.memory.usage node-1=7516192768/1 since -311 at -10", "node.memory.usage node-2=7516192768/1 since -311 at -10",
		"node.memory.usage node-3=7516192768/1 since -311 at -10",
	}
	if !slices.Equal(said, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	for _, path := range []string{
		".metadata.name", ".status.nodeMetric.nodeUsage.resources.cpu", ".status.updateTime", ".data[*]", ".nodes[*].name",
		`.nodes[*].free["nvidia.com/gpu"]`,
	} {
		if !slices.Contains(paths, path) {
			t.Errorf("%s is not held against a schema: %v", path, paths)
		}
	}

	// What is no number is left out and said, and of two objects with one key the older one counts.
	has[koordinator] = []string{
		metric("node-1", "2025-01-03T00:00:00Z", `{}`), metric("node-2", "2025-01-03T00:00:00Z", `"many"`),
		metric("node-5", "2025-01-03T00:00:00Z", "7"), metric("node-5", "2025-01-02T00:00:00Z", "5"),
		`{"metadata": {"name": "node-6"}, "status": {"updateTime": "today", "nodeMetric": {"nodeUsage": {"resources": {"cpu": "1"}}}}}`,
		metric("node-7", "2025-01-03T00:00:00Z", "true"), metric("node-8", "2025-01-03T00:00:00Z", "[]"),
		metric("node-9", "2025-01-03T00:00:00Z", "1e300"),
	}
	has["pools.example.com/v1"] = nil
	said, _, err = once(t, declared, has)
	for _, want := range []string{
		"8 of 15 values are left out: the object of \"node-1\": .status.nodeMetric.nodeUsage.resources.cpu is an object, and no number",
		"feed free: there is no such resource",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want %q", err, want)
		}
	}
	cpu := slices.DeleteFunc(said, func(s string) bool { return !strings.HasPrefix(s, "node.cpu") })
	if len(cpu) != 1 || !strings.HasPrefix(cpu[0], "node.cpu.usage node-5=5000/1") {
		t.Errorf("got %v, want node-5 by its older object", cpu)
	}
}

// TestObjectMistakes: what is wrong in the source of a feed is said with its place and what to do.
func TestObjectMistakes(t *testing.T) {
	for source, want := range map[string]string{
		"{}":                                               ".resource: \"\" is no resource",
		"{resource: secrets/v1, value: .x}":                ".resource: secrets are never read",
		"{resource: a.b/v1}":                               ".value: it is missing",
		"{resource: a.b/v1, value: status.x}":              ".value: \"status.x\" is no path: begin it with a dot",
		`{resource: a.b/v1, value: ".x[*]"}`:               ".value: it leads to several values: write [*] in rows",
		"{resource: a.b/v1, value: .x, rows: .y}":          ".rows: it leads to one value",
		`{resource: a.b/v1, value: .x, key: "@key"}`:       ".key: @key is of rows",
		"{resource: a.b/v1, value: .x, time: x}":           ".time: \"x\" is no path",
		"{resource: a.b/v1, value: .x, lag: 25h}":          ".lag: 25h0m0s is not between",
		"{resource: a.b/v1, value: .x, scale: -1}":         ".scale: -1 is not between",
		"{resource: a.b/v1, value: .x, nodeName: .y}":      "nodeName",
		"{resource: pods/v1/status, value: .x, key: .y.z}": "subresource",
	} {
		_, err := feeds.Load(t.Context(), file(t, "feeds.yaml", head+"- {name: a, unit: x, source: {object: "+source+"}}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", source, err, want)
		}
	}
	path := file(t, "feeds.yaml", head+"- {name: a, unit: x, source: {object: {resource: a.b/v1, value: .x}}}\n")
	declared, err := feeds.Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := feeds.New(feeds.Config{Feeds: declared}, feeds.Deps{}); err == nil || !strings.Contains(err.Error(), "needs a cluster") {
		t.Errorf("got %v without a cluster", err)
	}
}

package objectview_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/objectview"
	"github.com/berth-scheduler/berth/runtime/state"
)

// view returns a view of columns of an object that is called o.
func view(t *testing.T, field string, columns ...string) *wire.ObjectView {
	t.Helper()
	m := wire.Manifest{
		Name: "x", Version: "1.0.0", ABI: "1.2", Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}},
		Reads: wire.ManifestReads{Objects: []wire.ManifestObject{{Name: "o", Resource: "boxes.example.com/v1", Join: "node", Field: field}}},
	}
	for _, c := range columns {
		m.Reads.ObjectColumns = append(m.Reads.ObjectColumns, "o"+c)
	}
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	return &m.ObjectViews()[0]
}

// parse reads YAML as the API's decoder does: whole numbers are int64.
func parse(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		t.Fatal(err)
	}
	return object
}

// show writes what a view has: a column a line.
func show(c *state.Columns) string {
	var out []string
	for i := range max(len(c.Numbers), len(c.Texts)) {
		var all []string
		for _, n := range c.NumbersOf(i) {
			if n == abi.NoNumber {
				all = append(all, "-")
			} else {
				all = append(all, fmt.Sprint(n))
			}
		}
		for _, text := range c.TextsOf(i) {
			if text == nil {
				all = append(all, "-")
			} else {
				all = append(all, *text)
			}
		}
		out = append(out, strings.Join(all, " "))
	}
	return strings.Join(out, "\n")
}

// topology is of the form that node-feature-discovery writes: topology.node.k8s.io/v1alpha2.
const topology = `
metadata: {name: node-a, creationTimestamp: "2026-01-02T03:04:05Z"}
attributes: [{name: topologyManagerScope, value: container}, {name: topologyManagerPolicy, value: single-numa-node}]
zones:
- name: node-0
  type: Node
  costs: [{name: node-0, value: 10}, {name: node-1, value: 20}]
  resources:
  - {name: cpu, available: "3500m", capacity: "4"}
  - {name: example.com/gpu, available: 1}
- name: node-1
  resources: []
- null
- name: node-2
  resources:
  - {name: memory, available: 1Gi}
`

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		object  string
		columns []string
		want    string
		lost    string
	}{
		"one value each": {
			object: "metadata: {name: node-n}\nspec: {s: text, i: 7, q: 1500m, t: '1970-01-01T00:01:00Z', b: true, 'a/b': {c: 1}}",
			columns: []string{
				".spec.s:string", ".spec.i:integer", ".spec.q:quantity", ".spec.t:time", ".spec.b:boolean", `.spec["a/b"].c:integer`, ".spec.none:string", ".spec.none:time",
			},
			want: "text\n7\n1500\n60\n1\n1\n\n",
		},
		"lists in lists": {
			object: topology,
			columns: []string{
				".zones[*].name:string", ".zones[*].resources[*].name:string", ".zones[*].resources[*].available:quantity",
				".zones[*].resources[*].@parent:integer", ".zones[*].type:string", ".attributes[name=topologyManagerPolicy].value:string",
				".zones[*].costs[*].value:integer", ".metadata.creationTimestamp:time", ".zones[*].resources[*].capacity:quantity",
			},
			want: "node-0 node-1 node-2\ncpu example.com/gpu memory\n3500 1000 1073741824000\n0 0 2\nNode - -\nsingle-numa-node\n10 20\n1767323045\n4000 - -",
		},
		"a map in the order of its keys": {
			object:  "metadata: {name: node-n}\nspec: {max: {nvidia.com/gpu: 4, cpu: 500m, memory: 1Ki}}",
			columns: []string{".spec.max[*].@key:string", ".spec.max[*]:quantity"},
			want:    "cpu memory nvidia.com/gpu\n500 1024000 4000",
		},
		"places in a list": {
			object: "metadata: {name: node-n}\nspec: [{x: 1}, {y: 2}]", columns: []string{".spec[*].@key:string", ".spec[*].x:integer"}, want: "0 1\n1 -",
		},
		"the nearest number": {
			object:  `{"metadata": {"name": "node-n"}, "q": "1e30", "r": "-1e30", "s": 9223372036854775807, "t": 1e300, "u": 9223372036854775807, "v": -1e300, "w": 1.0001}`,
			columns: []string{".q:quantity", ".r:quantity", ".s:quantity", ".t:integer", ".u:integer", ".v:quantity", ".w:quantity"},
			want:    fmt.Sprint(math.MaxInt64, "\n", -math.MaxInt64, "\n", math.MaxInt64, "\n", math.MaxInt64, "\n", math.MaxInt64, "\n", -math.MaxInt64, "\n1001"),
		},
		"other types": {
			object:  "metadata: {name: node-n}\nspec: {list: [{a: {}}, {a: 1}, {a: x}], s: [1], q: lots}",
			columns: []string{".spec.list[*].a:integer", ".spec.s:string", ".spec.q:quantity", ".spec.list:boolean", ".spec.q[*].x:string"},
			want:    "- 1 -\n\n\n\n", lost: ".spec.list[*].a: an object is not a value of type integer",
		},
		"a long text": {
			object: "metadata: {name: node-n}\nspec: " + strings.Repeat("x", 4097), columns: []string{".spec:string"}, lost: "the text has 4097 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := objectview.New(view(t, "", c.columns...)).Read(parse(t, c.object))
			if got := show(o.Columns); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if (o.Lost == nil) != (c.lost == "") || o.Lost != nil && !strings.Contains(o.Lost.Error(), c.lost) {
				t.Errorf("left out: %v, want %q", o.Lost, c.lost)
			}
		})
	}
}

// TestOfNamespaces: an object is of its own namespace, or of the one that a field names.
func TestOfNamespaces(t *testing.T) {
	object := parse(t, "apiVersion: example.com/v1\nkind: Box\nmetadata: {name: b, namespace: team-a}\nspec: {x: 1, team: team-b}")
	for field, want := range map[string]string{"": "team-a", ".spec.team": "team-b", ".spec.none": "", ".spec.x": ""} {
		v := view(t, field, ".spec.x:integer")
		v.Join = wire.JoinNamespace
		out, _ := objectview.Join([]wire.ObjectView{*v}, []map[string]any{object})
		cell, has := out[0].Cells[want]
		if out[0].Of != state.OfNamespaces || !has || want != "" && cell.Columns.NumbersOf(0)[0] != 1 || want == "" && len(out[0].Cells) != 1 {
			t.Errorf("%s: %+v", field, out)
		}
	}
}

// TestTooMany: an object with more values than a view may have is none, and its text does not stay in memory.
func TestTooMany(t *testing.T) {
	object := parse(t, "metadata: {name: node-n}\nspec: [{a: 1}]")
	list := object["spec"].([]any)
	object["spec"] = slices.Repeat(list, 70_000)
	o := objectview.New(view(t, "", ".spec[*].a:integer")).Read(object)
	if o.Columns != nil || o.Lost == nil || o.Owner != "node-n" {
		t.Errorf("%+v", o)
	}
}

func TestTable(t *testing.T) {
	v := view(t, ".spec.node", ".spec.x:integer")
	reader, table := objectview.New(v), objectview.NewTable(v)
	object := func(name, node, created string, x int) *objectview.Object {
		return reader.Read(parse(t, fmt.Sprintf("metadata: {name: %s, namespace: d, creationTimestamp: %q}\nspec: {node: %s, x: %d}", name, created, node, x)))
	}
	const old, young = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
	changed := map[string]state.Cell{}
	expect := func(want map[string]int64) {
		t.Helper()
		if len(changed) != len(want) {
			t.Errorf("changed %v, want %v", changed, want)
		}
		for node, x := range want {
			cell, ok := changed[node]
			if has := cell.Columns.NumbersOf(0); !ok || (len(has) == 0) != (x == 0) || x != 0 && (has[0] != x || cell.State != abi.FeedFresh) {
				t.Errorf("%s: %+v, want %d", node, cell, x)
			}
		}
		clear(changed)
	}
	table.Set(object("b", "node-n", young, 2), changed)
	expect(map[string]int64{"node-n": 2})
	table.Set(object("a", "node-n", old, 1), changed) // the older one counts
	expect(map[string]int64{"node-n": 1})
	if left := table.Left("boxes"); len(left) != 1 || !strings.Contains(left[0].Error(), "1 objects do not count") {
		t.Error(left)
	}
	table.Set(object("a", "node-m", old, 1), changed) // and moves
	expect(map[string]int64{"node-n": 2, "node-m": 1})
	table.Delete("d/b", changed)
	expect(map[string]int64{"node-n": 0})
	table.Set(object("a", "node-m", old, 3), changed)
	expect(map[string]int64{"node-m": 3})
	if table.Bytes() <= 0 {
		t.Error("it takes nothing")
	}
	table.Clear(changed)
	expect(map[string]int64{"node-m": 0})
	if table.Bytes() != 0 || len(table.Names()) != 0 {
		t.Error("something is left")
	}
}

// TestJoin: objects of other resources and versions do not count, and one cell says that the objects are known.
func TestJoin(t *testing.T) {
	v := view(t, "", ".x:integer")
	out, lost := objectview.Join([]wire.ObjectView{*v}, []map[string]any{
		parse(t, "apiVersion: example.com/v1\nkind: Box\nmetadata: {name: node-n}\nx: 5"),
		parse(t, "apiVersion: example.com/v2\nkind: Box\nmetadata: {name: m}\nx: 6"),
		parse(t, "apiVersion: v1\nkind: Box\nmetadata: {name: o}\nx: 7"),
	})
	if len(out) != 1 || out[0].Name != v.Key() || len(out[0].Cells) != 2 || len(lost) != 0 {
		t.Fatalf("%+v, %v", out, lost)
	}
	if known := out[0].Cells[objectview.Known]; known.State != abi.FeedFresh || out[0].Cells["node-n"].Columns.NumbersOf(0)[0] != 5 {
		t.Errorf("%+v", out[0].Cells)
	}
}

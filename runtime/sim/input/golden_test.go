package input

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/internal/golden"
)

// TestGolden loads the files of each testdata/*.txtar and compares the result, objects or
// errors, with the archive's file "want". Lines of the archive's comment set options:
//
//	load: PATH …                    for LoadCluster; default: all files
//	strict                          so that mistakes are not left out; also in *-errors.txtar
//	trace: inflate=1.3 shuffle …    nodes.csv and pods.csv are a trace
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			path, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
			t.Chdir(t.TempDir())
			for _, f := range a.Files {
				if err := os.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(f.Name, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			strict := strings.HasSuffix(path, "-errors.txtar") || strings.Contains(string(a.Comment), "\nstrict\n")
			got := run(t, string(a.Comment), strict)
			a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(got)})
			golden.Check(t, path, txtar.Format(a))
		})
	}
}

func run(t *testing.T, comment string, strict bool) string {
	paths := []string{"."}
	for line := range strings.Lines(comment) {
		if words, ok := strings.CutPrefix(line, "load:"); ok {
			paths = strings.Fields(words)
		}
		if words, ok := strings.CutPrefix(line, "trace:"); ok {
			trace, err := LoadTrace(t.Context(), "openb", "nodes.csv", "pods.csv", traceOptions(t, words))
			if err != nil {
				return err.Error() + "\n"
			}
			return dumpTrace(t, trace)
		}
	}
	o, err := LoadCluster(t.Context(), paths, strict)
	if err != nil {
		return err.Error() + "\n"
	}
	return dump(t, o)
}

func traceOptions(t *testing.T, words string) (o TraceOptions) {
	for _, word := range strings.Fields(words) {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "seed":
			o.Seed, err = strconv.ParseInt(value, 10, 64)
		case "inflate":
			o.Inflate, err = strconv.ParseFloat(value, 64)
		case "slots":
			o.PodSlots, err = strconv.ParseInt(value, 10, 64)
		case "shuffle":
			o.Shuffle = true
		case "departures":
			o.Departures = true
		default:
			err = fmt.Errorf("unknown option %s", name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// all returns the objects, kind by kind.
func (o *Objects) all() (out []metav1.Object) {
	out = appendAll(out, o.Nodes)
	out = appendAll(out, o.Pods)
	out = appendAll(out, o.PriorityClasses)
	out = append(out, flat(o.Lists())...)
	out = appendAll(out, o.SchedulerPlugins)
	out = appendAll(out, o.PluginGrants)
	return appendAll(out, o.TenantPlugins)
}

func appendAll[T metav1.Object](out []metav1.Object, list []T) []metav1.Object {
	for _, object := range list {
		out = append(out, object)
	}
	return out
}

func dump(t *testing.T, o *Objects) string {
	var b bytes.Buffer
	for _, obj := range o.all() {
		src, ok := o.Source(obj)
		if !ok {
			t.Errorf("%s has no source", obj.GetName())
		}
		fmt.Fprintf(&b, "# %s\n%s", src, toYAML(t, obj))
	}
	fmt.Fprintf(&b, "# ended: %d\n", o.Ended)
	if o.Deleting > 0 {
		fmt.Fprintf(&b, "# deleting: %d\n", o.Deleting)
	}
	for _, w := range o.Warnings {
		fmt.Fprintf(&b, "# warning: %s\n", w)
	}
	return b.String()
}

func dumpTrace(t *testing.T, trace *Trace) string {
	var b bytes.Buffer
	for _, n := range trace.Nodes {
		fmt.Fprintf(&b, "# rank %d\n%s", trace.NodeRank[n.Name], toYAML(t, n))
	}
	for _, a := range trace.Arrivals {
		fmt.Fprintf(&b, "# at %v until %v\n%s", a.At, a.Until, toYAML(t, a.Pod))
	}
	return b.String()
}

// toYAML omits fields that every node has and no file sets.
func toYAML(t *testing.T, v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	if status, ok := tree["status"].(map[string]any); ok {
		delete(status, "nodeInfo")
		delete(status, "daemonEndpoints")
	}
	for key, value := range tree {
		if m, ok := value.(map[string]any); ok && len(m) == 0 {
			delete(tree, key)
		}
	}
	text, err = yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

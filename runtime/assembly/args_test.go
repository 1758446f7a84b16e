package assembly

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/module"
)

// written returns the configuration that /configz shows, in the form of a file.
func written(t *testing.T, s *config.Scheduler) []byte {
	t.Helper()
	versioned, bad := s.Versioned()
	text, err := yaml.Marshal(versioned)
	if err := errors.Join(bad, err); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestWrittenDefault: what /configz shows without a configuration.
func TestWrittenDefault(t *testing.T) {
	golden.Check(t, "testdata/default.yaml", written(t, Default()))
}

// TestWrittenIsRead: a configuration that is written and read again makes the same plugins,
// whether a file or a command line named its modules.
func TestWrittenIsRead(t *testing.T) {
	modules := newModules(t)
	file := guest{}.write(t)
	text := fmt.Sprintf(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 0
profiles:
- schedulerName: first
  plugins:
    multiPoint: {enabled: [{name: mine, weight: 7}], disabled: [{name: ImageLocality}]}
    score: {enabled: [{name: NodeAffinity, weight: 9}], disabled: [{name: TaintToleration}]}
  pluginConfig:
  - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
  - name: mine
    args:
      apiVersion: berth.dev/v1alpha1
      kind: WasmPluginArgs
      module: {path: %[1]q}
      namespaces: [b, a]
      failurePolicy: {filter: Ignore}
      grants: {labels: [example.com/]}
      limits: {deadline: 2s, memory: 64Mi, fuelPerRow: 5000}
- {schedulerName: second, percentageOfNodesToScore: 30, plugins: {postFilter: {disabled: [{name: "*"}]}}}
`, file)
	s, _, err := parsed(modules, []byte(text), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	enabled(t, modules, s, module.Reference{Path: file, Name: "flag", Weight: 3, GrantAll: true, Namespaces: []string{"c"}})
	raw := written(t, s)
	again, _, err := parsed(modules, raw, "again.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	if twice := written(t, again); string(twice) != string(raw) {
		t.Errorf("\n got: %s\nwant: %s", twice, raw)
	}
	for i := range s.Profiles {
		was, is := &s.Profiles[i], &again.Profiles[i]
		if got, want := slices.Sorted(maps.Keys(is.Args)), slices.Sorted(maps.Keys(was.Args)); !slices.Equal(got, want) {
			t.Errorf("%s: args of %v, want %v", was.SchedulerName, got, want)
		}
		for name, args := range was.Args {
			if m := moduleOf(args); m != nil {
				if again := moduleOf(is.Args[name]); again == nil || !again.same(m) {
					t.Errorf("%s: %s is another plugin", was.SchedulerName, name)
				}
			} else if !reflect.DeepEqual(is.Args[name].Typed, args.Typed) {
				t.Errorf("%s: args of %s are %+v, want %+v", was.SchedulerName, name, is.Args[name].Typed, args.Typed)
			}
		}
		if len(is.Points) != len(was.Points) {
			t.Errorf("%s: %d points, want %d", was.SchedulerName, len(is.Points), len(was.Points))
		}
	}
}

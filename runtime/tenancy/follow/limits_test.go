package follow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// running are the objects of a namespace of which some version runs.
func (w *world) running(namespace string) map[string]bool {
	out := map[string]bool{}
	for _, x := range w.last() {
		if name, _, _ := strings.Cut(x.Name, "@"); x.Module != nil && strings.HasPrefix(name, namespace+"/") {
			out[name] = true
		}
	}
	return out
}

// TestCanariesCount: a plugin counts towards maxPlugins whichever of its versions run: one that is new and has
// only a canary, and one whose stable version cannot run.
func TestCanariesCount(t *testing.T) {
	w := newWorld(t)
	w.grant(2)
	for i := range 5 {
		w.apply("a", fmt.Sprint("p", i), "1")
		w.mu.objects.TenantPlugins[i].Spec.Mode = v1alpha1.ModeCanary
	}
	for range 3 {
		w.sync()
		w.report()
	}
	w.sync()
	if got := w.running("a"); len(got) != 2 {
		t.Errorf("%d plugins run, and 2 are granted: %s", len(got), w.shares())
	}
	if n := len(w.mu.fetched); n != 2 {
		t.Errorf("%d modules were fetched: %q", n, w.mu.fetched)
	}
	if c := w.mu.objects.TenantPlugins[2].Status.Conditions; len(c) != 2 || c[0].Reason != tenancy.TooManyPlugins {
		t.Errorf("the status of a/p2 is %+v", c)
	}
	if g := w.mu.objects.PluginGrants[0].Status; g.Plugins != 2 {
		t.Errorf("the grant says that it admits %d", g.Plugins)
	}

	w = newRollout(t) // a/p, with version 2 as its canary
	w.sync()
	w.report()
	w.expectShares("a/p: 1 1-100, a/p@canary: 2 0-1")
	older := w.mu.objects.TenantPlugins[0].DeepCopy()
	older.Name, older.UID, older.Status = "o", types.UID("a/o"), v1alpha1.PluginStatus{}
	older.Spec.Module.Image, older.Spec.Mode = "registry.test/guest:3", v1alpha1.ModeEnforce
	w.mu.objects.TenantPlugins = append(w.mu.objects.TenantPlugins, older)
	w.sync()
	if got := w.running("a"); len(got) != 1 {
		t.Errorf("%d plugins run, and 1 is granted: %s", len(got), w.shares())
	}
}

// TestLargeConfigurations: with the largest configurations, an object with all of its versions fits into what the API server can store, beside its history and kubectl's annotation. A larger one is refused, and
// its status says so.
func TestLargeConfigurations(t *testing.T) {
	const most, stored, annotations, history = 256 << 10, 1536 << 10, 256 << 10, 32 * 2 << 10
	w := newRollout(t, v1alpha1.RolloutStep{Percent: 10, Pause: "0s", MinAttempts: 1})
	configure := func(version int, size int) {
		w.change(func(s *v1alpha1.TenantPluginSpec) {
			text := fmt.Sprintf(`{"v":%02d,"x":"`, version)
			s.Config = &v1alpha1.Config{RawExtension: runtime.RawExtension{Raw: []byte(text + strings.Repeat("x", size-len(text)-2) + `"}`)}}
		})
		w.clock.Advance(time.Minute)
		w.sync()
		w.report()
	}
	largest := 0
	for version := range 4 {
		configure(version+10, most)
		for range 2 {
			w.sync()
			w.report()
			w.attempts(1, "a/p@canary", 0)
			text, err := json.Marshal(w.mu.objects.TenantPlugins[0])
			if err != nil {
				t.Fatal(err)
			}
			largest = max(largest, len(text))
		}
	}
	if largest < 4*most || largest > stored-annotations-history {
		t.Errorf("an object has up to %d bytes", largest)
	}
	configure(99, most+1)
	s := w.mu.objects.TenantPlugins[0].Status
	if c := s.Conditions[1]; !strings.Contains(c.Message, "cannot run: Invalid: spec.config: 262145 bytes, at most 262144 are allowed") {
		t.Errorf("%+v", c)
	}
}

// TestRunningIsTold: who keeps something by the names and digests of plugins hears which of them run.
func TestRunningIsTold(t *testing.T) {
	w := newWorld(t)
	w.grant(1)
	var last string
	for _, version := range []string{"1", "2"} {
		w.apply("a", "p", version)
		w.sync()
		if len(w.mu.told) != 1 || !strings.HasPrefix(w.mu.told[0], "a/p sha256:") || w.mu.told[0] == last {
			t.Fatalf("told of %q, after %q", w.mu.told, last)
		}
		last = w.mu.told[0]
	}
	w.mu.objects.TenantPlugins = nil
	w.sync()
	if len(w.mu.told) != 0 {
		t.Errorf("told of %q, after the object is gone", w.mu.told)
	}
}

// TestRestart: a scheduler that starts has all plugins of a namespace at once: they are no changes.
func TestRestart(t *testing.T) {
	const plugins = 30
	w := newWorld(t)
	w.grant(plugins)
	for i := range plugins {
		w.apply("a", fmt.Sprintf("p%02d", i), "1")
	}
	w.sync()
	if n := len(w.running("a")); n != plugins {
		t.Errorf("%d of %d plugins run", n, plugins)
	}
	w.clock.Advance(starting)
	for i := range plugins {
		w.apply("a", fmt.Sprintf("p%02d", i), "2")
	}
	w.sync()
	if n := len(w.mu.fetched); n != plugins+changesAtOnce {
		t.Errorf("%d fetches", n)
	}
}

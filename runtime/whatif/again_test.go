package whatif_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// refusing enables a module in shadow whose filter rejects all nodes.
func refusing(t *testing.T, c *whatif.Cluster, of assembly.ModulesConfig) {
	t.Helper()
	data := wat.Compile(t, `(module
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32)
			(memory.fill (i32.load offset=24 (local.get 0)) (i32.const 2) (i32.load offset=20 (local.get 0))) (i32.const 0)))`,
		`{"name": "refuse", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, "reads": {"node": ["labels"]}}`)
	file := filepath.Join(t.TempDir(), "refuse.wasm")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	modules := assembly.NewModules(of)
	t.Cleanup(func() { _ = modules.Close(context.Background()) })
	c.Scheduler.Modules = modules
	m, err := modules.Load(module.Reference{Path: file, Use: module.Use{Mode: v1alpha1.ModeShadow}})
	if err == nil {
		err = m.Enable(c.Scheduler.Scheduler)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAgain: each pod is decided about twice in the same cluster, without itself: pods that were asked about
// before are back on their nodes or gone, and nobody was preempted.
func TestAgain(t *testing.T) {
	c := full()
	refusing(t, c, assembly.ModulesConfig{})
	onA := func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{v1.LabelHostname: "a"} }
	c.Nominated = []*v1.Pod{
		pod("nominated", "1", 0, func(p *v1.Pod) { p.Status.NominatedNodeName = "b" }),
		pod("three", "3", 0, func(p *v1.Pod) { p.Status.NominatedNodeName = "b" }), // is asked about itself
	}
	pods := []*v1.Pod{
		c.Bound[0].Object, // 2 of the 4 cores of a
		pod("two", "2", 0, onA),
		pod("vip", "4", 9, onA),
		pod("two-more", "2", 0, onA),
		c.Nominated[1],
		pod("another-three", "3", 0),
		pod("four", "4", 0),
		pod("claims", "1", 0, func(p *v1.Pod) { p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}} }),
		pod("gated", "1", 0, func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}} }),
	}
	got, err := c.Again(t.Context(), "refuse", pods)
	if err != nil {
		t.Fatal(err)
	}
	if got.Pods != 7 || got.Gated != 1 || got.WithClaims != 1 || len(got.Trials) != 1 {
		t.Fatalf("%+v", got)
	}
	r := &got.Trials[0]
	if counts := r.String(); counts != "7 decisions made again, 3 the same, 3 pending, 1 another preemption" {
		t.Errorf("%s", counts)
	}
	var differ []string
	for i := range r.Differences {
		d := &r.Differences[i]
		differ = append(differ, fmt.Sprintf("%s: %s, was %s%s, would be %s%s", d.Pod, d.Kind, d.Was.Node, d.Was.Nominated, d.Would.Node, d.Would.Nominated))
	}
	want := []string{
		"another-three: pending, was b, would be ", "three: pending, was b, would be ",
		"vip: preemption, was a, would be ", "set: pending, was b, would be ",
	}
	if diff := cmp.Diff(want, differ); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Bound[0].UID != "set" || pods[0].Spec.NodeName != "a" {
		t.Error("the cluster was changed")
	}
}

// resizing is a plugin that has pods on nodes tried for a resize in place.
type resizing struct{ info plugin.Info }

func (r *resizing) Info() *plugin.Info { return &r.info }

func (r *resizing) Permit(p *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	if p.Pod.ResizeDeferred() {
		return 0, plugin.Directives{}, plugin.NewStatus(abi.Unschedulable, "the kubelet has to act")
	}
	return 0, plugin.Directives{}, nil
}

// TestAgainResizes: only the pods in question count, not those on nodes that wait for a resize in place.
func TestAgainResizes(t *testing.T) {
	c := full()
	waits := c.Bound[0].Object.DeepCopy()
	waits.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred}}
	c.Bound[0] = state.NewPod(waits)
	s := assembly.Default()
	mine := s.Profiles[0].Points["bind"][0]
	mine.Name = "Resizing"
	s.Profiles[0].Points["permit"] = append(s.Profiles[0].Points["permit"], mine)
	c.Scheduler.Scheduler = s
	c.Scheduler.Plugins = plugin.Registry{"Resizing": func(any) (plugin.Plugin, error) {
		return &resizing{plugin.Info{Name: "Resizing", Resizes: true, TriesResizes: true}}, nil
	}}
	got, err := c.Again(t.Context(), "none", []*v1.Pod{pod("two", "2", 0)})
	if err != nil || got.Pods != 1 || got.Gated != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAgainHandler: the query is checked, and errors have their codes.
func TestAgainHandler(t *testing.T) {
	for path, c := range map[string]struct {
		err  error
		code int
		says string
	}{
		whatif.AgainPath("/", "team-a/pool", 10):     {nil, http.StatusOK, `{"plugin":"team-a/pool","pods":10`},
		whatif.AgainPath("/", "pool", 0):             {nil, http.StatusBadRequest, "write ?plugin=NAME&last=N with N from 1 to 1000"},
		whatif.AgainPath("/", "pool", 1001):          {nil, http.StatusBadRequest, "write ?plugin=NAME"},
		whatif.AgainPath("/", "", 10):                {nil, http.StatusBadRequest, "write ?plugin=NAME"},
		"/?plugin=pool&last=many":                    {nil, http.StatusBadRequest, "write ?plugin=NAME"},
		whatif.AgainPath("/", "busy", 10):            {whatif.ErrBusy, http.StatusTooManyRequests, "another question"},
		whatif.AgainPath("/", "absent", 10):          {whatif.Refuse(errors.New("no module")), http.StatusBadRequest, "no module"},
		whatif.AgainPath("/", "not yet started", 10): {errors.New("not started"), http.StatusServiceUnavailable, "not started"},
	} {
		w := httptest.NewRecorder()
		whatif.AgainHandler(func(_ context.Context, plugin string, last int) (*whatif.Again, error) {
			return &whatif.Again{Plugin: plugin, Pods: last}, c.err
		}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != c.code || !strings.HasPrefix(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestWithoutShadow: a question runs no plugin in shadow, so it needs no memory for it.
func TestWithoutShadow(t *testing.T) {
	c := full()
	refusing(t, c, assembly.ModulesConfig{Memory: 1 << 20})
	if got := told(ask(t, c, &whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "1", 0)}}})); got != "p Fits b" {
		t.Error(got)
	}
	if _, err := c.Again(t.Context(), "refuse", []*v1.Pod{pod("p", "1", 0)}); err == nil {
		t.Error("the plugin has room")
	}
}

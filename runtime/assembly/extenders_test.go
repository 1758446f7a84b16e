package assembly

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// binder is an extender that may bind pods, and the API server that it talks to.
type binder struct {
	*recorder
	*httptest.Server
	fail  string
	pods  map[types.UID]*state.Pod
	calls []string
}

func (b *binder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked extenderv1.ExtenderBindingArgs
	_ = json.NewDecoder(r.Body).Decode(&asked)
	b.calls = append(b.calls, "bind "+asked.PodName+" to "+asked.Node)
	if b.fail == "" {
		b.pods[asked.PodUID] = b.pods[asked.PodUID].On(asked.Node, state.Patch{})
		b.scheduler.Scheduler.SetPods(b.pods[asked.PodUID])
	}
	_ = json.NewEncoder(w).Encode(extenderv1.ExtenderBindingResult{Error: b.fail})
}

// Patch implements objects.Patcher.
func (b *binder) Patch(_ context.Context, pod *state.Pod, patch state.Patch) (func(context.Context) error, error) {
	was := b.pods[pod.UID]
	b.calls = append(b.calls, fmt.Sprintf("patch %v", patch.Annotations))
	b.pods[pod.UID] = was.On("", patch)
	return func(context.Context) error {
		b.calls = append(b.calls, "undo")
		b.pods[pod.UID] = was
		return nil
	}, nil
}

// labeller is a plugin that patches pods at Reserve.
type labeller struct{ info plugin.Info }

func (l *labeller) Info() *plugin.Info { return &l.info }

func (l *labeller) Reserve(*plugin.Placement) (plugin.Directives, *plugin.Status) {
	return plugin.Directives{Patch: state.Patch{Annotations: map[string]string{"gpu": "0"}}}, nil
}

func (l *labeller) Unreserve(*plugin.Placement) plugin.Directives { return plugin.Directives{} }

// TestExtenderBinds: the extender binds the pods that it manages, after the patches of plugins;
// DefaultBinder binds the others. NodeResourcesFit ignores the extender's resources.
func TestExtenderBinds(t *testing.T) {
	for name, test := range map[string]struct {
		fail, ignorable string
		keep            bool // whether bindVerb is used
		want            string
	}{
		"bound":    {keep: true, want: "patch map[gpu:0]; bind managed to n-000; DefaultBinder other n-000"},
		"fails":    {fail: "no", keep: true, want: "patch map[gpu:0]; bind managed to n-000; undo; DefaultBinder other n-000"},
		"ignored":  {fail: "no", ignorable: ", ignorable: true", keep: true, want: "patch map[gpu:0]; bind managed to n-000; undo; DefaultBinder managed n-000; DefaultBinder other n-000"},
		"not kept": {want: "DefaultBinder managed n-000; DefaultBinder other n-000"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &binder{recorder: &recorder{}, fail: test.fail, pods: map[types.UID]*state.Pod{}}
			b.Server = httptest.NewServer(b)
			defer b.Close()
			c := Config{IgnoreBindVerbs: !test.keep, Scheduler: parse(t, fmt.Sprintf(`
extenders:
- {urlPrefix: %q, bindVerb: bind, managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]%s}
profiles:
- pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [example.com/mine]}}]
`, b.URL, test.ignorable))}
			ref := c.Scheduler.Profiles[0].Points["bind"][0]
			ref.Name = "Labeller"
			c.Scheduler.Profiles[0].Points["reserve"] = append(c.Scheduler.Profiles[0].Points["reserve"], ref)
			c.Plugins = plugin.Registry{"Labeller": func(any) (plugin.Plugin, error) { return &labeller{plugin.Info{Name: "Labeller"}}, nil }}
			a, err := New(c, Deps{
				Clock: clock.NewStep(time.Unix(0, 0)), Binder: b.recorder, Patcher: b, Outlet: b.recorder, Observer: b.recorder, Spawn: func(run func()) { run() },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			b.scheduler = a
			n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-000"}}
			n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("10")}
			a.Scheduler.SetNode(state.NewNode(n))
			for name, resourceName := range map[string]v1.ResourceName{"managed": "example.com/gpu", "other": "", "unknown": "example.com/mine"} {
				p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
				p.Spec.SchedulerName = v1.DefaultSchedulerName
				p.Spec.Containers = []v1.Container{{}}
				if resourceName != "" {
					p.Spec.Containers[0].Resources.Requests = v1.ResourceList{resourceName: resource.MustParse("1")}
				}
				b.pods[p.UID] = state.NewPod(p)
				a.Scheduler.SetPods(b.pods[p.UID])
			}
			for a.Scheduler.Step(t.Context()) {
			}
			slices.Sort(b.bound)
			for _, pod := range b.bound {
				b.calls = append(b.calls, "DefaultBinder "+pod)
			}
			if got := strings.Join(b.calls, "; "); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
			// The extenders' resources replace the ignoredResources of the file.
			for _, attempt := range b.attempts {
				if attempt.Pod == "unknown" && !strings.Contains(attempt.Message, "Insufficient example.com/mine") {
					t.Errorf("the attempt for pod unknown: %+v", attempt)
				}
			}
			if len(b.attempts) < 3 {
				t.Errorf("%d attempts", len(b.attempts))
			}
		})
	}
}

// TestExtenderRejects: any event wakes a pod that an extender rejected, and no plugin of a
// profile may have the extenders' name.
func TestExtenderRejects(t *testing.T) {
	answer := `{"NodeNames": []}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	defer s.Close()
	text := fmt.Sprintf("extenders: [{urlPrefix: %q, filterVerb: f, nodeCacheCapable: true}]\n", s.URL)
	r := start(t, Config{Scheduler: parse(t, text)})
	r.run(t, 1)
	answer = `{"NodeNames": ["n-000"]}`
	r.scheduler.Scheduler.Event(state.ClusterEvent{Resource: state.CSIDriverResource, Action: state.Add}, state.Object{})
	for r.scheduler.Scheduler.Step(t.Context()) {
	}
	if len(r.attempts) != 2 || len(r.bound) != 1 || r.attempts[0].Rejections[0].Plugin != "Extender" {
		t.Errorf("bound %v, attempts %+v", r.bound, r.attempts)
	}

	c := Config{Scheduler: parse(t, text), Plugins: plugin.Registry{"Extender": func(any) (plugin.Plugin, error) {
		return &labeller{plugin.Info{Name: "Extender"}}, nil
	}}}
	c.Scheduler.Profiles[0].Points["reserve"] = slices.Clone(c.Scheduler.Profiles[0].Points["bind"])
	c.Scheduler.Profiles[0].Points["reserve"][0].Name = "Extender"
	if _, err := New(c, Deps{Binder: noBinder{}, Clock: clock.Real{}, Outlet: r}); err == nil || !strings.Contains(err.Error(), `two plugins are named "Extender"`) {
		t.Errorf("a plugin of that name: %v", err)
	}
}

package extender_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// service is an extender that gives prepared answers and records requests.
type service struct {
	*httptest.Server
	mu      sync.Mutex
	asked   []string // METHOD PATH CONTENT-TYPE, and the body
	answers map[string]string
	status  int
}

// serve answers each path with a fixed text.
func serve(t testing.TB, answers map[string]string) *service {
	s := &service{answers: answers, status: http.StatusOK}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("%s %s %s\n%s\n", r.Method, r.URL.Path, r.Header.Get("Content-Type"), body))
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, s.answers[strings.TrimPrefix(r.URL.Path, "/")])
}

// paths returns the paths requested since the last call.
func (s *service) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, a := range s.asked {
		out = append(out, strings.Fields(a)[1])
	}
	s.asked = nil
	return out
}

func node(name string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "z-" + name}}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}
	return n
}

func pod(name, onNode string, change ...func(p *v1.Pod)) *state.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}}
	p.Spec.NodeName = onNode
	p.Spec.Containers = []v1.Container{{Name: "main"}}
	for _, f := range change {
		f(p)
	}
	return state.NewPod(p)
}

// requests makes a pod request one unit of a resource.
func requests(name string) func(p *v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceName(name): resource.MustParse("1")}
	}
}

// cycleOf returns a cycle for a pod with the nodes a, b, c and d. Pods v1 and v2 are on a, w is
// on b.
func cycleOf(t testing.TB, p *state.Pod) *plugin.Cycle {
	var infos []*state.NodeInfo
	slot := uint32(0)
	for i, name := range []string{"a", "b", "c", "d"} {
		info := &state.NodeInfo{Name: name, Node: state.NewNode(node(name)), ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1)}
		for _, on := range map[string][]string{"a": {"v1", "v2"}, "b": {"w"}}[name] {
			info.AddPod(state.PlacedPod{Pod: pod(on, name), Slot: slot, Generation: uint64(slot + 1)})
			slot++
		}
		infos = append(infos, info)
	}
	s := state.NewSnapshot()
	s.Rebuild(infos)
	return &plugin.Cycle{Context: t.Context(), Snapshot: s, Pod: p, State: &state.CycleState{}}
}

func create(t testing.TB, configs ...configv1.Extender) *extender.Extenders {
	t.Helper()
	e, err := extender.New(configs, extender.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// victims returns candidates of a preemption: a without v1 and v2, b without w.
func victims(c *plugin.Cycle) []plugin.Candidate {
	on := func(row uint32) (out []*state.Pod) {
		for _, slot := range c.Snapshot.Nodes.Pods.Row(row) {
			out = append(out, c.Snapshot.Pods.Pod[slot])
		}
		return out
	}
	return []plugin.Candidate{{Row: 1, Victims: on(1)}, {Row: 0, Victims: on(0), PDBViolations: 1}}
}

func tell(c *plugin.Cycle, candidates []plugin.Candidate) string {
	var out []string
	for _, candidate := range candidates {
		var names []string
		for _, p := range candidate.Victims {
			names = append(names, p.Name)
		}
		out = append(out, fmt.Sprintf("%s:%s/%d", c.Snapshot.Name(candidate.Row), strings.Join(names, "+"), candidate.PDBViolations))
	}
	return strings.Join(out, " ")
}

// patcher records patches, and fails as configured.
type patcher struct {
	log  []string
	fail error // of Patch
	stay error // of undoing patches
}

func (p *patcher) Patch(_ context.Context, pod *state.Pod, patch state.Patch) (func(context.Context) error, error) {
	p.log = append(p.log, fmt.Sprintf("patch %s %v", pod.Name, patch.Annotations))
	return func(ctx context.Context) error {
		p.log = append(p.log, fmt.Sprintf("undo, ended %v", ctx.Err() != nil))
		return p.stay
	}, p.fail
}

func names(c *plugin.Cycle, rows []uint32) string {
	var out []string
	for _, row := range rows {
		out = append(out, c.Snapshot.Name(row))
	}
	if !slices.IsSorted(rows) {
		out = append(out, "not sorted")
	}
	return strings.Join(out, " ")
}

package accept_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/test/internal/accept"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// history is a sequence of writes in the notation of the tests: "+n0" and "-n0" for nodes, "p1"
// for a created pod, "p1>n0" for a binding, "~p1" for a pod that is being deleted, "-p1" for
// one that is deleted.
type history struct {
	*testing.T
	pod      func(name string) *v1.Pod
	pods     map[string]*v1.Pod
	revision int64
	to       func(revision int64, object metav1.Object, deleted bool) error
}

// play converts the notation into writes, and of returns names of pods.
func play(t *testing.T, writes string, pod func(name string) *v1.Pod, to func(revision int64, object metav1.Object, deleted bool) error) {
	t.Helper()
	h := &history{T: t, pod: pod, pods: make(map[string]*v1.Pod), to: to}
	for _, word := range strings.Fields(writes) {
		name, deleted := strings.CutPrefix(word, "-")
		name = strings.TrimPrefix(name, "+")
		if strings.HasPrefix(name, "n") {
			var i int
			if _, err := fmt.Sscanf(name, "n%d", &i); err != nil {
				h.Fatal(err)
			}
			node := workload.Node(i, workload.Capacity{CPU: 4, Memory: 8, Pods: 10})
			node.Name = name
			h.write(node, deleted)
			continue
		}
		name, leaving := strings.CutPrefix(name, "~")
		name, node, _ := strings.Cut(name, ">")
		if h.pods[name] == nil {
			h.pods[name] = h.pod(name)
			h.pods[name].UID = types.UID(name)
		}
		h.pods[name] = h.pods[name].DeepCopy()
		if node != "" {
			h.pods[name].Spec.NodeName = node
		}
		if leaving {
			h.pods[name].DeletionTimestamp = new(metav1.Now())
		}
		h.write(h.pods[name], deleted)
	}
}

func (h *history) write(object metav1.Object, deleted bool) {
	h.Helper()
	h.revision++
	if err := h.to(h.revision, object, deleted); err != nil {
		h.Fatal(err)
	}
}

// halfANode is what a pod requests.
func halfANode(name string) *v1.Pod { return workload.Pod("default", name, 2000, 100) }

func check(t *testing.T, config accept.Config, pod func(name string) *v1.Pod, writes string) accept.Result {
	t.Helper()
	checker, err := accept.New(klog.NewContext(t.Context(), logr.Discard()), config)
	if err != nil {
		t.Fatal(err)
	}
	play(t, writes, pod, checker.Write)
	result, err := checker.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestChecker(t *testing.T) {
	half := halfANode
	apart := func(name string) *v1.Pod { // a1, a2 have anti-affinity on a node
		pod := half(name)
		pod.Labels = map[string]string{"app": name[:1]}
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}, TopologyKey: v1.LabelHostname,
		}}}}
		return pod
	}
	follow := func(name string) *v1.Pod { // those after a have affinity to the zone of a
		pod := half(name)
		pod.Labels = map[string]string{"name": name}
		if name != "a" {
			pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": "a"}}, TopologyKey: v1.LabelTopologyZone,
			}}}}
		}
		return pod
	}
	spread := func(name string) *v1.Pod { // s… spread over zones, others with the same label do not
		pod := half(name)
		pod.Labels = map[string]string{"app": "x"}
		if name[0] == 's' {
			pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			}}
		}
		return pod
	}
	for _, test := range []struct {
		name   string
		pod    func(string) *v1.Pod
		writes string
		want   accept.Result
		why    string
	}{
		{"room", half, "+n0 p1 p2 p1>n0 p2>n0", accept.Result{Accepted: 2}, ""},
		{"no room", half, "+n0 p1 p2 p3 p1>n0 p2>n0 p3>n0", accept.Result{Accepted: 2}, "NodeResourcesFit: Insufficient cpu"},
		{"room that a pod left", half, "+n0 p1 p2 p3 p1>n0 p2>n0 -p1 p3>n0", accept.Result{Accepted: 3}, ""},
		{"room that a pod leaves later", half, "+n0 p1 p2 p3 p1>n0 p2>n0 p3>n0 -p1", accept.Result{Accepted: 3, Late: 1}, ""},
		{"gone before there was room", half, "+n0 p1 p2 p3 p1>n0 p2>n0 p3>n0 -p3 -p1", accept.Result{Accepted: 2}, "NodeResourcesFit: Insufficient cpu"},
		{"created with a node", half, "+n0 p1>n0 p2>n0 p3 p3>n0", accept.Result{}, "NodeResourcesFit: Insufficient cpu"},
		{"node that is gone", half, "+n0 p1 -n0 p1>n0", accept.Result{}, "there is no such node"},
		{"apart", apart, "+n0 +n1 a1 a2 b1 a1>n0 a2>n1 b1>n0", accept.Result{Accepted: 3}, ""},
		{"not apart", apart, "+n0 +n1 a1 a2 a1>n0 a2>n0", accept.Result{Accepted: 1}, "InterPodAffinity: node(s) didn't match pod anti-affinity rules"},
		{"written before what it depends on", follow, "+n0 +n3 a b c b>n0 c>n3 a>n0", accept.Result{Accepted: 3, Late: 2}, ""},
		{"depends on nobody", follow, "+n0 b b>n0", accept.Result{}, "InterPodAffinity: node(s) didn't match pod affinity rules"},
		{"written after others that spoil it", spread, "+n0 +n1 +n2 s1 x1 s1 x1>n0 s1>n0", accept.Result{Accepted: 2, Early: 1}, ""},
		{"spoilt", spread, "+n0 +n1 +n2 s1 s2 s1>n0 s2>n0", accept.Result{Accepted: 1}, "PodTopologySpread: node(s) didn't match pod topology spread constraints"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := check(t, accept.Config{InFlight: 4}, test.pod, test.writes)
			if got.Accepted != test.want.Accepted || got.Early != test.want.Early || got.Late != test.want.Late {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if why := reasons(got); why != test.why {
				t.Errorf("refused for %q, want %q", why, test.why)
			}
		})
	}
	// Pods are numbered in the order of the decisions.
	for _, test := range []struct {
		name   string
		pod    func(string) *v1.Pod
		writes string
		want   int
		why    string
	}{
		{"as decided", spread, "+n0 +n1 +n2 s1 x2 x3 s4 s1>n0 s4>n0 x3>n2 x2>n1", 4, ""},
		{"decided otherwise", spread, "+n0 +n1 +n2 x1 x2 s3 x1>n0 s3>n0 x2>n1", 2, "PodTopologySpread: node(s) didn't match pod topology spread constraints"},
		{"updated before it is asked about", spread, "+n0 s1 x2 x2>n0 s1>n0 x2>n0", 2, ""},
		{"decided before another write", half, "+n0 p2 p3 p1 p2>n0 p3>n0 -p2 p1>n0", 3, ""},
		{"counted until it is told to go", spread, "+n0 +n1 +n2 x1 x2 x3 s4 x1>n0 x2>n2 x3>n1 s4>n1 ~x1", 4, ""},
		{"not counted any more", spread, "+n0 +n1 +n2 x1 x2 x3 s4 x1>n0 x2>n2 x3>n1 ~x1 s4>n1", 3, "PodTopologySpread: node(s) didn't match pod topology spread constraints"},
		{"no room", half, "+n0 p1 p2 p3 p3>n0 p2>n0 p1>n0 -p1", 2, "NodeResourcesFit: Insufficient cpu"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := check(t, accept.Config{Decided: func(pod *v1.Pod) (uint64, error) {
				return strconv.ParseUint(pod.Name[1:], 10, 64)
			}}, test.pod, test.writes)
			if why := reasons(got); got.Accepted != test.want || why != test.why {
				t.Errorf("accepted %d and refused with %q, want %d and %q", got.Accepted, why, test.want, test.why)
			}
		})
	}
}

func reasons(r accept.Result) string {
	why := ""
	for _, refusal := range r.Refusals {
		why += refusal.Why
	}
	return why
}

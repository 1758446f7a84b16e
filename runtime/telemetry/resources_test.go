package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/telemetry"
)

// TestResources: each pod has a line for each of its resources, including those of init
// containers and overhead.
func TestResources(t *testing.T) {
	list := func(pairs ...string) v1.ResourceList {
		out := make(v1.ResourceList)
		for i := 0; i < len(pairs); i += 2 {
			out[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return out
	}
	container := func(requests, limits v1.ResourceList) v1.Container {
		return v1.Container{Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}
	}
	placed := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "placed"}, Spec: v1.PodSpec{
		NodeName: "n1", SchedulerName: "berth", Priority: new(int32(-7)),
		InitContainers: []v1.Container{container(list("cpu", "3"), nil)},
		Containers: []v1.Container{
			container(list("cpu", "250m", "memory", "1Gi", "example.com/gpu", "0"), list("memory", "2Gi")),
			container(list("cpu", "1", "hugepages-2Mi", "4Mi", "example.com/gpu", "2", "attachable-volumes-x", "1"), list("hugepages-2Mi", "4Mi")),
		},
		Overhead: list("cpu", "500m"),
	}}
	waiting := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "waiting"}, Spec: v1.PodSpec{
		SchedulerName: "berth", Containers: []v1.Container{container(list("cpu", "100m"), nil)},
	}}
	pods := []*v1.Pod{placed, waiting}
	handler := telemetry.ResourcesHandler(func() []*v1.Pod { return pods })
	lines := func() []string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics/resources", nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var out []string
		for line := range strings.Lines(w.Body.String()) {
			if !strings.HasPrefix(line, "#") {
				out = append(out, strings.TrimSpace(line))
			}
		}
		slices.Sort(out)
		return out
	}
	const of, none = `{namespace="ns",node="n1",pod="placed",priority="-7",`, `{namespace="ns",node="",pod="waiting",priority="",`
	want := []string{
		`kube_pod_resource_limit` + of + `resource="hugepages-2Mi",scheduler="berth",unit="bytes"} 4.194304e+06`,
		`kube_pod_resource_limit` + of + `resource="memory",scheduler="berth",unit="bytes"} 2.147483648e+09`,
		`kube_pod_resource_request` + none + `resource="cpu",scheduler="berth",unit="cores"} 0.1`,
		`kube_pod_resource_request` + of + `resource="attachable-volumes-x",scheduler="berth",unit="integer"} 1`,
		`kube_pod_resource_request` + of + `resource="cpu",scheduler="berth",unit="cores"} 3.5`,
		`kube_pod_resource_request` + of + `resource="example.com/gpu",scheduler="berth",unit=""} 2`,
		`kube_pod_resource_request` + of + `resource="hugepages-2Mi",scheduler="berth",unit="bytes"} 4.194304e+06`,
		`kube_pod_resource_request` + of + `resource="memory",scheduler="berth",unit="bytes"} 1.073741824e+09`,
	}
	if diff := cmp.Diff(want, lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if pods = nil; lines() != nil {
		t.Error("lines without pods")
	}
}

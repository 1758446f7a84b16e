package debughttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/report/reporttest"
)

// TestChange: only a pod that waits for this scheduler is asked about, and only if that is wanted. The change is in
// the explanation for programs, too.
func TestChange(t *testing.T) {
	r := debughttp.NewRecorder(3, nil)
	r.Attempted(attempt(1, "a", abi.Unschedulable, ""), node)
	c := config(r)
	asked := 0
	var failure error
	c.Now = func(_ context.Context, pod *v1.Pod) (*debughttp.Now, error) {
		asked++
		return &debughttp.Now{Code: report.DoesNotFit, Change: &report.Change{Kind: report.RemoveSelector, Node: "n1", Selector: &report.Selector{Key: pod.Name}}}, failure
	}
	for _, x := range []struct {
		name, scheduler, node string
		deleted, asks         bool
	}{
		{"a", "q", "", false, true}, {"a", "other", "", false, false}, {"a", "q", "n1", false, false}, {"a", "q", "", true, false},
	} {
		c.Lookup = func(context.Context, types.NamespacedName) (*v1.Pod, error) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: x.name, UID: types.UID(x.name)}, Spec: v1.PodSpec{SchedulerName: x.scheduler, NodeName: x.node}}
			if x.deleted {
				pod.DeletionTimestamp = &metav1.Time{}
			}
			return pod, nil
		}
		path := debughttp.ExplainPath + "ns/" + x.name
		for _, query := range []string{path, debughttp.WithChange(path)} {
			before := asked
			w := get(t, debughttp.NewHandler(c), http.MethodGet, query)
			want := x.asks && query != path
			var fields struct {
				Now         *debughttp.Now  `json:"now"`
				Explanation json.RawMessage `json:"explanation"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &fields); err != nil {
				t.Fatal(err)
			}
			reporttest.Validate(t, fields.Explanation)
			var e report.Explanation
			if err := json.Unmarshal(fields.Explanation, &e); err != nil {
				t.Fatal(err)
			}
			if (asked > before) != want || (fields.Now != nil) != want || (e.Change != nil) != want {
				t.Errorf("%+v, %s: %s", x, query, w.Body)
			}
		}
	}
	failure = errors.New("another question is being answered")
	c.Lookup = func(context.Context, types.NamespacedName) (*v1.Pod, error) {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "a"}, Spec: v1.PodSpec{SchedulerName: "q"}}, nil
	}
	var pod debughttp.Pod
	if err := json.Unmarshal(get(t, debughttp.NewHandler(c), http.MethodGet, debughttp.WithChange(debughttp.ExplainPath+"ns/a")).Body.Bytes(), &pod); err != nil || pod.Now != nil || pod.NowError != failure.Error() || pod.Last == nil {
		t.Errorf("%v, %+v", err, pod)
	}
}

package kube

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// ages are those of decisions.
type ages struct{ seen []time.Duration }

func (*ages) Wrote(string, time.Duration, error)                   {}
func (*ages) Prepared(string, string, string, bool, time.Duration) {}
func (a *ages) Sent(age time.Duration)                             { a.seen = append(a.seen, age) }

// TestOldDecisions: a binding that has waited for the limit of requests is not sent if its node went, was cordoned or tainted
// meanwhile. What was there when the node was chosen, and what the pod tolerates, does not matter.
func TestOldDecisions(t *testing.T) {
	taint := func(key string, effect v1.TaintEffect) func(*v1.Node) {
		return func(n *v1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Value: "x", Effect: effect})
		}
	}
	cordon := func(n *v1.Node) { n.Spec.Unschedulable = true }
	for name, test := range map[string]struct {
		before, meanwhile func(*v1.Node) // no node meanwhile if nil
		tolerates         string
		doubt             bool // the first request is answered with an internal error, and the node changes after it
		want              string
	}{
		"same":                 {meanwhile: func(*v1.Node) {}},
		"labelled":             {meanwhile: func(n *v1.Node) { n.Labels = map[string]string{"a": "b"} }},
		"deleted":              {want: `node "n" was deleted after it was chosen`},
		"made again":           {meanwhile: func(n *v1.Node) { n.UID = "other" }, want: `node "n" was deleted after it was chosen`},
		"cordoned":             {meanwhile: cordon, want: `node "n" was cordoned after it was chosen`},
		"cordoned, tolerated":  {meanwhile: cordon, tolerates: v1.TaintNodeUnschedulable},
		"cordoned before":      {before: cordon, meanwhile: cordon},
		"tainted":              {meanwhile: taint("k", v1.TaintEffectNoSchedule), want: "got the taint k=x:NoSchedule after it was chosen"},
		"to be left":           {meanwhile: taint("k", v1.TaintEffectNoExecute), want: "got the taint k=x:NoExecute after it was chosen"},
		"tainted, preference":  {meanwhile: taint("k", v1.TaintEffectPreferNoSchedule)},
		"tainted, tolerated":   {meanwhile: taint("k", v1.TaintEffectNoSchedule), tolerates: "k"},
		"tainted before":       {before: taint("k", v1.TaintEffectNoSchedule), meanwhile: taint("k", v1.TaintEffectNoSchedule)},
		"deleted, maybe bound": {doubt: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chosen := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}}
				now := chosen.DeepCopy()
				if test.before != nil {
					test.before(chosen)
				}
				pod := &v1.Pod{ObjectMeta: named("p")}
				if test.tolerates != "" {
					pod.Spec.Tolerations = []v1.Toleration{{Key: test.tolerates, Operator: v1.TolerationOpExists}}
				}
				client := fake.NewClientset(pod)
				requests := 0
				client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					if requests++; requests == 1 && test.doubt {
						return true, nil, apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
					}
					return true, &v1.Binding{}, nil
				})
				seen := &ages{}
				pace := flowcontrol.NewTokenBucketRateLimiter(0.5, 1)
				c, err := New(Config{Profiles: []string{"default-scheduler"}}, Deps{Client: client, Pace: pace, Observer: seen})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close(t.Context())
				store := c.watches.nodes.GetStore()
				if err := store.Add(chosen); err != nil {
					t.Fatal(err)
				}
				if !test.doubt {
					pace.Accept()
				}
				time.AfterFunc(time.Second, func() {
					if test.meanwhile == nil {
						_ = store.Delete(chosen)
						return
					}
					test.meanwhile(now)
					_ = store.Update(now)
				})
				var sent atomic.Int64
				binding := objects.Binding{Pod: state.NewPod(pod), Node: "n", Chosen: state.NewNode(chosen), Sent: func() { sent.Add(1) }}
				err = c.Bind(t.Context(), binding)
				if test.want == "" {
					if err != nil || requests == 0 || sent.Load() == 0 {
						t.Errorf("%d requests, %d sent: %v", requests, sent.Load(), err)
					}
					if late := 2 * time.Second; !test.doubt && (len(seen.seen) != 1 || seen.seen[0] != late) {
						t.Errorf("ages %v, want %v", seen.seen, late)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), test.want) || requests > 0 || sent.Load() > 0 || len(seen.seen) > 0 {
					t.Errorf("%d requests, ages %v: %v, want %q", requests, seen.seen, err, test.want)
				}
			})
		})
	}
}

// TestPrepaid: a binding waits for the limit once, and what client-go repeats waits again.
func TestPrepaid(t *testing.T) {
	pace := newPace(&rest.Config{QPS: 0.001, Burst: 2})
	limit, ctx := prepaid{pace}, paid(t.Context())
	if err := limit.Wait(ctx); err != nil {
		t.Error(err)
	}
	for range 2 {
		if !pace.TryAccept() {
			t.Error("the first request has paid twice")
		}
	}
	now, cancel := context.WithTimeout(ctx, time.Minute) // 16 minutes are too long
	defer cancel()
	if err := limit.Wait(now); err == nil {
		t.Error("a repeated request does not wait")
	}
	if newPace(&rest.Config{QPS: -1}) != nil {
		t.Error("a negative limit is one")
	}
}

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/state"
)

// holder is a cluster that writes why pods are held back, one each second, in a bubble of synctest.
type holder struct {
	*kube.Cluster
	t       *testing.T
	client  *fake.Clientset
	standby atomic.Bool
}

func hold(t *testing.T, test func(t *testing.T, h *holder), pods ...runtime.Object) {
	t.Helper()
	holdBy(t, nil, test, pods...)
}

// holdBy is hold for what some plugins hold back; nil means all.
func holdBy(t *testing.T, by []string, test func(t *testing.T, h *holder), pods ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &holder{t: t, client: fake.NewClientset(pods...)}
		h.client.Resources = []*metav1.APIResourceList{{GroupVersion: "events.k8s.io/v1"}}
		var err error
		h.Cluster, err = kube.New(kube.Config{Profiles: []string{"default-scheduler"}, HeldWrites: 1, HeldBy: by},
			kube.Deps{Client: h.client, Covered: func() error {
				if h.standby.Load() {
					return errors.New("another replica leads")
				}
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close(context.Background())
		if err := h.Start(newEar(h.Cluster)); err != nil {
			t.Fatal(err)
		}
		if err := h.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, h)
	})
}

// pod returns a pod as the watch has it.
func (h *holder) pod(name string) *state.Pod {
	h.t.Helper()
	p := h.Pod(types.NamespacedName{Namespace: "ns", Name: name})
	if p == nil {
		h.t.Fatalf("the watch does not have pod %s", name)
	}
	return state.NewPod(p)
}

// after lets time pass, in which these writes are made.
func (h *holder) after(d time.Duration, want ...string) {
	h.t.Helper()
	synctest.Wait()
	time.Sleep(d)
	synctest.Wait()
	if got := writes(h.client); !slices.Equal(got, want) {
		h.t.Errorf("after %v the writes are\n%s\nwant\n%s", d, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	h.client.ClearActions()
}

func holds(name, message string) string {
	const patch = `patch status %s {"metadata":{"uid":"uid-%s"},"status":{"conditions":[` +
		`{"message":"%s","reason":"NotReadyForScheduling","status":"False","type":"PodScheduled"}]}}`
	return fmt.Sprintf(patch, name, name, message)
}

func lets(name string) string {
	return fmt.Sprintf(`patch status %s {"metadata":{"uid":"uid-%s"},"status":{"conditions":[{"$patch":"delete","type":"PodScheduled"}]}}`,
		name, name)
}

// TestHeld: a hold that lasts is written once, with each change of its message, and removed when it ends.
func TestHeld(t *testing.T) {
	hold(t, func(_ *testing.T, h *holder) {
		h.Gated(h.pod("p"), "Quota", "no quota\x1b[31m left")
		h.after(kube.HeldFor - time.Nanosecond)
		h.after(time.Nanosecond, holds("p", "Quota: no quota\ufffd[31m left"))
		h.Gated(h.pod("p"), "Quota", "no quota\x1b[31m left")
		h.after(time.Hour)
		h.Gated(h.pod("p"), "Quota", "soon")
		h.after(kube.HeldFor, holds("p", "Quota: soon"))
		h.Gated(h.pod("p"), "", "")
		h.after(kube.HeldFor, lets("p"))
		h.Gated(h.pod("p"), "", "")
		h.after(time.Hour)
	}, pod("p", "", "default-scheduler"))
}

// TestHeldShortly: what is undone before it is written is not written, and the time begins anew with each change.
func TestHeldShortly(t *testing.T) {
	hold(t, func(_ *testing.T, h *holder) {
		h.Gated(h.pod("p"), "Quota", "none left")
		h.after(3 * time.Second)
		h.Gated(h.pod("p"), "", "")
		h.after(time.Second)
		h.Gated(h.pod("p"), "Quota", "none left")
		h.after(kube.HeldFor - time.Second)
		h.after(kube.HeldFor, holds("p", "Quota: none left"))
	}, pod("p", "", "default-scheduler"))
}

// TestHeldBudget: one write a second, in the order of the holds.
func TestHeldBudget(t *testing.T) {
	var pods []runtime.Object
	for _, name := range []string{"a", "b", "c"} {
		pods = append(pods, pod(name, "", "default-scheduler"))
	}
	hold(t, func(_ *testing.T, h *holder) {
		for _, name := range []string{"a", "b", "c"} {
			h.Gated(h.pod(name), "Quota", "none left")
		}
		h.after(kube.HeldFor, holds("a", "Quota: none left"))
		h.after(time.Second - time.Nanosecond)
		h.after(time.Nanosecond, holds("b", "Quota: none left"))
		h.after(time.Second, holds("c", "Quota: none left"))
	}, pods...)
}

// TestHeldBy: with a list of plugins, only what they say is written, without the plugin's name twice, and removed when another plugin holds
// the pod back.
func TestHeldBy(t *testing.T) {
	holdBy(t, []string{"NotReady"}, func(_ *testing.T, h *holder) {
		h.Gated(h.pod("p"), "Quota", "none left")
		h.after(time.Hour)
		h.Gated(h.pod("p"), "NotReady", "NotReady: the plugin x does not run")
		h.after(kube.HeldFor, holds("p", "NotReady: the plugin x does not run"))
		h.Gated(h.pod("p"), "Quota", "none left")
		h.after(kube.HeldFor, lets("p"))
	}, pod("p", "", "default-scheduler"))
}

// TestHeldOtherwise: the conditions of gates in the pod's spec, of failed attempts and of bound pods stay.
func TestHeldOtherwise(t *testing.T) {
	gated := pod("gated", "", "default-scheduler")
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}}
	hold(t, func(t *testing.T, h *holder) {
		h.Gated(h.pod("gated"), "SchedulingGates", "waiting for scheduling gates: [example.com/gate]")
		h.Gated(h.pod("bound"), "Quota", "none left")
		if err := h.Binding(t.Context(), h.pod("bound")); err != nil {
			t.Fatal(err)
		}
		h.Gated(h.pod("failed"), "Quota", "none left")
		h.after(kube.HeldFor, holds("failed", "Quota: none left"))
		// It is let go, and tried before that is written.
		old := h.pod("failed")
		h.Gated(old, "", "")
		h.Failed(failure(old.Object, "no room"))
		const unschedulable = `patch status failed {"metadata":{"uid":"uid-failed"},"status":{"conditions":[` +
			`{"message":"no room","reason":"Unschedulable","status":"False","type":"PodScheduled"}]}}`
		h.after(kube.HeldFor, unschedulable)
		h.Gated(old, "", "") // a version from before the attempt
		h.after(kube.HeldFor)
	}, gated, pod("failed", "", "default-scheduler"), pod("bound", "", "default-scheduler"))
}

// TestHeldStandby: a replica that does not lead writes nothing, and what is left to write when it does.
func TestHeldStandby(t *testing.T) {
	said := pod("said", "", "default-scheduler")
	said.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: kube.ReasonHeld,
		Message: "Quota: none left"}}
	free := said.DeepCopy()
	free.Name, free.UID = "free", "uid-free"
	hold(t, func(_ *testing.T, h *holder) {
		h.standby.Store(true)
		h.Gated(h.pod("said"), "Quota", "none left")
		h.Gated(h.pod("free"), "", "")
		h.Gated(h.pod("p"), "Quota", "none left")
		h.after(time.Hour)
		h.standby.Store(false)
		h.after(kube.HeldFor, lets("free"))
		h.after(time.Second, holds("p", "Quota: none left"))
	}, said, free, pod("p", "", "default-scheduler"))
}

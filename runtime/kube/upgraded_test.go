package kube_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// changing is an API server whose DeviceTaintRules come and go. Who may not list them is refused, whether it has them or not.
type changing struct {
	*mute
	version atomic.Int64 // of the lists, and in the name of the only rule
	may     atomic.Bool
	watched atomic.Pointer[watch.RaceFreeFakeWatcher]
}

const taintRules = "devicetaintrules"

func newChanging() *changing {
	s := &changing{mute: newMute()}
	s.away.Store(false)
	refused := func() error {
		if s.may.Load() {
			return nil
		}
		return apierrors.NewForbidden(resourcev1.SchemeGroupVersion.WithResource(taintRules).GroupResource(), "", nil)
	}
	client := s.Interface.(*fake.Clientset)
	client.PrependReactor("list", taintRules, func(clienttesting.Action) (bool, runtime.Object, error) {
		version := fmt.Sprint(s.version.Load())
		return true, &resourcev1.DeviceTaintRuleList{ListMeta: metav1.ListMeta{ResourceVersion: version}, Items: []resourcev1.DeviceTaintRule{
			{ObjectMeta: metav1.ObjectMeta{Name: "broken-" + version, ResourceVersion: version}},
		}}, refused()
	})
	client.PrependWatchReactor(taintRules, func(clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewRaceFreeFake()
		s.watched.Store(w)
		return true, w, refused()
	})
	return s
}

// serve has discovery list these kinds of resource.k8s.io/v1.
func (s *changing) serve(names ...string) {
	list := &metav1.APIResourceList{GroupVersion: resourcev1.SchemeGroupVersion.String()}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
	}
	s.served.Store(list)
}

// TestUpgradedServer: discovery is asked anew after each failure. A kind that comes with an upgrade of the API server is watched
// without a restart, as soon as the scheduler may list it; it may go with a downgrade, and come again. Meanwhile its objects stay.
func TestUpgradedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log safeBuffer
		server := newChanging()
		devices := []string{"resourceclaims", "resourceslices", "deviceclasses"}
		server.serve(devices...)
		c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: server,
			Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		e := newEar(c)
		if err := c.Start(e); err != nil {
			t.Fatal(err)
		}
		const lacks, cannot, again = "does not have this kind; no rule", "cannot watch the cluster", "the kind is watched again"
		const gone = "no longer has this kind; its objects count"
		logged := func(when string, counts map[string]int) {
			t.Helper()
			time.Sleep(10 * time.Minute) // longer than informers pause
			for text, want := range counts {
				if n := strings.Count(log.String(), text); n != want {
					t.Errorf("%s: %q is logged %d times, want %d:\n%s", when, text, n, want, log.String())
				}
			}
		}
		logged("before", map[string]int{lacks: 1, gone: 0, cannot: 0, again: 0})
		for round := 1; round <= 2; round++ {
			server.serve(append(devices, taintRules)...)
			logged("upgraded, but not allowed", map[string]int{lacks: 1, gone: round - 1, cannot: round, again: round - 1})
			server.version.Add(1)
			server.may.Store(true)
			logged("allowed", map[string]int{lacks: 1, gone: round - 1, cannot: round, again: round})
			heard := []string{"event resource.k8s.io/DeviceTaintRuleAdd"}
			if round > 1 { // the rule of before is gone
				heard = append(heard, "event resource.k8s.io/DeviceTaintRuleDelete")
			}
			e.expect(t, heard...)
			server.serve(devices...)
			server.may.Store(false)
			server.watched.Load().Stop()
			logged("downgraded", map[string]int{lacks: 1, gone: round, cannot: round, again: round})
			e.never(t)
			if err := c.Synced(); err != nil {
				t.Errorf("it waits for a kind that is gone: %v", err)
			}
		}
	})
}

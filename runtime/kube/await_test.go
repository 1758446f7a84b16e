package kube_test

import (
	"context"
	"errors"
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
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// mute is a client of a server that lists nothing while it is away, and says its version
// when it is told to.
type mute struct {
	kubernetes.Interface
	away    atomic.Bool
	asked   atomic.Int64
	answers chan error
	served  atomic.Pointer[metav1.APIResourceList] // what discovery says of every group; nil for what the fake client does
}

func newMute() *mute {
	client := fake.NewClientset()
	m := &mute{Interface: client, answers: make(chan error)}
	m.away.Store(true)
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return m.away.Load(), nil, errors.New("connection refused")
	})
	return m
}

// IsWatchListSemanticsUnSupported tells informers to list, as the fake client does.
func (m *mute) IsWatchListSemanticsUnSupported() bool { return true }

func (m *mute) Discovery() discovery.DiscoveryInterfaces {
	return &muteDiscovery{m.Interface.Discovery(), m}
}

type muteDiscovery struct {
	discovery.DiscoveryInterfaces
	client *mute
}

func (d *muteDiscovery) ServerVersion() (*version.Info, error) {
	d.client.asked.Add(1)
	return &version.Info{}, <-d.client.answers
}

func (d *muteDiscovery) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	if served := d.client.served.Load(); served != nil {
		return served, nil
	}
	return d.DiscoveryInterfaces.ServerResourcesForGroupVersion(groupVersion)
}

// TestAwait: while the API server does not even refuse, waiting ends all the same when
// it is told to, and when the cluster is known.
func TestAwait(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, m *mute, awaiting context.CancelFunc, result <-chan error, log *safeBuffer){
		"told to end": func(t *testing.T, m *mute, end context.CancelFunc, result <-chan error, _ *safeBuffer) {
			time.Sleep(time.Minute)
			if n := m.asked.Load(); n != 1 {
				t.Errorf("the server is asked %d times at once", n)
			}
			end()
			if err := <-result; err == nil || !strings.Contains(err.Error(), "pods: ") {
				t.Errorf("error is %v", err)
			}
			m.answers <- nil
		},
		"known": func(t *testing.T, m *mute, _ context.CancelFunc, result <-chan error, _ *safeBuffer) {
			time.Sleep(4 * time.Second)
			m.away.Store(false)
			if err := <-result; err != nil {
				t.Error(err)
			}
			m.answers <- nil
		},
		"told what is missing": func(t *testing.T, m *mute, end context.CancelFunc, result <-chan error, log *safeBuffer) {
			m.answers <- errors.New("no route")
			m.answers <- nil
			end()
			<-result
			for _, want := range []string{"the API server does not answer; retrying", "no route", "waiting for caches to sync", "connection refused"} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("%q is missing in %s", want, log)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log safeBuffer
				m := newMute()
				c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: m, Log: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Start(newEar(c)); err != nil {
					t.Fatal(err)
				}
				ctx, end := context.WithCancel(t.Context())
				result := make(chan error, 1)
				go func() { result <- c.Await(ctx) }()
				test(t, m, end, result, &log)
				c.Close(t.Context())
			})
		})
	}
}

// TestWithoutDevices: the scheduler does not wait for an API server without resource.k8s.io, but logs it; if
// it has it later, its objects arrive.
func TestWithoutDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log safeBuffer
		m := newMute()
		m.away.Store(false)
		var without atomic.Bool
		without.Store(true)
		m.Interface.(*fake.Clientset).PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			gone := without.Load() && a.GetResource().Group == resourcev1.GroupName
			return gone, nil, apierrors.NewNotFound(a.GetResource().GroupResource(), "")
		})
		class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu", ResourceVersion: "1"}}
		if _, err := m.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: m, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		e := newEar(c)
		if err := c.Start(e); err != nil {
			t.Fatal(err)
		}
		if err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := strings.Count(log.String(), "pods with resource claims stay pending"); n != 3 {
			t.Errorf("it is said %d times, want once for each of three kinds:\n%s", n, log.String())
		}
		without.Store(false)
		time.Sleep(10 * time.Minute) // longer than informers pause
		e.expect(t, "event resource.k8s.io/DeviceClassAdd")
	})
}

// TestHiddenKind: a kind that the API server does not have is no reason to wait, even if the user may not list it, which
// hides that. That it is missing is logged once, and so is that it is there later; a kind that is there is waited for.
func TestHiddenKind(t *testing.T) {
	const rules = "devicetaintrules"
	for name, test := range map[string]struct {
		served []string
		waits  bool
	}{
		"missing":   {served: []string{"resourceclaims", "resourceslices", "deviceclasses"}},
		"forbidden": {served: []string{"resourceclaims", "resourceslices", "deviceclasses", rules}, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log safeBuffer
				m := newMute()
				m.away.Store(false)
				client := m.Interface.(*fake.Clientset)
				served := &metav1.APIResourceList{GroupVersion: resourcev1.SchemeGroupVersion.String()}
				for _, name := range test.served {
					served.APIResources = append(served.APIResources, metav1.APIResource{Name: name})
				}
				client.Resources = []*metav1.APIResourceList{served}
				var forbidden atomic.Bool
				forbidden.Store(true)
				client.PrependReactor("list", rules, func(a clienttesting.Action) (bool, runtime.Object, error) {
					if forbidden.Load() {
						return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", nil)
					}
					return true, &resourcev1.DeviceTaintRuleList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []resourcev1.DeviceTaintRule{
						{ObjectMeta: metav1.ObjectMeta{Name: "broken", ResourceVersion: "7"}},
					}}, nil
				})
				c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: m, Log: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close(t.Context())
				e := newEar(c)
				if err := c.Start(e); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Minute)
				if err := c.Synced(); (err != nil) != test.waits {
					t.Errorf("it waits for %v, want %v", err, test.waits)
				}
				said := map[bool]string{false: "the API server does not have this kind; no rule taints devices", true: "cannot watch the cluster; retrying"}[test.waits]
				if n := strings.Count(log.String(), said); n != 1 {
					t.Errorf("%q is logged %d times:\n%s", said, n, log.String())
				}
				forbidden.Store(false)
				time.Sleep(10 * time.Minute) // longer than informers pause
				e.expect(t, "event resource.k8s.io/DeviceTaintRuleAdd")
				if n := strings.Count(log.String(), "the kind is watched again"); n != 1 || c.Synced() != nil {
					t.Errorf("its return is logged %d times, and what is missing is %v", n, c.Synced())
				}
			})
		})
	}
}

// TestKindWithoutChanges: each loss of a kind is logged once, with its end, although no object of the kind exists and its
// lists have the same version before and after.
func TestKindWithoutChanges(t *testing.T) {
	const rules = "devicetaintrules"
	synctest.Test(t, func(t *testing.T) {
		var log safeBuffer
		m := newMute()
		m.away.Store(false)
		client := m.Interface.(*fake.Clientset)
		client.Resources = []*metav1.APIResourceList{{
			GroupVersion: resourcev1.SchemeGroupVersion.String(), APIResources: []metav1.APIResource{{Name: rules}},
		}}
		var refuses atomic.Pointer[error]
		setRefusal := func(err error) { refuses.Store(&err) }
		client.PrependReactor("list", rules, func(clienttesting.Action) (bool, runtime.Object, error) {
			if err := refuses.Load(); err != nil && *err != nil {
				return true, nil, *err
			}
			return true, &resourcev1.DeviceTaintRuleList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
		})
		var watched atomic.Pointer[watch.RaceFreeFakeWatcher]
		client.PrependWatchReactor(rules, func(clienttesting.Action) (bool, watch.Interface, error) {
			if err := refuses.Load(); err != nil && *err != nil {
				return true, nil, *err
			}
			w := watch.NewRaceFreeFake()
			watched.Store(w)
			return true, w, nil
		})
		c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}},
			kube.Deps{Client: m, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		if err := c.Start(newEar(c)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		group := resourcev1.SchemeGroupVersion.WithResource(rules).GroupResource()
		for loss := 1; loss <= 2; loss++ {
			setRefusal(apierrors.NewForbidden(group, "", nil))
			watched.Load().Stop()
			time.Sleep(10 * time.Minute)
			setRefusal(apierrors.NewForbidden(group, "", errors.New("in other words")))
			time.Sleep(10 * time.Minute)
			if n := strings.Count(log.String(), "cannot watch the cluster; retrying"); n != loss {
				t.Fatalf("loss %d: logged %d times:\n%s", loss, n, log.String())
			}
			if n := strings.Count(log.String(), "the kind is watched again"); n != loss-1 {
				t.Fatalf("loss %d: %d returns:\n%s", loss, n, log.String())
			}
			setRefusal(nil)
			time.Sleep(10 * time.Minute)
			if n := strings.Count(log.String(), "the kind is watched again"); n != loss || c.Synced() != nil {
				t.Fatalf("loss %d: %d returns, and missing is %v:\n%s", loss, n, c.Synced(), log.String())
			}
		}
	})
}

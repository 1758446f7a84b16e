package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// leaseServer keeps Leases as an API server does: an update of an old version is refused.
type leaseServer struct {
	t       *testing.T
	mu      sync.Mutex
	version int
	leases  map[string]*coordinationv1.Lease // by name
	refuse  func(verb, name string) bool     // optional
}

func (s *leaseServer) answer(a clienttesting.Action) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sent *coordinationv1.Lease
	name := ""
	switch a := a.(type) {
	case clienttesting.GetAction:
		name = a.GetName()
	case clienttesting.UpdateAction: // a create, too
		sent = a.GetObject().(*coordinationv1.Lease).DeepCopy()
		name = sent.Name
	}
	resource := coordinationv1.Resource("leases")
	now := s.leases[name]
	switch verb := a.GetVerb(); {
	case s.refuse != nil && s.refuse(verb, name):
		return nil, apierrors.NewForbidden(resource, name, errors.New("no right"))
	case verb == "create" && now != nil:
		return nil, apierrors.NewAlreadyExists(resource, name)
	case verb != "create" && now == nil:
		return nil, apierrors.NewNotFound(resource, name)
	case verb == "get":
		return now.DeepCopy(), nil
	case verb == "update" && sent.ResourceVersion != now.ResourceVersion:
		return nil, apierrors.NewConflict(resource, name, errors.New("another version"))
	}
	s.version++
	sent.ResourceVersion = strconv.Itoa(s.version)
	s.leases[name] = sent
	return sent.DeepCopy(), nil
}

func (s *leaseServer) holder(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lease := s.leases[name]; lease != nil {
		return ptr.Deref(lease.Spec.HolderIdentity, "")
	}
	return ""
}

// contender is a replica.
type contender struct {
	name     string
	profiles []string
	tenure   *tenure
	election *Election
	cut      atomic.Bool // from the API server
	leads    atomic.Bool
	stop     context.CancelFunc
	ended    chan struct{}
	err      error // once it has ended
	log      bytes.Buffer
}

const contestedLease = 15 * time.Second

// start starts a replica with profiles and a Lease of its own. It works for a moment after it is told to stop.
func (s *leaseServer) start(lease string, profiles ...string) *contender {
	c := &contender{
		name: lease + strings.Join(profiles, ""), profiles: profiles,
		tenure: newTenure(clock.Real{}, contestedLease), ended: make(chan struct{}),
	}
	client := fake.NewClientset()
	client.PrependReactor("*", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if c.cut.Load() {
			return true, nil, apierrors.NewServiceUnavailable("cut off")
		}
		object, err := s.answer(a)
		return true, object, err
	})
	cluster, err := New(Config{Profiles: profiles}, Deps{Client: client, Log: slog.New(slog.NewTextHandler(&c.log, nil))})
	if err != nil {
		s.t.Fatal(err)
	}
	yes, duration := true, func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	c.election, err = NewElection(componentconfigv1alpha1.LeaderElectionConfiguration{
		LeaderElect: &yes, ResourceLock: "leases", ResourceNamespace: "kube-system", ResourceName: lease,
		LeaseDuration: duration(contestedLease), RenewDeadline: duration(10 * time.Second), RetryPeriod: duration(2 * time.Second),
	}, &Clients{Lease: client, tenure: c.tenure}, cluster)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(s.t.Context())
	c.stop = stop
	go func() {
		defer close(c.ended)
		c.err = c.election.Lead(ctx, func(ctx context.Context) error {
			c.leads.Store(true)
			<-ctx.Done()
			time.Sleep(300 * time.Millisecond)
			c.leads.Store(false)
			return nil
		})
		cluster.Close(context.WithoutCancel(ctx))
	}()
	return c
}

func (c *contender) end() {
	c.stop()
	<-c.ended
}

// writes reports whether a replica may write to the cluster.
func (c *contender) writes() bool { return c.leads.Load() && c.tenure.check() == nil }

func (c *contender) shares(other *contender) bool {
	return slices.ContainsFunc(c.profiles, func(p string) bool { return slices.Contains(other.profiles, p) })
}

// TestProfileLeases: what a leader does about the Leases of its profiles.
func TestProfileLeases(t *testing.T) {
	const a, b = "berth-profile-a", "berth-profile-b"
	for name, test := range map[string]func(t *testing.T, s *leaseServer){
		"renamed": func(t *testing.T, s *leaseServer) { // a rolling update to another name of the Lease
			old := s.start("old", "a", "b")
			time.Sleep(time.Minute)
			next := s.start("new", "b", "c")
			time.Sleep(time.Minute)
			if !old.writes() || next.leads.Load() || s.holder("berth-profile-c") != "" {
				t.Errorf("old writes: %v, new leads: %v, and %q holds c", old.writes(), next.leads.Load(), s.holder("berth-profile-c"))
			}
			old.end()
			time.Sleep(5 * time.Second)
			if old.err != nil || !next.writes() {
				t.Errorf("the next one does not lead: %v\n%s", old.err, &next.log)
			}
			next.end()
			if !strings.Contains(next.log.String(), "waits for it") {
				t.Errorf("the log does not say what it waits for:\n%s", &next.log)
			}
		},
		"nothing shared": func(t *testing.T, s *leaseServer) {
			one, two := s.start("one", "a"), s.start("two", "b")
			time.Sleep(5 * time.Second)
			if !one.writes() || !two.writes() {
				t.Error("they do not both lead")
			}
			one.end()
			two.end()
		},
		"cut off": func(t *testing.T, s *leaseServer) { // the next one of the same configuration need not wait twice
			one := s.start("x", "a")
			time.Sleep(5 * time.Second)
			two := s.start("x", "a")
			time.Sleep(5 * time.Second)
			one.cut.Store(true)
			time.Sleep(contestedLease + 12*time.Second) // each look of client-go is up to 4.4 s after the one before
			if one.leads.Load() || !two.writes() {
				t.Errorf("the first leads: %v, the second: %v", one.leads.Load(), two.writes())
			}
			<-one.ended
			if !errors.Is(one.err, ErrLeaseLost) {
				t.Errorf("the first ended with %v", one.err)
			}
			two.end()
		},
		"taken": func(t *testing.T, s *leaseServer) {
			one := s.start("x", "a", "b")
			time.Sleep(5 * time.Second)
			s.mu.Lock()
			s.leases[b].Spec.HolderIdentity, s.leases[b].ResourceVersion = ptr.To("other"), "other"
			s.mu.Unlock()
			time.Sleep(3 * time.Second)
			if <-one.ended; !errors.Is(one.err, ErrLeaseLost) || s.holder(b) != "other" {
				t.Errorf("it ended with %v, and %q holds the lease", one.err, s.holder(b))
			}
		},
		"deleted": func(t *testing.T, s *leaseServer) {
			one := s.start("x", "a")
			time.Sleep(5 * time.Second)
			s.mu.Lock()
			delete(s.leases, a)
			s.mu.Unlock()
			time.Sleep(time.Minute)
			if !one.writes() || s.holder(a) != one.election.Identity() {
				t.Errorf("it leads: %v, and %q holds the lease", one.writes(), s.holder(a))
			}
			one.end()
			if s.holder(a) != "" {
				t.Errorf("%q holds the lease after the end", s.holder(a))
			}
		},
		"forbidden": func(t *testing.T, s *leaseServer) { // kube-scheduler's user
			s.refuse = func(_, name string) bool { return name == a }
			one := s.start("x", "a", "b")
			time.Sleep(time.Minute)
			if !one.writes() || s.holder(b) != one.election.Identity() {
				t.Errorf("it leads: %v, and %q holds b", one.writes(), s.holder(b))
			}
			one.end()
			if n := strings.Count(one.log.String(), "without the Lease of a profile"); n != 1 {
				t.Errorf("%d warnings:\n%s", n, &one.log)
			}
		},
		"stopped while it waits": func(t *testing.T, s *leaseServer) {
			one := s.start("one", "a")
			time.Sleep(5 * time.Second)
			two := s.start("two", "a")
			time.Sleep(5 * time.Second)
			two.end()
			if two.err != nil || s.holder("two") != "" || !one.writes() {
				t.Errorf("it ended with %v, %q holds its lease", two.err, s.holder("two"))
			}
			one.end()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, &leaseServer{t: t, leases: make(map[string]*coordinationv1.Lease)}) })
		})
	}
}

// TestOneLeaderPerProfile: whatever happens, two configurations with a profile in common never lead at once. After it, one leads.
func TestOneLeaderPerProfile(t *testing.T)     { oneLeaderPerProfile(t) }
func TestRestOneLeaderPerProfile(t *testing.T) { oneLeaderPerProfile(t) }

func oneLeaderPerProfile(t *testing.T) {
	t.Helper()
	runs := 100
	if !testrest.In(t) {
		runs = 10
	}
	dice := seeded.Rand(t)
	contests := 0 // times that one waits for another's profile
	for range runs {
		synctest.Test(t, func(t *testing.T) {
			s := &leaseServer{t: t, leases: make(map[string]*coordinationv1.Lease)}
			var all []*contender
			look := func(span time.Duration) {
				for range span / (250 * time.Millisecond) {
					time.Sleep(250 * time.Millisecond)
					for i, one := range all {
						for _, two := range all[:i] {
							if one.writes() && two.writes() && (one.shares(two)) {
								t.Fatalf("%s and %s write", one.name, two.name)
							}
						}
					}
				}
			}
			for range 25 {
				switch i := dice.IntN(6); {
				case i < 2 && len(all) < 6:
					profiles := []string{"a", "b", "c"}
					dice.Shuffle(3, func(i, j int) { profiles[i], profiles[j] = profiles[j], profiles[i] })
					all = append(all, s.start(fmt.Sprint("lease", dice.IntN(3)), profiles[:1+dice.IntN(3)]...))
				case i < 3 && len(all) > 0:
					at := dice.IntN(len(all))
					all[at].end()
					all = slices.Delete(all, at, at+1)
				case len(all) > 0:
					one := all[dice.IntN(len(all))]
					one.cut.Store(!one.cut.Load())
				}
				look(time.Duration(1+dice.IntN(20)) * time.Second)
			}
			for _, one := range all {
				one.end()
				if strings.Contains(one.log.String(), "waits for it") {
					contests++
				}
			}
			last := s.start("last", "a", "b", "c")
			all = []*contender{last}
			if look(2 * contestedLease); !last.writes() {
				t.Errorf("nobody leads at the end:\n%s", &last.log)
			}
			last.end()
		})
	}
	if contests == 0 {
		t.Error("no configuration had to wait for another")
	}
}

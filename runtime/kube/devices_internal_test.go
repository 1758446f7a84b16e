package kube

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// loopOf stores what claims are written as.
type loopOf struct {
	Scheduler
	cluster   *Cluster
	mu        sync.Mutex
	told      []string // resource versions and whether the claim was allocated
	activated []types.UID
}

// heard returns all events that the loop got so far.
func (l *loopOf) heard() (told []string, activated []types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.told), slices.Clone(l.activated)
}

func (l *loopOf) Written(claim *resourcev1.ResourceClaim) {
	version := claim.ResourceVersion
	if claim.Status.Allocation != nil {
		version += " allocated"
	}
	if _, _, ok := l.cluster.Written(claim); !ok {
		version += " ignored"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, version)
}

func (l *loopOf) Activate(uids ...types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.activated = append(l.activated, uids...)
}

func claimOf(version string, allocated bool, users ...types.UID) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "uid-c", ResourceVersion: version}}
	if allocated {
		c.Status.Allocation = &resourcev1.AllocationResult{}
	}
	for _, uid := range users {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", UID: uid})
	}
	return c
}

// writing makes a writer over a server that has a claim of version 1.
func writing(t *testing.T) (*claimWriter, *fake.Clientset, *loopOf) {
	t.Helper()
	client := fake.NewClientset()
	c, err := New(Config{Profiles: []string{"default-scheduler"}}, Deps{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	l := &loopOf{cluster: c}
	c.claims.start(l)
	c.Change(claimOf("1", false), false)
	return c.claims, client, l
}

// TestClaimInDoubt: if it is unknown whether an allocation was written, its devices count as allocated
// until the claim has been read again.
func TestClaimInDoubt(t *testing.T) {
	resource := resourcev1.Resource("resourceclaims")
	conflict := apierrors.NewConflict(resource, "c", errors.New("it was changed"))
	internal := apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	for _, test := range []struct {
		name    string
		answers []error // of the server; the last one again and again
		stays   bool    // the binding is not interrupted
		made    bool
		told    []string
	}{
		{"written", []error{nil}, true, true, []string{"2 allocated"}},
		{"refused", []error{apierrors.NewForbidden(resource, "c", nil)}, true, false, nil},
		{"not carried out at first", []error{io.ErrUnexpectedEOF, nil}, true, true, []string{"2 allocated"}},
		{"perhaps carried out", []error{io.ErrUnexpectedEOF, conflict}, true, false, []string{"1 ignored"}},
		{"the server is back and does not know the rules", []error{io.EOF, apierrors.NewForbidden(resource, "c", nil), nil}, true, true, []string{"2 allocated"}},
		{"interrupted", []error{io.ErrUnexpectedEOF}, false, false, []string{"1 allocated", "1"}},
		{"errors for long", []error{internal}, true, false, []string{"1 allocated", "1"}},
		{"the lease is lost", []error{ErrLeaseLost}, true, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, client, l := writing(t)
				defer w.cluster.Close(t.Context())
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				client.PrependReactor("update", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
					err := test.answers[0]
					if len(test.answers) > 1 {
						test.answers = test.answers[1:]
					}
					if !test.stays {
						stop()
					}
					return true, claimOf("2", true), err
				})
				client.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, claimOf("1", false), nil
				})
				_, err := w.UpdateStatus(ctx, claimOf("1", true))
				if test.made != (err == nil) {
					t.Errorf("error is %v", err)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if told, _ := l.heard(); !slices.Equal(told, test.told) {
					t.Errorf("the loop was told of %q, want %q", told, test.told)
				}
			})
		})
	}
}

// TestClaimLate: a request without an answer may be carried out late. Until that is no longer possible, its devices count
// as allocated, whatever the API says, and further requests wait.
func TestClaimLate(t *testing.T) {
	for _, test := range []struct {
		name string
		then func(s *remote, w *claimWriter) // what happens to the claim on the server after the lost answer
		told []string
		at   time.Duration // when the next request got an answer
	}{
		{"carried out", func(s *remote, _ *claimWriter) { s.after(35*time.Second, claimOf("2", true)) }, []string{"1 allocated", "2 allocated", "2 allocated ignored"}, 40 * time.Second},
		{"never", func(*remote, *claimWriter) {}, []string{"1 allocated", "1", "1 ignored"}, 70 * time.Second},
		{"somebody changes it", func(s *remote, _ *claimWriter) { s.after(15*time.Second, claimOf("2", false)) }, []string{"1 allocated", "2", "2 ignored"}, 20 * time.Second},
		{"the watch comes after", func(_ *remote, w *claimWriter) { w.cluster.Change(claimOf("1", false), false) }, []string{"1 allocated", "1", "1 ignored"}, 70 * time.Second},
		{"another is in its place", func(s *remote, _ *claimWriter) {
			other := claimOf("9", false)
			other.UID = "uid-other"
			s.after(15*time.Second, other)
		}, []string{"1 allocated"}, 20 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, client, l := writing(t)
				defer w.cluster.Close(t.Context())
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				s := &remote{start: time.Now(), claims: []*resourcev1.ResourceClaim{claimOf("1", false)}, times: []time.Duration{0}}
				client.PrependReactor("update", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
					stop()
					return true, nil, io.ErrUnexpectedEOF
				})
				client.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, s.now(), nil
				})
				if _, err := w.UpdateStatus(ctx, claimOf("1", true)); err == nil {
					t.Fatal("the request has an answer")
				}
				test.then(s, w)
				if got := w.cluster.stores.Storage.ResourceClaim("ns", "c"); got.Status.Allocation == nil {
					t.Error("the devices are free at once")
				}
				_, err := w.Read(t.Context(), claimOf("1", false))
				if took := time.Since(s.start); took != test.at || (err != nil) != errors.Is(err, errRecreated) {
					t.Errorf("the next request ended after %v, want %v; error is %v", took, test.at, err)
				}
				if told, _ := l.heard(); !slices.Equal(told, test.told) {
					t.Errorf("the loop was told of %q, want %q", told, test.told)
				}
			})
		})
	}
}

// remote is a claim on a server, which changes at certain times.
type remote struct {
	start  time.Time
	mu     sync.Mutex
	times  []time.Duration
	claims []*resourcev1.ResourceClaim
}

func (s *remote) after(d time.Duration, claim *resourcev1.ResourceClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times, s.claims = append(s.times, d), append(s.claims, claim)
}

func (s *remote) now() (now *resourcev1.ResourceClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, d := range s.times {
		if time.Since(s.start) >= d {
			now = s.claims[i]
		}
	}
	return now.DeepCopy()
}

// TestClaimKept: a claim stays allocated as long as it is unknown whether it was deallocated.
func TestClaimKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client, l := writing(t)
		defer w.cluster.Close(t.Context())
		w.cluster.Change(claimOf("2", true), false)
		client.PrependReactor("update", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
		})
		client.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, claimOf("3", false), nil
		})
		w.Deallocate(claimOf("2", false), "p")
		time.Sleep(bindPatience + 5*time.Second)
		synctest.Wait()
		if told, activated := l.heard(); len(told) > 0 || !slices.Contains(activated, "p") {
			t.Errorf("the loop was told of %q, activated are %q", told, activated)
		}
		time.Sleep(bindSettles)
		synctest.Wait()
		if told, _ := l.heard(); !slices.Equal(told, []string{"3"}) {
			t.Errorf("the loop was told of %q in the end", told)
		}
	})
}

// TestClaimRelease: what follows waits for a release, and finds it done.
func TestClaimRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client, l := writing(t)
		defer w.cluster.Close(t.Context())
		users := []types.UID{"p", "q"}
		client.PrependReactor("patch", "resourceclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(time.Second)
			const want = `{"metadata":{"uid":"uid-c","resourceVersion":"1"},"status":{"reservedFor":[{"$patch":"delete","uid":"p"}]}}`
			if got := string(a.(clienttesting.PatchAction).GetPatch()); got != want || a.GetSubresource() != "status" {
				t.Errorf("the patch of %q is %s", a.GetSubresource(), got)
			}
			users = users[1:]
			return true, claimOf("2", true, users...), nil
		})
		client.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, claimOf("2", true, users...), nil
		})
		w.Release(claimOf("1", true, users...), "p")
		now, err := w.Read(t.Context(), claimOf("1", true, "p", "q"))
		if err != nil || len(now.Status.ReservedFor) != 1 {
			t.Errorf("%v, %v", now, err)
		}
		want := []string{"2 allocated", "2 allocated ignored"}
		if told, _ := l.heard(); !slices.Equal(told, want) {
			t.Errorf("the loop was told of %q, want %q", told, want)
		}
	})
}

// TestClaimDeallocate: the pod is tried again if its claim cannot be deallocated.
func TestClaimDeallocate(t *testing.T) {
	for _, err := range []error{nil, apierrors.NewConflict(resourcev1.Resource("resourceclaims"), "c", errors.New("it is used"))} {
		synctest.Test(t, func(t *testing.T) {
			w, client, l := writing(t)
			client.PrependReactor("update", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, claimOf("2", false), err
			})
			w.Deallocate(claimOf("1", false), "p")
			w.cluster.Close(t.Context()) // waits for it
			if _, activated := l.heard(); (err != nil) != slices.Contains(activated, "p") {
				t.Errorf("%v: activated are %q", err, activated)
			}
		})
	}
}

// TestClaimAnother: a claim that was deleted and created again is another claim.
func TestClaimAnother(t *testing.T) {
	w, client, l := writing(t)
	defer w.cluster.Close(t.Context())
	client.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		other := claimOf("5", true)
		other.UID = "uid-other"
		return true, other, nil
	})
	_, err := w.Read(t.Context(), claimOf("1", false))
	if told, _ := l.heard(); err == nil || len(told) > 0 {
		t.Errorf("error is %v; the loop was told of %q", err, told)
	}
}

package kube_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/kube"
)

// rights is what an API server lets the scheduler do with leases.
type rights struct {
	mu      sync.Mutex
	allowed []string
}

func (r *rights) grant(verbs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowed = verbs
}

func (r *rights) has(verb string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.allowed, verb)
}

// guarded is a client of an API server with such rights.
func guarded(r *rights, objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	client.PrependReactor("*", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if r.has(a.GetVerb()) {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(coordinationv1.Resource("leases"), "kube-scheduler", nil)
	})
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		of := review.Spec.ResourceAttributes
		if of.Group != "coordination.k8s.io" || of.Resource != "leases" || of.Name != "kube-scheduler" || of.Namespace != "kube-system" {
			return true, nil, apierrors.NewBadRequest("asked about something else")
		}
		review.Status.Allowed = r.has(of.Verb)
		return true, review, nil
	})
	return client
}

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestRestLeaseRights: a replica that may not use the lease is not ready and says once which
// verbs are missing and what to do, until it is allowed to. It is live all the time.
func TestRestLeaseRights(t *testing.T) {
	held := func() runtime.Object { // by a replica that goes on
		other, seconds, now := "other", int32(3600), metav1.NewMicroTime(time.Now())
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-scheduler"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &other, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
		}
	}
	free := func() runtime.Object {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-scheduler"}}
	}
	for name, test := range map[string]struct {
		lease   func() runtime.Object
		allowed []string
		want    []string
		not     string
		enough  []string
	}{
		"nothing":             {free, nil, []string{"needs get and update on leases.coordination.k8s.io \"kube-scheduler\" in namespace kube-system", "deploy/rbac.yaml"}, "create", []string{"get", "update"}},
		"get":                 {free, []string{"get"}, []string{"needs update on"}, "get and", []string{"get", "update"}},
		"get, as a standby":   {held, []string{"get"}, []string{"can be read but not written", "needs update on"}, "get and", []string{"get", "update"}},
		"update":              {free, []string{"update"}, []string{"needs get on"}, "update on", []string{"get", "update"}},
		"no lease, no create": {nil, []string{"get", "update"}, []string{"deploy/lease.yaml"}, "needs", []string{"get", "update", "create"}},
		"no lease, only get":  {nil, []string{"get"}, []string{"deploy/lease.yaml", "needs update on"}, "needs get", []string{"get", "update", "create"}},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			if test.lease != nil {
				objects = append(objects, test.lease())
			}
			r := &rights{allowed: test.allowed}
			client := guarded(r, objects...)
			var log safeBuffer
			cluster, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: client, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close(t.Context())
			e := elect(t, client, cluster)
			ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&log, nil))))
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				ended <- e.Lead(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					return nil
				})
			}()
			eventually.Holds(t, "it is not ready", func() bool { return e.Ready(nil) != nil })
			time.Sleep(500 * time.Millisecond) // some tries more
			text := e.Ready(nil).Error()
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("/readyz says %q, want %q", text, want)
				}
			}
			if strings.Contains(text, test.not) {
				t.Errorf("/readyz says %q, with %q", text, test.not)
			}
			if err := e.Check(nil); err != nil {
				t.Errorf("not live: %v", err)
			}
			if n := strings.Count(log.String(), "orbidden"); n > 1 || strings.Count(log.String(), "cannot use the lease") != 1 {
				t.Errorf("not said once:\n%s", log.String())
			}
			r.grant(test.enough...)
			eventually.Holds(t, "it is ready", func() bool { return e.Ready(nil) == nil })
			if n := strings.Count(log.String(), "the lease can be used now"); n != 1 {
				t.Errorf("that it is over is said %d times:\n%s", n, log.String())
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

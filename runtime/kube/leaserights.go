package kube

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedauthorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// leaseRights checks whether the scheduler's user may use the lease. A standby does not
// write to the lease while another replica leads, so it asks the API server for its
// permissions (SelfSubjectAccessReview, which everyone may create) before it has to take over.
type leaseRights struct {
	reviews         typedauthorizationv1.SelfSubjectAccessReviewInterface
	log             *slog.Logger
	namespace, name string

	mu struct {
		sync.Mutex
		verified bool     // the API server reported nothing missing
		missing  []string // verbs
		err      error    // why the lease cannot be used; nil if nothing is known to be missing
	}
}

// check returns why the lease cannot be used.
func (r *leaseRights) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.err
}

// answered records the API server's answer to a request for the lease.
func (r *leaseRights) answered(ctx context.Context, verb string, err error) {
	switch {
	case apierrors.IsForbidden(err):
		missing, _ := r.ask(ctx, "get", "update")
		if verb == "create" { // a lease that exists needs no right to make one
			missing = append(missing, verb)
		} else if missing == nil {
			missing = []string{verb}
		}
		r.set(missing, fmt.Errorf("%w (%s)", err, r.remedy(missing)))
	case err == nil && verb != "get":
		r.set(nil, nil)
	case err == nil && !r.known():
		if missing, err := r.ask(ctx, "update"); err == nil && len(missing) == 0 {
			r.set(nil, nil)
		} else if err == nil {
			r.set(missing, fmt.Errorf("lease %s/%s can be read but not written (%s)", r.namespace, r.name, r.remedy(missing)))
		}
	}
}

func (r *leaseRights) known() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.verified
}

// set records why the lease cannot be used, and logs it if the missing verbs have changed.
func (r *leaseRights) set(missing []string, err error) {
	r.mu.Lock()
	before := r.mu.err
	known := before != nil && err != nil && slices.Equal(r.mu.missing, missing)
	if !known {
		r.mu.err, r.mu.missing = err, missing
	}
	r.mu.verified = err == nil
	r.mu.Unlock()
	switch {
	case err != nil && !known:
		r.log.Error("cannot use the lease, so this replica cannot lead; retrying", "lease", r.namespace+"/"+r.name, "error", err)
	case err == nil && before != nil:
		r.log.Info("the lease can be used now", "lease", r.namespace+"/"+r.name)
	}
}

// ask returns which verbs the API server does not allow on the lease.
func (r *leaseRights) ask(ctx context.Context, verbs ...string) (missing []string, err error) {
	for _, verb := range verbs {
		review, err := r.reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: r.namespace, Verb: verb, Group: "coordination.k8s.io", Resource: "leases", Name: r.name,
			},
		}}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		if !review.Status.Allowed {
			missing = append(missing, verb)
		}
	}
	return missing, nil
}

// remedy returns what to grant.
func (r *leaseRights) remedy(missing []string) string {
	on := fmt.Sprintf("leases.coordination.k8s.io %q in namespace %s", r.name, r.namespace)
	if !slices.Contains(missing, "create") {
		return fmt.Sprintf("the scheduler's user needs %s on %s: bind it to a Role that grants them, as deploy/rbac.yaml does", strings.Join(missing, " and "), on)
	}
	text := "create the lease, as deploy/lease.yaml does, or let the scheduler's user create it"
	if others := slices.DeleteFunc(slices.Clone(missing), func(verb string) bool { return verb == "create" }); len(others) > 0 {
		text += fmt.Sprintf("; the user also needs %s on %s", strings.Join(others, " and "), on)
	}
	return text
}

// rightsLock passes the answers to requests for the lease to leaseRights.
type rightsLock struct {
	resourcelock.Interface
	rights *leaseRights
}

// Get implements resourcelock.Interface.
func (l rightsLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.rights.answered(ctx, "get", err)
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l rightsLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Create(ctx, record)
	l.rights.answered(ctx, "create", err)
	return err
}

// Update implements resourcelock.Interface.
func (l rightsLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Update(ctx, record)
	l.rights.answered(ctx, "update", err)
	return err
}

// withoutForbidden is a logger for the elector without its repeated messages that the lease
// is forbidden. leaseRights logs that once, with the remedy.
func withoutForbidden(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.New(forbiddenFilter{klog.FromContext(ctx).GetSink()}))
}

type forbiddenFilter struct{ klog.LogSink }

// Init implements klog.LogSink. The sink below is everybody's, and was initialized when it was made: once more would
// shift the source positions of all messages.
func (forbiddenFilter) Init(logr.RuntimeInfo) {}

// Error implements klog.LogSink.
func (f forbiddenFilter) Error(err error, text string, keysAndValues ...any) {
	if !apierrors.IsForbidden(err) {
		f.LogSink.Error(err, text, keysAndValues...)
	}
}

// WithValues implements klog.LogSink.
func (f forbiddenFilter) WithValues(keysAndValues ...any) klog.LogSink {
	return forbiddenFilter{f.LogSink.WithValues(keysAndValues...)}
}

// WithName implements klog.LogSink.
func (f forbiddenFilter) WithName(name string) klog.LogSink {
	return forbiddenFilter{f.LogSink.WithName(name)}
}

package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// profileNamespace is where the Leases of profiles are, wherever the replicas' own Lease is: all configurations meet there.
const profileNamespace = metav1.NamespaceSystem

// ProfileLease returns the name of a profile's Lease in namespace kube-system.
func ProfileLease(profile string) string {
	const prefix = "berth-profile-"
	if name := prefix + profile; len(validation.IsDNS1123Subdomain(profile)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	sum := sha256.Sum256([]byte(profile))
	return prefix + hex.EncodeToString(sum[:])
}

// profileLeases are a Lease for each profile, which a leader holds besides its own. So what is scheduled excludes other leaders, and
// not a name in a file.
//
// They are taken in the order of their names, all or none: a replica that waits for one holds none, and keeps nobody else from leading.
// A Lease that the user may not use is left out, with a warning.
type profileLeases struct {
	leases   typedcoordinationv1.LeaseInterface
	tenure   *tenure
	identity string
	retry    time.Duration
	log      *slog.Logger
	names    []string // sorted
	// seen is by name what was seen last of a Lease that another holds.
	seen map[string]sighting
	// asked says that a Lease may be held. Like seen it belongs to take and release.
	asked bool

	mu struct {
		sync.Mutex
		held    map[string]*coordinationv1.Lease // as it was written last
		refused map[string]bool                  // the user may not use it
	}
}

// sighting is a state of a Lease, and when it was seen first.
type sighting struct {
	state string
	since time.Time
}

// heldError says that another holds a Lease.
type heldError struct{ name, holder string }

func (e *heldError) Error() string { return e.name + " is held by " + e.holder }

func newProfileLeases(
	profiles []string, leases typedcoordinationv1.LeasesGetter, t *tenure, identity string, retry time.Duration, log *slog.Logger,
) *profileLeases {
	p := &profileLeases{
		leases: leases.Leases(profileNamespace), tenure: t, identity: identity, retry: retry, log: log, seen: make(map[string]sighting),
	}
	for _, profile := range profiles {
		p.names = append(p.names, ProfileLease(profile))
	}
	slices.Sort(p.names)
	p.mu.held, p.mu.refused = make(map[string]*coordinationv1.Lease), make(map[string]bool)
	return p
}

// lead calls lead once all are held, renews them meanwhile, and releases them afterwards.
func (p *profileLeases) lead(ctx context.Context, lead func(context.Context) error) error {
	after := context.WithoutCancel(ctx)
	defer p.release(after)
	if !p.take(ctx) {
		return nil
	}
	renewing, end := context.WithCancel(after)
	var renewals sync.WaitGroup
	renewals.Go(func() {
		for p.pause(renewing) {
			p.each(func(name string) { p.renew(renewing, name) })
		}
	})
	err := lead(ctx)
	end()
	renewals.Wait()
	return err
}

// take takes all. It reports false if the context ends before.
func (p *profileLeases) take(ctx context.Context) bool {
	told := ""
	for ctx.Err() == nil {
		err := p.tryAll(ctx)
		if err == nil {
			p.tenure.complete()
			return true
		}
		p.release(context.WithoutCancel(ctx))
		var held *heldError
		if text := err.Error(); text != told && ctx.Err() == nil {
			told = text
			if errors.As(err, &held) {
				p.log.Info("another scheduler leads with one of the profiles; this one waits for it",
					"lease", profileNamespace+"/"+held.name, "holder", held.holder)
			} else {
				p.log.Error("cannot take the Leases of the profiles; retrying", "error", err)
			}
		}
		p.pause(ctx)
	}
	return false
}

// tryAll takes all or fails. Nothing is written while another holds one. All are looked at, so that those that are not renewed
// expire at the same time.
func (p *profileLeases) tryAll(ctx context.Context) error {
	var held error
	free := make(map[string]*coordinationv1.Lease) // nil for one that is to be made
	for _, name := range p.names {
		lease, err := p.leases.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			free[name] = nil
			continue
		case apierrors.IsForbidden(err):
			p.refuse(name, err)
			continue
		case err != nil:
			return err
		}
		if holder := p.holder(lease); holder != "" && held == nil {
			held = &heldError{name, holder}
		}
		free[name] = lease
	}
	if held != nil {
		return held
	}
	p.asked = true
	for _, name := range slices.Sorted(maps.Keys(free)) {
		if err := p.write(ctx, name, free[name]); apierrors.IsForbidden(err) {
			p.refuse(name, err)
		} else if err != nil {
			return fmt.Errorf("lease %s/%s: %w", profileNamespace, name, err)
		}
	}
	return nil
}

// holder returns who keeps this replica from taking a Lease; empty for nobody. Who held the replica's own Lease before leads no more.
func (p *profileLeases) holder(lease *coordinationv1.Lease) string {
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == "" || holder == p.identity || holder == p.tenure.predecessor() {
		return ""
	}
	state, now := fmt.Sprint(holder, lease.ResourceVersion, lease.Spec.RenewTime), p.tenure.clock.Now()
	if p.seen[lease.Name].state != state {
		p.seen[lease.Name] = sighting{state, now}
	}
	lasts := p.tenure.duration
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		lasts = time.Duration(*seconds) * time.Second
	}
	if now.Sub(p.seen[lease.Name].since) >= lasts {
		return ""
	}
	return holder
}

// write takes or renews a Lease as it was read; nil for one that is to be made.
func (p *profileLeases) write(ctx context.Context, name string, read *coordinationv1.Lease) error {
	next := read.DeepCopy()
	if read == nil {
		next = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: profileNamespace, Name: name}}
	}
	now, at := metav1.NewMicroTime(clock.Real{}.Now()), p.tenure.clock.Now()
	if ptr.Deref(next.Spec.HolderIdentity, "") != p.identity {
		next.Spec.HolderIdentity, next.Spec.AcquireTime = &p.identity, &now
		next.Spec.LeaseTransitions = ptr.To(ptr.Deref(next.Spec.LeaseTransitions, -1) + 1)
	}
	next.Spec.RenewTime = &now
	next.Spec.LeaseDurationSeconds = ptr.To(int32((p.tenure.duration + time.Second - 1) / time.Second)) // others wait as long, or longer
	var err error
	if read == nil {
		next, err = p.leases.Create(ctx, next, metav1.CreateOptions{})
	} else {
		next, err = p.leases.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.held[name] = next
	p.tenure.renewProfile(name, at)
	return nil
}

// renew renews a Lease. If that fails, the next turn tries again, until the tenure is over.
func (p *profileLeases) renew(ctx context.Context, name string) {
	p.mu.Lock()
	lease := p.mu.held[name]
	p.mu.Unlock()
	if lease == nil {
		return
	}
	err := p.write(ctx, name, lease)
	if err == nil || ctx.Err() != nil {
		return
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		now, found := p.leases.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(found): // deleted: it is made again
			err = p.write(ctx, name, nil)
		case found == nil:
			if holder := ptr.Deref(now.Spec.HolderIdentity, ""); holder != "" && holder != p.identity {
				p.tenure.taken()
				return
			}
			err = p.write(ctx, name, now)
		}
	}
	if err != nil && ctx.Err() == nil {
		p.log.Warn("cannot renew the Lease of a profile; retrying", "lease", profileNamespace+"/"+name, "error", err)
	}
}

// release releases those that this replica holds, or may hold after a request without an answer. Nothing is written to the cluster
// from here on. A Lease that is not released expires.
func (p *profileLeases) release(ctx context.Context) {
	if !p.tenure.incomplete() || !p.asked {
		return
	}
	p.asked = false
	p.each(func(name string) {
		lease, err := p.leases.Get(ctx, name, metav1.GetOptions{})
		if err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == p.identity {
			lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To(""), ptr.To(int32(1))
			_, err = p.leases.Update(ctx, lease, metav1.UpdateOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			p.log.Warn("cannot release the Lease of a profile; it expires", "lease", profileNamespace+"/"+name, "error", err)
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.mu.held)
}

// each calls a function for all Leases that are used, at once.
func (p *profileLeases) each(call func(name string)) {
	p.mu.Lock()
	names := slices.DeleteFunc(slices.Clone(p.names), func(name string) bool { return p.mu.refused[name] })
	p.mu.Unlock()
	var calls sync.WaitGroup
	for _, name := range names {
		calls.Go(func() { call(name) })
	}
	calls.Wait()
}

// pause waits until it is time to try again. It reports false if the context ends before.
func (p *profileLeases) pause(ctx context.Context) bool {
	reached, stop := p.tenure.clock.Until(p.tenure.clock.Now().Add(p.retry))
	defer stop()
	select {
	case <-ctx.Done():
		return false
	case <-reached:
		return true
	}
}

// refuse leaves a Lease out, and says once what that means.
func (p *profileLeases) refuse(name string, err error) {
	p.mu.Lock()
	known := p.mu.refused[name]
	p.mu.refused[name] = true
	p.mu.Unlock()
	if !known {
		p.log.Warn("without the Lease of a profile nothing keeps a scheduler with the same profile and another Lease from leading, too: "+
			"grant the scheduler's user get, update and create (deploy/rbac.yaml; docs/run.md for the static pod), and start it again",
			"lease", profileNamespace+"/"+name, "error", err)
	}
}

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"
)

// ErrLeaseLost means that another replica may be the leader now.
var ErrLeaseLost = errors.New("the lease was lost: another replica may lead now")

// errNotLeading means that another replica may hold the lease.
var errNotLeading = fmt.Errorf("%w, or is not held yet", ErrLeaseLost)

// leaseTolerance is how long after the expiry of its lease a leader becomes unhealthy, as
// in kube-scheduler.
const leaseTolerance = 20 * time.Second

// Election elects one leader among the replicas, with a Lease (coordination.k8s.io).
type Election struct {
	config   componentconfigv1alpha1.LeaderElectionConfiguration
	identity string
	watchdog *leaderelection.HealthzAdaptor
	lock     resourcelock.Interface
	tenure   *tenure
	rights   *leaseRights
	elector  atomic.Pointer[leaderelection.LeaderElector] // nil before Lead
	working  *atomic.Bool                                 // lead has not returned
	leases   typedcoordinationv1.LeasesGetter             // nil without election
	profiles *profileLeases
}

// NewElection prepares an election; config has defaults filled in. Without leaderElect,
// this replica leads from the start. With it, the main client writes only while this
// replica leads.
func NewElection(config componentconfigv1alpha1.LeaderElectionConfiguration, clients *Clients, events *Cluster) (*Election, error) {
	e := &Election{config: config, working: &atomic.Bool{}}
	if config.LeaderElect == nil || !*config.LeaderElect {
		return e, nil
	}
	if e.tenure = clients.tenure; e.tenure == nil {
		e.tenure = newTenure(awake{}, config.LeaseDuration.Duration)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	// Two processes of one host are two replicas.
	e.identity = host + "_" + string(uuid.NewUUID())
	e.watchdog = leaderelection.NewLeaderHealthzAdaptor(leaseTolerance)
	e.lock, err = resourcelock.New(config.ResourceLock, config.ResourceNamespace, config.ResourceName,
		clients.Lease.CoreV1(), clients.Lease.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: e.identity, EventRecorder: events.events.lease})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	e.rights = &leaseRights{
		reviews: clients.Lease.AuthorizationV1().SelfSubjectAccessReviews(), log: events.log,
		namespace: config.ResourceNamespace, name: config.ResourceName,
	}
	e.lock = timedLock{Interface: rightsLock{Interface: e.lock, rights: e.rights}, tenure: e.tenure, working: e.working}
	e.leases = clients.Lease.CoordinationV1()
	e.profiles = newProfileLeases(events.config.Profiles, e.leases, e.tenure, e.identity, config.RetryPeriod.Duration, events.log)
	e.tenure.require()
	e.tenure.incomplete()
	return e, nil
}

// reference returns the object of events about the lease, if possible with the UID, by which
// kubectl describe finds events. Without election it is the Lease that the configuration names.
func (e *Election) reference(ctx context.Context) v1.ObjectReference {
	ref := v1.ObjectReference{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: e.config.ResourceNamespace, Name: e.config.ResourceName}
	if e.leases != nil {
		if lease, err := e.leases.Leases(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{}); err == nil {
			ref.UID, ref.ResourceVersion = lease.UID, lease.ResourceVersion
		}
	}
	return ref
}

// Identity is the name of this replica in the Lease; empty without election.
func (e *Election) Identity() string { return e.identity }

// Check returns an error if this replica is unhealthy: it leads but could not renew its
// lease.
func (e *Election) Check(r *http.Request) error {
	if e.watchdog == nil {
		return nil
	}
	return e.watchdog.Check(r)
}

// Ready returns an error if this replica could not lead: it is unhealthy, its user may not use the lease, or it leads and has not
// renewed a lease for half the time that it lasts.
func (e *Election) Ready(r *http.Request) error {
	if e.rights == nil {
		return nil
	}
	return errors.Join(e.Check(r), e.tenure.renewing(), e.rights.check())
}

// Lead calls lead when this replica is the leader and holds the Leases of its profiles, once, with a context that ends
// when ctx ends or one of the leases is lost. Lead releases the lease after lead has returned, so
// that no other replica starts while a binding of this one may be in flight. If the lease
// cannot be renewed while lead still runs, the lease expires instead.
//
// # Errors
//
// ErrLeaseLost, or the error of lead.
func (e *Election) Lead(ctx context.Context, lead func(context.Context) error) error {
	if e.lock == nil {
		return lead(ctx)
	}
	leaseCtx, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	result := make(chan error, 1)
	// Either lead or the end has the turn: the lease must not be released while lead works.
	const leads, ends = 1, 2
	var turn atomic.Int32
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            e.lock,
		LeaseDuration:   e.config.LeaseDuration.Duration,
		RenewDeadline:   e.config.RenewDeadline.Duration,
		RetryPeriod:     e.config.RetryPeriod.Duration,
		WatchDog:        e.watchdog,
		Name:            e.config.ResourceName, // the name in metrics
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				if !turn.CompareAndSwap(0, leads) {
					return
				}
				e.working.Store(true)
				working, stop := context.WithCancel(leading)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				// Whatever finds that the lease has expired need not wait for the elector.
				watching, led := context.WithCancel(context.WithoutCancel(ctx))
				go e.tenure.guard(watching)
				go func() {
					select {
					case <-e.tenure.over:
						stop()
					case <-watching.Done():
					}
				}()
				err := e.profiles.lead(working, lead)
				e.working.Store(false)
				led()
				select {
				case <-e.tenure.over:
					err = ErrLeaseLost
				case <-leading.Done():
					if leaseCtx.Err() == nil { // the elector cancelled it
						err = ErrLeaseLost
					}
				default:
				}
				result <- err
				release()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	e.elector.Store(elector)
	defer context.AfterFunc(ctx, func() {
		if turn.CompareAndSwap(0, ends) { // otherwise lead ends first
			release()
		}
	})()
	elector.Run(withoutForbidden(leaseCtx))
	if !turn.CompareAndSwap(0, ends) && turn.Load() == leads {
		return <-result
	}
	if leaseCtx.Err() == nil {
		return ErrLeaseLost
	}
	e.giveBack(context.WithoutCancel(ctx))
	return nil // stopped while another replica was leading
}

// giveBack releases the lease of a replica that stopped while it asked for it: the server may have granted it, and the elector
// does not know.
func (e *Election) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, e.config.RetryPeriod.Duration)
	defer cancel()
	record, _, err := e.lock.Get(ctx)
	if err != nil || record.HolderIdentity != e.lock.Identity() {
		return
	}
	record.HolderIdentity, record.LeaseDurationSeconds = "", 1
	_ = e.lock.Update(ctx, *record) // or it expires
}

package app

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/config"
)

// connectionOptions holds kube-scheduler's flags about the API server. A flag overrides
// the configuration file.
type connectionOptions struct {
	set         *pflag.FlagSet
	kubeconfig  string
	master      string
	contentType string
	qps         float32
	burst       int32
}

func (o *connectionOptions) flags(f *pflag.FlagSet) {
	o.set = f
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `FILE`; the pod's service account if not given")
	f.StringVar(&o.master, "master", "", "`URL` of the API server, instead of the kubeconfig's")
	f.StringVar(&o.contentType, "kube-api-content-type", "application/vnd.kubernetes.protobuf", "media `TYPE` of requests to the API server")
	f.Float32Var(&o.qps, "kube-api-qps", 50, "requests per second to the API server")
	f.Int32Var(&o.burst, "kube-api-burst", 100, "requests to the API server in a burst")
}

func (o *connectionOptions) apply(s *config.Scheduler) {
	c := &s.ClientConnection
	override(o.set, "kubeconfig", &c.Kubeconfig, o.kubeconfig)
	override(o.set, "kube-api-content-type", &c.ContentType, o.contentType)
	override(o.set, "kube-api-qps", &c.QPS, o.qps)
	override(o.set, "kube-api-burst", &c.Burst, o.burst)
}

// leaderOptions holds kube-scheduler's flags about leader election.
type leaderOptions struct {
	set       *pflag.FlagSet
	elect     bool
	lease     time.Duration
	renew     time.Duration
	retry     time.Duration
	lock      string
	name      string
	namespace string
}

func (o *leaderOptions) flags(f *pflag.FlagSet) {
	o.set = f
	f.BoolVar(&o.elect, "leader-elect", true, "schedule only while this replica holds the Lease")
	f.DurationVar(&o.lease, "leader-elect-lease-duration", 15*time.Second, "how long other replicas wait for a leader that does not renew its lease")
	f.DurationVar(&o.renew, "leader-elect-renew-deadline", 10*time.Second, "how long the leader tries to renew its lease before it gives up")
	f.DurationVar(&o.retry, "leader-elect-retry-period", 2*time.Second, "how long to wait between tries")
	f.StringVar(&o.lock, "leader-elect-resource-lock", "leases", "`KIND` of the lock: leases")
	f.StringVar(&o.name, "leader-elect-resource-name", "kube-scheduler", "`NAME` of the Lease")
	f.StringVar(&o.namespace, "leader-elect-resource-namespace", "kube-system", "`NAMESPACE` of the Lease")
}

func (o *leaderOptions) apply(s *config.Scheduler) {
	l := &s.LeaderElection
	if o.set.Changed("leader-elect") {
		l.LeaderElect = &o.elect
	}
	override(o.set, "leader-elect-lease-duration", &l.LeaseDuration.Duration, o.lease)
	override(o.set, "leader-elect-renew-deadline", &l.RenewDeadline.Duration, o.renew)
	override(o.set, "leader-elect-retry-period", &l.RetryPeriod.Duration, o.retry)
	override(o.set, "leader-elect-resource-lock", &l.ResourceLock, o.lock)
	override(o.set, "leader-elect-resource-name", &l.ResourceName, o.name)
	override(o.set, "leader-elect-resource-namespace", &l.ResourceNamespace, o.namespace)
}

// override sets a setting to a flag's value if the flag was given.
func override[T any](set *pflag.FlagSet, flag string, to *T, value T) {
	if set.Changed(flag) {
		*to = value
	}
}

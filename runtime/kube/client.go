package kube

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/flowcontrol"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// Connection says how to connect to the API server.
type Connection struct {
	// ClientConnection is as in a KubeSchedulerConfiguration. Without a Kubeconfig
	// and a Master it is the service account of the pod that Berth runs in.
	componentconfigv1alpha1.ClientConnectionConfiguration
	// Master (optional) is the URL of the API server and overrides the kubeconfig's.
	Master string
	// Reach (optional) observes how requests end.
	Reach *Reach
	// Clock (optional) is the machine's if nil. The lease has one of its own.
	Clock clock.Clock
}

// Clients are clients of the API server, each with its own rate limit, so that events,
// leases and reviews never wait for bindings.
type Clients struct {
	// Main watches the cluster and writes to it, with an election only while this replica
	// leads.
	Main kubernetes.Interface
	// Events writes events, those of this replica's lease as well, until the lease is lost;
	// Lease the lease, and Reviews asks who may see what is served.
	Events, Lease, Reviews kubernetes.Interface
	// Plugins watches the objects of berth.dev, and writes their status as Main writes; nil if
	// they are not watched.
	Plugins rest.Interface
	// Objects watches resources of any kind.
	Objects dynamic.Interface
	// REST is what the clients were made of.
	REST *rest.Config
	// Reach observes how the clients' requests end, and Requests which of them fail.
	Reach    *Reach
	Requests *Requests
	// Pace is the limit of Main's requests; nil for none.
	Pace flowcontrol.RateLimiter

	tenure *tenure // of the lease, as Main asks for it
}

// Connect creates the clients. It sends no request.
//
// # Errors
//
// The kubeconfig cannot be read or names no server, or there is no kubeconfig and the
// process does not run in a pod.
func (c *Connection) Connect(ctx context.Context, lease componentconfigv1alpha1.LeaderElectionConfiguration) (*Clients, error) {
	base, err := c.rest(ctx)
	if err != nil {
		return nil, err
	}
	base.DisableCompression = true // compression costs more than it saves within a cluster
	base.AcceptContentTypes, base.ContentType = c.AcceptContentTypes, c.ContentType
	base.QPS, base.Burst = c.QPS, int(c.Burst)

	// Each client gets its own configuration, because AddUserAgent changes its argument.
	named := func(name string) *rest.Config { return rest.AddUserAgent(rest.CopyConfig(base), name) }
	forLease := named("leader-election")
	// A write of the lease must fail early enough for another attempt.
	forLease.Timeout = lease.RenewDeadline.Duration / 2
	out := &Clients{REST: base, tenure: newTenure(awake{}, lease.LeaseDuration.Duration)}
	if out.Reach = c.Reach; out.Reach == nil {
		out.Reach = NewReach()
	}
	out.Reach.describe(c.Kubeconfig, base)
	if out.Requests = newRequests(c.Clock); c.Clock == nil {
		out.Requests.clock = clock.Real{}
	}
	again := rewatch{out.Requests.clock}
	main, events := named("scheduler"), named("events")
	if out.Pace = newPace(main); out.Pace != nil {
		main.RateLimiter = prepaid{out.Pace}
	}
	if pace := newPace(events); pace != nil {
		events.RateLimiter = untilLate{pace}
	}
	main.Wrap(out.tenure.wrap)
	events.Wrap(out.tenure.wrapEvents)
	if lease.LeaderElect == nil || *lease.LeaderElect {
		main.Dial, events.Dial = out.tenure.dial, out.tenure.dial
	}
	for _, x := range []struct {
		to     *kubernetes.Interface
		config *rest.Config
	}{
		{&out.Main, main},
		{&out.Reviews, named("reviews")},
		{&out.Events, events},
		{&out.Lease, forLease},
	} {
		overHTTP, err := rest.HTTPClientFor(x.config)
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", base.Host, err)
		}
		client, err := kubernetes.NewForConfigAndClient(x.config, again.client(out.Requests.client(out.Reach.client(overHTTP))))
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", base.Host, err)
		}
		*x.to = client
	}
	plugins := named("plugins")
	plugins.Wrap(out.tenure.wrap)
	plugins.Dial = main.Dial
	overHTTP, err := rest.HTTPClientFor(plugins)
	if err == nil {
		out.Plugins, err = newPluginClient(plugins, again.client(out.Requests.client(out.Reach.client(overHTTP))), readAlone)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", base.Host, err)
	}
	objects := named("objects")
	objects.AcceptContentTypes, objects.ContentType = "", "" // custom resources have JSON alone
	if overHTTP, err = rest.HTTPClientFor(objects); err == nil {
		out.Objects, err = dynamic.NewForConfigAndClient(objects, again.client(out.Requests.client(out.Reach.client(overHTTP))))
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", base.Host, err)
	}
	return out, nil
}

// Covered returns why this replica may not write; nil if it may.
func (c *Clients) Covered() error {
	if c.tenure == nil {
		return nil
	}
	return c.tenure.check()
}

// ReviewsWith returns a client like Reviews for another kubeconfig, or Reviews if it is
// empty. It sends no request.
//
// # Errors
//
// The kubeconfig cannot be read, or names no server.
func (c *Clients) ReviewsWith(ctx context.Context, kubeconfig string) (kubernetes.Interface, error) {
	if kubeconfig == "" {
		return c.Reviews, nil
	}
	other := Connection{ClientConnectionConfiguration: componentconfigv1alpha1.ClientConnectionConfiguration{Kubeconfig: kubeconfig}}
	config, err := other.rest(ctx)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(rest.AddUserAgent(config, "reviews"))
}

func (c *Connection) rest(ctx context.Context) (*rest.Config, error) {
	if c.Kubeconfig == "" && c.Master == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("there is no kubeconfig, and berth does not run in a pod: " +
				"give --kubeconfig, or clientConnection.kubeconfig in the configuration file")
		}
		if err != nil {
			return nil, fmt.Errorf("the service account of this pod: %w (mount one, or give --kubeconfig)", err)
		}
		return config, nil
	}
	file, err := kubeconfig(ctx, c.Kubeconfig)
	if errors.As(err, new(*fs.PathError)) {
		return nil, fmt.Errorf("kubeconfig: %w%s", err, unreadable)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", c.Kubeconfig, err)
	}
	overrides := &clientcmd.ConfigOverrides{ClusterInfo: api.Cluster{Server: c.Master}}
	config, err := clientcmd.NewDefaultClientConfig(*file, overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("kubeconfig %s names no cluster (kubectl config view --kubeconfig %[1]s prints it)", c.Kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", c.Kubeconfig, err)
	}
	return config, nil
}

// unreadable says what to do about a file of --kubeconfig.
const unreadable = " (name a file that can be read with --kubeconfig)"

// kubeconfig reads a file once, which may be a pipe, and up to a bound. Its paths are relative to it. Without a name it is empty.
func kubeconfig(ctx context.Context, path string) (*api.Config, error) {
	if path == "" {
		return api.NewConfig(), nil
	}
	text, err := bounded.File(ctx, path, bounded.Settings)
	if err != nil {
		return nil, err
	}
	if err := strictyaml.Bounded(text); err != nil {
		return nil, err
	}
	file, err := clientcmd.Load(text)
	if err != nil {
		return nil, plain.Error(err, 512) // it may show all clusters
	}
	for _, cluster := range file.Clusters {
		cluster.LocationOfOrigin = path
	}
	for _, user := range file.AuthInfos {
		user.LocationOfOrigin = path
	}
	if err := clientcmd.ResolveLocalPaths(file); err != nil {
		return nil, err
	}
	for _, cluster := range file.Clusters {
		err = errors.Join(err, regular(cluster.CertificateAuthority))
	}
	for _, user := range file.AuthInfos {
		err = errors.Join(err, regular(user.ClientCertificate, user.ClientKey, user.TokenFile))
	}
	return file, err
}

// regular refuses pipes and devices among files that libraries read, again and again. A library says what else is wrong with them.
func regular(paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		f, err := bounded.OpenRegular(path)
		if err == nil {
			err = f.Close()
		}
		if errors.Is(err, bounded.ErrIrregular) {
			return fmt.Errorf("%s: %w, and it is read again later", path, bounded.ErrIrregular)
		}
	}
	return nil
}

package kube

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"
)

// Connection is how the API server is reached.
type Connection struct {
	// ClientConnection is as in a KubeSchedulerConfiguration. Without a Kubeconfig
	// and a Master it is the service account of the pod that Berth runs in.
	componentconfigv1alpha1.ClientConnectionConfiguration
	// Master (optional) is the URL of the API server and overrides the kubeconfig's.
	Master string
}

// Clients speak to the API server, each with a rate limit of its own, so that
// events and leases never wait for bindings.
type Clients struct {
	Main, Events, Lease kubernetes.Interface
	// REST is what the clients were made of.
	REST *rest.Config
}

// Connect makes the clients. It sends nothing.
//
// # Errors
//
// The kubeconfig cannot be read, or names no server; without one, that this is no
// pod.
func (c *Connection) Connect(lease componentconfigv1alpha1.LeaderElectionConfiguration) (*Clients, error) {
	base, err := c.rest()
	if err != nil {
		return nil, err
	}
	base.DisableCompression = true // it costs more than it saves inside of a cluster
	base.AcceptContentTypes, base.ContentType = c.AcceptContentTypes, c.ContentType
	base.QPS, base.Burst = c.QPS, int(c.Burst)

	forLease := rest.AddUserAgent(base, "leader-election")
	// A lease that cannot be written in time must fail while there is time to try again.
	forLease.Timeout = lease.RenewDeadline.Duration / 2
	out := &Clients{REST: base}
	for _, x := range []struct {
		to     *kubernetes.Interface
		config *rest.Config
	}{
		{&out.Main, rest.AddUserAgent(base, "scheduler")},
		{&out.Events, bounded(rest.AddUserAgent(base, "events"), eventsInFlight)},
		{&out.Lease, forLease},
	} {
		client, err := kubernetes.NewForConfig(x.config)
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", base.Host, err)
		}
		*x.to = client
	}
	return out, nil
}

// As makes one client more, with another kubeconfig or, if it is empty, that of the
// others. It sends nothing.
//
// # Errors
//
// The kubeconfig cannot be read, or names no server.
func (c *Clients) As(kubeconfig, userAgent string) (kubernetes.Interface, error) {
	config := c.REST
	if kubeconfig != "" {
		other := Connection{ClientConnectionConfiguration: componentconfigv1alpha1.ClientConnectionConfiguration{Kubeconfig: kubeconfig}}
		var err error
		if config, err = other.rest(); err != nil {
			return nil, err
		}
	}
	return kubernetes.NewForConfig(rest.AddUserAgent(config, userAgent))
}

// bounded limits the requests that are on their way.
func bounded(config *rest.Config, n int) *rest.Config {
	config.Wrap(newInFlight(n))
	return config
}

func (c *Connection) rest() (*rest.Config, error) {
	if c.Kubeconfig == "" && c.Master == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("there is no kubeconfig, and this is not a pod of a cluster: " +
				"give --kubeconfig, or clientConnection.kubeconfig in the configuration file")
		}
		if err != nil {
			return nil, fmt.Errorf("the service account of this pod: %w (mount one, or give --kubeconfig)", err)
		}
		return config, nil
	}
	if c.Kubeconfig != "" {
		if _, err := os.Stat(c.Kubeconfig); err != nil {
			return nil, fmt.Errorf("kubeconfig: %w (name a file that can be read with --kubeconfig)", err)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags(c.Master, c.Kubeconfig)
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("kubeconfig %s: it names no cluster (kubectl config view --kubeconfig %[1]s shows what is in it)", c.Kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", c.Kubeconfig, err)
	}
	return config, nil
}

// Package cluster runs a Kubernetes control plane on this machine: etcd and kube-apiserver of
// the versions that test/go.mod pins, and schedulers, each as a separate process. There is no
// kubelet and no controller: nodes are objects, pods never start, and a test must itself bind
// volumes and clean up namespaces.
// The processes can be stopped, killed, paused and restarted; the cluster keeps its address and
// data meanwhile. Everything they write is in one folder.
package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"
)

// Config configures a cluster.
type Config struct {
	Binaries Binaries
	// Dir is the parent of the folder for data and logs; by default the system's folder for
	// temporary files.
	Dir string
	// APIServerFlags are added to those that a cluster needs.
	APIServerFlags []string
	// Audited are users whose requests are logged, for Requests.
	Audited []User
}

// Cluster is a running control plane. etcd and the API server must not be started and stopped
// concurrently.
type Cluster struct {
	config     Config
	dir        string
	etcdPort   int
	peerPort   int
	serverPort int

	etcd      *Process
	store     *clientv3.Client // of etcd; it outlives its restarts
	apiserver *Process
	admin     *kubernetes.Clientset

	mu struct {
		sync.Mutex
		processes []*Process // all that were ever started
	}
}

const (
	startPatience = 2 * time.Minute // a busy machine may need long
	stopPatience  = 30 * time.Second
)

// Start runs etcd and kube-apiserver and returns when requests are served. On failure nothing
// is left running, and the error contains the ends of the logs.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	dir, err := os.MkdirTemp(config.Dir, "berth-cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{config: config, dir: dir}
	if err := c.start(ctx); err != nil {
		logs := c.Tails(20)
		return nil, errors.Join(fmt.Errorf("cluster in %s: %w\n%s", dir, err, logs), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	for _, port := range []*int{&c.etcdPort, &c.peerPort, &c.serverPort} {
		var err error
		if *port, err = FreePort(); err != nil {
			return err
		}
	}
	if err := os.WriteFile(c.path("tokens.csv"), []byte(tokenFile()), 0o600); err != nil {
		return err
	}
	key, err := serviceAccountKey()
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path("service-accounts.key"), key, 0o600); err != nil {
		return err
	}
	if err := c.writeAuditPolicy(); err != nil {
		return err
	}
	if err := c.StartEtcd(); err != nil {
		return err
	}
	if c.store, err = clientv3.New(clientv3.Config{
		Endpoints: []string{hostPort(c.etcdPort)}, Logger: zap.NewNop(), MaxCallRecvMsgSize: 64 << 20,
	}); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return c.StartAPIServer(ctx)
}

// StartEtcd runs etcd on its existing data, if any.
func (c *Cluster) StartEtcd() error {
	client, peer := "http://"+hostPort(c.etcdPort), "http://"+hostPort(c.peerPort)
	var err error
	c.etcd, err = c.run("etcd", c.config.Binaries.Etcd,
		"--data-dir="+c.path("etcd"), "--unsafe-no-fsync", "--log-level=warn", "--quota-backend-bytes="+strconv.Itoa(8<<30),
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer)
	return err
}

// StartAPIServer runs kube-apiserver at its previous address, if any, and returns when it is
// ready. flags are added to those of the cluster.
func (c *Cluster) StartAPIServer(ctx context.Context, flags ...string) error {
	args := []string{
		"--etcd-servers=http://" + hostPort(c.etcdPort),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + strconv.Itoa(c.serverPort),
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--cert-dir=" + c.path("certificates"), "--token-auth-file=" + c.path("tokens.csv"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path("service-accounts.key"),
		"--service-account-signing-key-file=" + c.path("service-accounts.key"),
		// History reads all writes so far.
		"--etcd-compaction-interval=0",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		"--allow-privileged", // as kubeadm sets it: network plugins and storage drivers need it
	}
	args = append(args, c.auditFlags()...)
	var err error
	if c.apiserver, err = c.run("kube-apiserver", c.config.Binaries.APIServer, slices.Concat(args, c.config.APIServerFlags, flags)...); err != nil {
		return err
	}
	return c.awaitReady(ctx)
}

// StopAPIServer stops the API server. It accepts no new connections from then on, and is killed
// if it has not finished the old ones after patience: it would wait a minute for open watches.
func (c *Cluster) StopAPIServer(patience time.Duration) error {
	if err := c.apiserver.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-c.apiserver.Exited():
		return nil
	case <-time.After(patience):
		return c.apiserver.Kill()
	}
}

// awaitReady polls /readyz. At first there is no certificate yet that a client could trust.
func (c *Cluster) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	last := errors.New("it has not been asked")
	for {
		if c.admin == nil {
			if _, last = os.Stat(c.certificate()); last == nil {
				c.admin, last = c.Client(Admin)
			}
		}
		if c.admin != nil {
			// Requests that hang are cancelled, or a restart would be noticed late.
			once, cancel := context.WithTimeout(ctx, 5*time.Second)
			_, last = c.admin.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(once)
			cancel()
			if last == nil {
				return nil
			}
		}
		select {
		case <-c.apiserver.Exited():
			return fmt.Errorf("kube-apiserver ended: %w", c.apiserver.err)
		case <-c.etcd.Exited():
			return fmt.Errorf("etcd ended: %w", c.etcd.err)
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver is not ready: %w; last: %w", ctx.Err(), last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// APIServer returns the process that serves requests.
func (c *Cluster) APIServer() *Process { return c.apiserver }

// Etcd returns the process that stores objects.
func (c *Cluster) Etcd() *Process { return c.etcd }

// Run runs another program of the cluster, a scheduler; its log goes to the cluster's folder.
func (c *Cluster) Run(name, path string, args ...string) (*Process, error) {
	return c.run(name, path, args...)
}

func (c *Cluster) run(name, path string, args ...string) (*Process, error) {
	p, err := start(name, c.path(name+".log"), path, args...)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.mu.processes = append(c.mu.processes, p)
	}
	return p, err
}

// started returns all processes that were ever started.
func (c *Cluster) started() []*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.mu.processes)
}

// Stop stops all processes, the API server before etcd. The folder stays.
func (c *Cluster) Stop() error {
	var errs []error
	for _, p := range c.started() {
		if p != c.etcd && p != c.apiserver && p.Running() {
			errs = append(errs, p.Resume(), p.Stop(stopPatience))
		}
	}
	if c.store != nil {
		errs = append(errs, c.store.Close())
	}
	for _, p := range []*Process{c.apiserver, c.etcd} {
		if p != nil && p.Running() {
			// How they exit is not under test.
			errs = append(errs, p.Resume(), p.Kill())
		}
	}
	return errors.Join(errs...)
}

// Remove deletes the folder of a stopped cluster.
func (c *Cluster) Remove() error { return os.RemoveAll(c.dir) }

// Dir is the folder with the data and the logs.
func (c *Cluster) Dir() string { return c.dir }

// Tails returns the last lines of each log.
func (c *Cluster) Tails(lines int) string {
	var text string
	seen := make(map[string]bool)
	for _, p := range c.started() {
		if !seen[p.log] {
			text += p.Tail(lines)
		}
		seen[p.log] = true
	}
	return text
}

// Binaries returns the programs that the cluster is made of.
func (c *Cluster) Binaries() Binaries { return c.config.Binaries }

// URL is the address of the API server.
func (c *Cluster) URL() string { return "https://" + c.Address() }

// Address is the host and port of the API server.
func (c *Cluster) Address() string { return hostPort(c.serverPort) }

// Client returns a client that acts for a user.
func (c *Cluster) Client(u User) (*kubernetes.Clientset, error) {
	config := c.RESTConfig(u)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return kubernetes.NewForConfig(config)
}

// certificate is the path of the certificate that the API server made for itself, and
// privateKey that of its key.
func (c *Cluster) certificate() string { return c.path(filepath.Join("certificates", "apiserver.crt")) }

func (c *Cluster) privateKey() string { return c.path(filepath.Join("certificates", "apiserver.key")) }

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

func hostPort(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// FreePort returns a port that is free at the moment.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", hostPort(0))
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

func serviceAccountKey() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}

package cluster

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Program is a scheduler that can run in a cluster.
type Program string

// The schedulers.
const (
	// UpstreamProgram is kube-scheduler of the version that test/go.mod pins.
	UpstreamProgram Program = "kube-scheduler"
	// BerthProgram is `berth run` of this tree.
	BerthProgram Program = "berth"
)

// LeaseDuration is the lease duration of a leader. It gives up a second earlier.
const LeaseDuration = 4 * time.Second

// Scheduler configures a scheduler. Both programs get the same file.
type Scheduler struct {
	Program Program
	// Binary is the path of a program that embeds Berth, to run in place of Berth's.
	Binary string
	// Name is that of the process and its log; by default the program's.
	Name string
	// User whose permissions it has; KubeScheduler by default.
	User User
	// Kubeconfig is the path of a file to use instead of one for User.
	Kubeconfig string
	// Server is the URL of the API server, if not its own.
	Server string
	// Config is a KubeSchedulerConfiguration in YAML, without clientConnection;
	// the defaults if empty.
	Config string
	// LeaderElection enables it, with a lease of LeaseDuration, under the identity of the
	// process. A leaderElection in Config takes precedence.
	LeaderElection bool
	// Port of health checks and metrics, with TLS; none if 0.
	Port int
	// Flags are additional flags.
	Flags []string
}

// StartScheduler runs a scheduler. It returns at once, before the scheduler is ready.
func (c *Cluster) StartScheduler(s Scheduler) (*Process, error) {
	if s.User == "" {
		s.User = KubeScheduler
	}
	if s.Name == "" {
		s.Name = string(s.Program)
	}
	if s.Kubeconfig == "" {
		var err error
		if s.Kubeconfig, err = c.Kubeconfig(s.User, s.Server); err != nil {
			return nil, err
		}
	}
	path, err := c.schedulerConfig(s)
	if err != nil {
		return nil, err
	}
	args := append([]string{
		"--config=" + path, "--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(s.Port),
		"--authentication-kubeconfig=" + s.Kubeconfig, "--authorization-kubeconfig=" + s.Kubeconfig,
	}, s.Flags...)
	switch s.Program {
	case UpstreamProgram:
		return c.run(s.Name, c.config.Binaries.KubeScheduler, args...)
	case BerthProgram:
		return c.run(s.Name, cmp.Or(s.Binary, c.config.Binaries.Berth), append([]string{"run"}, args...)...)
	default:
		return nil, fmt.Errorf("unknown scheduler %q", s.Program)
	}
}

// schedulerConfig writes the configuration file of a scheduler: its own settings and the client
// connection.
func (c *Cluster) schedulerConfig(s Scheduler) (string, error) {
	config := map[string]any{}
	if err := yaml.Unmarshal([]byte(s.Config), &config); err != nil {
		return "", fmt.Errorf("configuration of %s: %w", s.Name, err)
	}
	add := func(key string, value any) {
		if _, ok := config[key]; !ok {
			config[key] = value
		}
	}
	add("apiVersion", "kubescheduler.config.k8s.io/v1")
	add("kind", "KubeSchedulerConfiguration")
	// High limits, so that the API server is the bottleneck, if anything.
	add("clientConnection", map[string]any{"kubeconfig": s.Kubeconfig, "qps": 5000, "burst": 5000})
	election := map[string]any{"leaderElect": s.LeaderElection, "leaseDuration": LeaseDuration.String(), "renewDeadline": (LeaseDuration - time.Second).String(), "retryPeriod": "1s"}
	if s.User == Berth {
		election["resourceName"] = "berth" // the lease that deploy/ makes
	}
	add("leaderElection", election)
	data, err := yaml.Marshal(config)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp(c.dir, strings.ReplaceAll(s.Name, "/", "-")+"-*.yaml")
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // closed for good below; this is for failures
	if _, err := file.Write(data); err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}

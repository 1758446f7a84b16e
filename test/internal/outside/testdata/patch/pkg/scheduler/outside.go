package scheduler

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/component-base/featuregate"
	configv1 "k8s.io/kube-scheduler/config/v1"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"k8s.io/utils/clock"
)

// Settings of the program that runs the tests.
const (
	// outsideCommand is the scheduler with its first arguments, separated by spaces.
	outsideCommand = "UPSTREAM_COMMAND"
	// outsideGates says that the scheduler has feature gates.
	outsideGates = "UPSTREAM_GATES"
	// outsideFolder is where configuration files and logs go.
	outsideFolder = "UPSTREAM_FOLDER"

	outsidePatience = time.Minute
)

// outsideSchedulers are the processes of this test program, by the scheduler that each replaces, and the
// configurations of clients, by the address of their API server.
var outsideSchedulers = struct {
	sync.Mutex
	processes map[*Scheduler]*outsideProcess
	servers   map[string]*restclient.Config
}{processes: map[*Scheduler]*outsideProcess{}, servers: map[string]*restclient.Config{}}

// outsideProcess is a scheduler that runs beside the test.
type outsideProcess struct {
	ctx     context.Context // of the test
	options schedulerOptions
	once    sync.Once
	port    int
	done    chan struct{} // closed when the process is gone
}

// New makes a scheduler that fills its cache, which tests look at, and places no pods.
func New(ctx context.Context, client clientset.Interface, informerFactory informers.SharedInformerFactory,
	dynInformerFactory dynamicinformer.DynamicSharedInformerFactory, recorderFactory profile.RecorderFactory, opts ...Option) (*Scheduler, error) {
	sched, err := newInside(ctx, client, informerFactory, dynInformerFactory, recorderFactory, opts...)
	if err != nil {
		return nil, err
	}
	p := &outsideProcess{ctx: ctx, options: defaultSchedulerOptions, done: make(chan struct{})}
	for _, opt := range opts {
		opt(&p.options)
	}
	outsideSchedulers.Lock()
	defer outsideSchedulers.Unlock()
	if p.options.kubeConfig == nil {
		p.options.kubeConfig = outsideSchedulers.servers[client.CoreV1().RESTClient().Get().URL().Host]
	}
	outsideSchedulers.processes[sched] = p
	return sched, nil
}

// Run runs the process until the test ends.
func (sched *Scheduler) Run(ctx context.Context) {
	sched.StartOutside()
	<-ctx.Done()
}

// Serves tells how to reach an API server, for tests that give a scheduler a client only.
func Serves(config *restclient.Config) {
	outsideSchedulers.Lock()
	defer outsideSchedulers.Unlock()
	outsideSchedulers.servers[strings.TrimPrefix(config.Host, "https://")] = config
}

// StartOutside starts the process, unless it was started, and returns when it is ready.
func (sched *Scheduler) StartOutside() {
	outsideSchedulers.Lock()
	p := outsideSchedulers.processes[sched]
	var ended []*outsideProcess
	for other, q := range outsideSchedulers.processes {
		if q.ctx.Err() != nil {
			ended = append(ended, q)
			delete(outsideSchedulers.processes, other)
		}
	}
	outsideSchedulers.Unlock()
	for _, q := range ended {
		if q.port != 0 {
			<-q.done // or two schedulers would place the same pods
		}
	}
	p.once.Do(func() {
		if err := p.start(); err != nil {
			fmt.Printf("\nupstream: scheduler: %v\n", err)
		}
	})
}

// OutsidePort is the port on loopback where the process serves its metrics.
func (sched *Scheduler) OutsidePort() int {
	outsideSchedulers.Lock()
	defer outsideSchedulers.Unlock()
	return outsideSchedulers.processes[sched].port
}

func (p *outsideProcess) start() error {
	if names := p.options.frameworkOutOfTreeRegistry; len(names) > 0 {
		fmt.Printf("\nupstream: compiled in: %d plugins\n", len(names))
	}
	if _, real := p.options.clock.(clock.RealClock); !real {
		fmt.Printf("\nupstream: the clock is not real\n")
	}
	dir, err := os.MkdirTemp(os.Getenv(outsideFolder), "scheduler-")
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(p.kubeconfig(), kubeconfig); err != nil {
		return err
	}
	config := filepath.Join(dir, "config.yaml")
	data, err := p.config(kubeconfig)
	if err != nil {
		return err
	}
	if err := os.WriteFile(config, data, 0o600); err != nil {
		return err
	}
	command := append(strings.Fields(os.Getenv(outsideCommand)),
		"--config="+config, "--leader-elect=false", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--authorization-always-allow-paths=/readyz,/metrics",
		"--pod-max-in-unschedulable-pods-duration="+p.options.podMaxInUnschedulablePodsDuration.String())
	gates := changedGates()
	if len(gates) > 0 {
		fmt.Printf("\nupstream: gates %s\n", strings.Join(gates, ","))
	}
	if os.Getenv(outsideGates) != "" {
		command = append(command, gateFlags()...)
	} else if on := switchedOn(gates); on != "" { // Berth refuses to switch off what it cannot be without
		command = append(command, "--feature-gates="+on)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	child := exec.Command(command[0], command[1:]...)
	child.Stdout, child.Stderr = log, log
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		return err
	}
	p.port = port
	go func() {
		child.Wait()
		close(p.done)
	}()
	go func() {
		select {
		case <-p.ctx.Done():
			child.Process.Kill()
		case <-p.done:
		}
	}()
	return errors.Join(p.await(), p.ended(log.Name()))
}

// await asks until the process is ready.
func (p *outsideProcess) await() error {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	deadline := time.Now().Add(outsidePatience)
	for time.Now().Before(deadline) {
		answer, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/readyz", p.port))
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(25 * time.Millisecond):
		}
	}
	return fmt.Errorf("not ready after %v", outsidePatience)
}

// ended is an error with the log if the process ended before its test.
func (p *outsideProcess) ended(log string) error {
	select {
	case <-p.done:
		if p.ctx.Err() != nil {
			return nil
		}
		text, err := os.ReadFile(log)
		return errors.Join(fmt.Errorf("it ended:\n%s", text), err)
	default:
		return nil
	}
}

func (p *outsideProcess) kubeconfig() clientcmdapi.Config {
	c := p.options.kubeConfig
	host := c.Host
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	return clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"test": {
			Server: host, TLSServerName: c.ServerName,
			CertificateAuthority: c.CAFile, CertificateAuthorityData: c.CAData, InsecureSkipTLSVerify: c.Insecure,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {
			Token: c.BearerToken, ClientCertificate: c.CertFile, ClientCertificateData: c.CertData, ClientKey: c.KeyFile, ClientKeyData: c.KeyData,
		}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		CurrentContext: "test",
	}
}

// config is the configuration file of the process. The profiles of a test have the defaults already, so
// the process must not add them again.
func (p *outsideProcess) config(kubeconfig string) ([]byte, error) {
	var versioned configv1.KubeSchedulerConfiguration
	scheme.Scheme.Default(&versioned)
	var c schedulerapi.KubeSchedulerConfiguration
	if err := scheme.Scheme.Convert(&versioned, &c, nil); err != nil {
		return nil, err
	}
	o := p.options
	if !o.applyDefaultProfile {
		c.Profiles = nil
		for _, from := range o.profiles {
			to := from.DeepCopy()
			if to.Plugins != nil && !slices.ContainsFunc(to.Plugins.MultiPoint.Disabled, func(d schedulerapi.Plugin) bool { return d.Name == "*" }) {
				to.Plugins.MultiPoint.Disabled = []schedulerapi.Plugin{{Name: "*"}}
			}
			c.Profiles = append(c.Profiles, *to)
		}
	}
	c.Extenders = o.extenders
	c.Parallelism = o.parallelism
	c.PercentageOfNodesToScore = &o.percentageOfNodesToScore
	// Tests turn backoff off with 0, which files cannot.
	c.PodInitialBackoffSeconds, c.PodMaxBackoffSeconds = max(1, o.podInitialBackoffSeconds), max(1, o.podMaxBackoffSeconds)
	c.LeaderElection.LeaderElect = false
	c.ClientConnection.Kubeconfig, c.ClientConnection.QPS, c.ClientConnection.Burst = kubeconfig, 5000, 5000
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeYAML)
	if !ok {
		return nil, errors.New("no encoder of YAML")
	}
	var out bytes.Buffer
	err := scheme.Codecs.EncoderForVersion(info.Serializer, configv1.SchemeGroupVersion).Encode(&c, &out)
	return out.Bytes(), err
}

// changedGates are the feature gates that the test set, as in Name=true(ALPHA).
func changedGates() []string {
	var changed []string
	for feature, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if enabled := utilfeature.DefaultFeatureGate.Enabled(feature); enabled != spec.Default {
			changed = append(changed, fmt.Sprintf("%s=%v(%s)", feature, enabled, spec.PreRelease))
		}
	}
	slices.Sort(changed)
	return changed
}

// switchedOn are those of the changed gates that are on, as a flag has them.
func switchedOn(changed []string) string {
	var on []string
	for _, gate := range changed {
		if name, found := strings.CutSuffix(gate[:strings.IndexByte(gate, '(')], "=true"); found {
			on = append(on, name+"=true")
		}
	}
	return strings.Join(on, ",")
}

// gateFlags sets the version and the gates in the process, as far as it allows: it emulates the last three
// minor versions, and refuses gates that are locked in the version. Gates that have another default in that version
// than in the one that the test emulates are set, too: the test's API server lacks what they need.
func gateFlags() []string {
	emulated := utilfeature.DefaultMutableFeatureGate.EmulationVersion()
	if oldest := compatibility.DefaultKubeEffectiveVersionForTest().BinaryVersion().SubtractMinor(3); emulated.LessThan(oldest) {
		emulated = oldest
	}
	var set []string
	for feature, specs := range utilfeature.DefaultMutableFeatureGate.GetAllVersioned() {
		var spec *featuregate.FeatureSpec // in the version; the last one, since they are in order
		for i := range specs {
			if !specs[i].Version.GreaterThan(emulated) {
				spec = &specs[i]
			}
		}
		if spec == nil || spec.LockToDefault {
			continue
		}
		if enabled := utilfeature.DefaultFeatureGate.Enabled(feature); enabled != spec.Default {
			set = append(set, fmt.Sprintf("%s=%v", feature, enabled))
		}
	}
	flags := []string{fmt.Sprintf("--emulated-version=%d.%d", emulated.Major(), emulated.Minor())}
	if len(set) > 0 {
		slices.Sort(set)
		flags = append(flags, "--feature-gates="+strings.Join(set, ","))
	}
	return flags
}

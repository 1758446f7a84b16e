// Command robustness runs Berth and kube-scheduler, two replicas of each in turn, on an API server and etcd, while it creates pods and
// disturbs them with the same seed: it kills, pauses and cuts off schedulers, stops, pauses and slows the API server and etcd, and breaks
// Berth's plugin and fills its disk. It prints the seconds without a binding by fault.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

const (
	namespace = "default"
	nodes     = 200
	rate      = 20               // pods a second
	calm      = 10 * time.Second // after a fault, before the next one
	drained   = 3 * time.Minute
)

func main() {
	budget := flag.Duration("budget", 20*time.Minute, "how long each scheduler is disturbed")
	only := flag.String("scheduler", "", "run only this one: berth or kube-scheduler")
	match := flag.String("fault", "", "cause only faults that match this `pattern`")
	seed := flag.Uint64("seed", 1, "seed of the faults")
	keep := flag.Bool("keep", false, "keep the logs of all processes, and print where they are")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	matching, err := regexp.Compile(*match)
	if err == nil {
		err = compare(ctx, options{cluster.Program(*only), matching, *budget, *seed, *keep})
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "robustness:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	only   cluster.Program
	match  *regexp.Regexp
	budget time.Duration
	seed   uint64
	keep   bool
}

// compare runs both schedulers, and prints a table.
func compare(ctx context.Context, o options) error {
	module, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	binaries, err := cluster.Build(ctx, module, module, os.Stderr)
	if err != nil {
		return err
	}
	results := make(map[cluster.Program]map[string][]int)
	var errs []error
	for _, program := range []cluster.Program{cluster.BerthProgram, cluster.UpstreamProgram} {
		if o.only != "" && program != o.only {
			continue
		}
		c, err := cluster.Start(ctx, cluster.Config{Binaries: binaries})
		if err != nil {
			return err
		}
		results[program], err = disturb(ctx, c, program, o)
		switch err = errors.Join(err, c.Stop()); {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w (logs are in %s)", program, err, c.Dir()))
		case o.keep:
			_, _ = fmt.Fprintln(os.Stderr, "logs are in", c.Dir())
		default:
			errs = append(errs, c.Remove())
		}
	}
	fmt.Printf("| fault | Berth | kube-scheduler |\n|---|---|---|\n")
	own, other := results[cluster.BerthProgram], results[cluster.UpstreamProgram]
	all := maps.Clone(own)
	maps.Copy(all, other)
	for _, fault := range slices.Sorted(maps.Keys(all)) {
		fmt.Printf("| %s | %s | %s |\n", fault, cell(own[fault]), cell(other[fault]))
	}
	return errors.Join(errs...)
}

// cell has all seconds, in order.
func cell(seconds []int) string {
	if len(seconds) == 0 {
		return "–"
	}
	slices.Sort(seconds)
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(seconds), " ", ", "), "[]")
}

// replica is a scheduler that is started again when it ends.
type replica struct {
	proxy *cluster.Proxy
	port  int
	mu    struct {
		sync.Mutex
		process *cluster.Process
	}
}

func (r *replica) process() *cluster.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.process
}

// run is a run of one scheduler.
type run struct {
	*cluster.Cluster
	options
	client   *kubernetes.Clientset
	replicas []*replica
	rand     *rand.Rand
	parts    *parts // of Berth alone
}

// keep starts a replica, and starts it again, as the kubelet does, until the context ends.
func (r *run) keep(ctx context.Context, program cluster.Program) (*replica, <-chan error, error) {
	proxy, err := r.NewProxy()
	if err != nil {
		return nil, nil, err
	}
	out := &replica{proxy: proxy}
	if out.port, err = cluster.FreePort(); err != nil {
		return nil, nil, err
	}
	var flags []string
	if r.parts != nil {
		flags = r.parts.flags(out.port)
	}
	start := func() error {
		p, err := r.StartScheduler(cluster.Scheduler{
			Program: program, User: cluster.Admin, Server: proxy.URL(), Port: out.port, Name: fmt.Sprintf("%s-%d", program, time.Now().UnixNano()),
			Flags:  flags,
			Config: "leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s, resourceName: robustness}\n",
		})
		out.mu.Lock()
		defer out.mu.Unlock()
		out.mu.process = p
		return err
	}
	if err := start(); err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() {
		for {
			select {
			case <-ctx.Done():
				ended <- errors.Join(out.process().Kill(), proxy.Close())
				return
			case <-out.process().Exited():
			}
			time.Sleep(time.Second)
			if err := start(); err != nil {
				ended <- err
				return
			}
		}
	}()
	return out, ended, nil
}

// leader waits for a replica that leads, for a minute. If none does, it is the first.
func (r *run) leader(ctx context.Context) *replica {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a certificate that the scheduler made for itself
	}}
	for begin := time.Now(); time.Since(begin) < time.Minute && ctx.Err() == nil; time.Sleep(time.Second) {
		for _, one := range r.replicas {
			if one.leads(ctx, client) {
				return one
			}
		}
	}
	_, _ = fmt.Fprintln(os.Stderr, "none leads")
	return r.replicas[0]
}

// leads reports whether a replica says that it leads.
func (r *replica) leads(ctx context.Context, client *http.Client) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/metrics", r.port), http.NoBody)
	if err != nil {
		return false
	}
	request.Header.Set("Authorization", "Bearer "+cluster.Admin.Token())
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	text, _ := io.ReadAll(response.Body) // what is missing does not lead
	_ = response.Body.Close()
	for line := range strings.Lines(string(text)) { // the name is the Lease's, or the scheduler's
		if strings.HasPrefix(line, "leader_election_master_status{") && strings.HasSuffix(line, " 1\n") {
			return true
		}
	}
	return false
}

// span is when a fault had its effect: until the next one.
type span struct {
	name     string
	from, to time.Time
}

// disturb runs a scheduler, and returns the seconds without a binding of each fault.
func disturb(ctx context.Context, c *cluster.Cluster, program cluster.Program, o options) (_ map[string][]int, err error) {
	client, err := c.Client(cluster.Admin)
	if err != nil {
		return nil, err
	}
	r := &run{Cluster: c, options: o, client: client, rand: rand.New(rand.NewPCG(o.seed, 0))} //nolint:gosec // it shall be the same each time
	if program == cluster.BerthProgram {
		if r.parts, err = newParts(ctx, c); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, r.parts.remove()) }()
	}
	if err := load.Nodes(ctx, client, 0, nodes, workload.Capacity{CPU: 64, Memory: 256, Pods: 1000}, false); err != nil {
		return nil, err
	}
	kept, end := context.WithCancel(ctx)
	defer end()
	var ended []<-chan error
	for range 2 {
		one, done, err := r.keep(kept, program)
		if err != nil {
			return nil, err
		}
		r.replicas, ended = append(r.replicas, one), append(ended, done)
	}
	creating, enough := context.WithCancel(ctx) // until the last fault is over
	defer enough()
	var creator sync.WaitGroup
	creator.Go(func() { r.create(creating) })
	time.Sleep(calm)
	spans, err := r.disturb(ctx, program)
	enough()
	creator.Wait()
	if err != nil {
		return nil, err
	}
	last, cancel := context.WithTimeout(ctx, drained)
	defer cancel()
	out := make(map[string][]int)
	err = errors.Join(load.AwaitPlaced(last, client, namespace), r.count(ctx, spans, out))
	end()
	for _, done := range ended {
		err = errors.Join(err, <-done)
	}
	return out, err
}

// create creates pods at a rate until the context ends.
func (r *run) create(ctx context.Context) {
	ticker := time.NewTicker(time.Second / rate)
	defer ticker.Stop()
	var pods sync.WaitGroup
	for i := 0; ; i++ {
		select {
		case <-ticker.C:
			pods.Go(func() {
				_ = load.Pod(ctx, r.client, workload.Pod(namespace, fmt.Sprintf("p-%06d", i), 100, 100)) // it is repeated until the end
			})
		case <-ctx.Done():
			pods.Wait()
			return
		}
	}
}

// disturb causes one fault after the other, all in an order that is drawn, then again.
func (r *run) disturb(ctx context.Context, program cluster.Program) (spans []span, err error) {
	faults := r.faults()
	for begin := time.Now(); ; {
		r.rand.Shuffle(len(faults), func(i, k int) { faults[i], faults[k] = faults[k], faults[i] })
		for _, f := range faults {
			if time.Since(begin) > r.budget || ctx.Err() != nil {
				return spans, ctx.Err()
			}
			if f.begin == nil || !r.match.MatchString(f.name) {
				continue
			}
			s := span{name: f.name, from: time.Now()}
			_, _ = fmt.Fprintf(os.Stderr, "%s: %s\n", program, f.name)
			heal, err := f.begin(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			time.Sleep(f.lasts)
			if err := heal(); err != nil {
				return nil, fmt.Errorf("end of %s: %w", f.name, err)
			}
			time.Sleep(calm + 5*time.Second) // leaders that were lost are replaced by then
			s.to = time.Now()
			spans = append(spans, s)
		}
	}
}

// count adds the seconds of each fault in which no pod was bound, which the API server writes into the pods.
func (r *run) count(ctx context.Context, spans []span, out map[string][]int) error {
	pods, err := r.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	bound := make(map[int64]bool)
	for i := range pods.Items {
		for _, c := range pods.Items[i].Status.Conditions {
			if c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue {
				bound[c.LastTransitionTime.Unix()] = true
			}
		}
	}
	for _, s := range spans {
		without := 0
		for second := s.from.Unix() + 1; second < s.to.Unix(); second++ {
			if !bound[second] {
				without++
			}
		}
		out[s.name] = append(out[s.name], without)
	}
	return nil
}

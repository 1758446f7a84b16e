package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

const (
	// calm is the namespace whose pods are measured, and attacked the one that hostile plugins
	// apply to.
	calm, attacked = "calm", "attacked"
	// priority is the priority class of every second attacked pod; broken guests misbehave for
	// it.
	priority = "attack"
	// calmAtATime is the maximum number of pending calm pods.
	calmAtATime = 4
)

// The bounds for pods that a hostile plugin does not apply to: on the p99 of the duration of
// their attempts with and without it, as the median of the pairs.
const (
	P99Ratio      = 1.1
	P99Difference = 2 * time.Millisecond
)

// Bench runs attacks on `berth run` with nine good plugins, on a real API server.
type Bench struct {
	Cluster *cluster.Cluster
	// Corpus is the folder of Corpus, and Dir one for plugins.
	Corpus, Dir string
	// Pairs is the number of pairs of legs, with and without the attack; Calm and Attacked are
	// the numbers of pods in a leg.
	Pairs, Calm, Attacked int
	Progress              io.Writer

	client kubernetes.Interface
	trial  *attempts // what tries whether attacks are refused
}

// Beside is the effect of an attack on other pods.
type Beside struct {
	Attack Attack
	// Refused reports that no plugin of the attack could be loaded.
	Refused bool
	// Without and With are the p99 of the durations of attempts: medians of the pairs.
	Without, With time.Duration
	// Ratio and Difference are the medians over the pairs.
	Ratio      float64
	Difference time.Duration
	// Faults of the hostile plugins, Log what the scheduler wrote while they ran, and Memory its
	// peak, in bytes.
	Faults, Log, Memory int64
}

// Bounded reports whether the effect on other pods is within the bounds.
func (b *Beside) Bounded() bool { return b.Ratio <= P99Ratio || b.Difference <= P99Difference }

// Prepare creates nodes and namespaces.
func (b *Bench) Prepare(ctx context.Context, nodes int) error {
	client, err := b.Cluster.Client(cluster.Admin)
	if err != nil {
		return err
	}
	b.client = client
	for _, name := range []string{calm, attacked} {
		if _, err := client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: priority}, Value: 1}
	if _, err := client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return load.Nodes(ctx, client, 0, nodes, workload.Large(), false)
}

// Run measures an attack. An attack that is refused costs little: one scheduler tries all those that follow
// each other.
func (b *Bench) Run(ctx context.Context, a Attack) (result Beside, err error) {
	if b.trial == nil {
		if b.trial, err = b.start("trial"); err != nil {
			return result, err
		}
	}
	result.Attack = a
	logged := len(b.trial.process.Log())
	loaded, err := b.trial.attach(ctx, a)
	if err == nil && !loaded {
		result.Refused, result.Log = true, int64(len(b.trial.process.Log())-logged)
		return result, b.trial.detach(ctx, a)
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return result, err
	}
	r, err := b.start(filepath.Base(a.Name))
	if err != nil {
		return result, err
	}
	defer func() {
		err = errors.Join(err, r.process.Kill(), load.Clear(context.WithoutCancel(ctx), b.client, attacked))
	}()
	return result, r.measure(ctx, &result)
}

// Close stops the scheduler that tries attacks, if one runs.
func (b *Bench) Close() error {
	if b.trial == nil {
		return nil
	}
	process := b.trial.process
	b.trial = nil
	return process.Kill()
}

// start starts a scheduler with the good plugins in a folder of its own.
func (b *Bench) start(name string) (*attempts, error) {
	dir, err := os.MkdirTemp(b.Dir, "plugins-")
	if err != nil {
		return nil, err
	}
	good, err := filepath.Glob(filepath.Join(b.Corpus, "good", "*.wasm"))
	if err != nil || len(good) == 0 {
		return nil, fmt.Errorf("plugins in %s: %w", b.Corpus, err)
	}
	for _, file := range good {
		if err := os.Link(file, filepath.Join(dir, filepath.Base(file))); err != nil {
			return nil, err
		}
	}
	socket := filepath.Join(b.Dir, "s")
	process, err := b.Cluster.StartScheduler(cluster.Scheduler{
		Program: cluster.BerthProgram, Name: "berth-" + name, Flags: []string{"--plugin-dir=" + dir, "--debug-socket=" + socket},
	})
	if err != nil {
		return nil, err
	}
	return &attempts{bench: b, dir: dir, socket: socket, process: process, names: map[string]bool{}}, nil
}

// measure measures pairs of legs without and with an attack that is not refused.
func (r *attempts) measure(ctx context.Context, result *Beside) error {
	b, a := r.bench, result.Attack
	if _, err := r.leg(ctx, 0); err != nil { // to warm everything up
		return err
	}
	quiet, err := r.process.Usage()
	if err != nil {
		return err
	}
	var without, with []time.Duration
	for pair := range b.Pairs {
		p99, err := r.leg(ctx, 0)
		if err != nil {
			return err
		}
		without = append(without, p99)
		logged := len(r.process.Log())
		loaded, err := r.attach(ctx, a)
		if err != nil {
			return err
		}
		if !loaded {
			return errors.New("it was loaded once, and then refused")
		}
		if p99, err = r.leg(ctx, b.Attacked); err != nil {
			return err
		}
		with = append(with, p99)
		faults, err := r.faults()
		if err != nil {
			return err
		}
		result.Faults += faults
		result.Log += int64(len(r.process.Log()) - logged)
		if err := r.detach(ctx, a); err != nil {
			return err
		}
		fmt.Fprintf(b.Progress, "%s %d: p99 %v without, %v with, %d faults\n", a.Name, pair+1, without[pair], with[pair], faults)
	}
	used, err := r.process.Usage()
	if err != nil {
		return err
	}
	result.Memory = used.PeakMemory - quiet.PeakMemory
	var ratios []float64
	var differences []time.Duration
	for i := range with {
		ratios = append(ratios, float64(with[i])/float64(without[i]))
		differences = append(differences, with[i]-without[i])
	}
	result.Without, result.With, result.Ratio, result.Difference = median(without), median(with), median(ratios), median(differences)
	return nil
}

func median[T int64 | float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// attempts reads the durations of a scheduler's attempts.
type attempts struct {
	bench   *Bench
	dir     string // of its plugins
	socket  string
	process *cluster.Process
	names   map[string]bool // of hostile plugins
	legs    int
}

// ask reads a page of the scheduler.
func (r *attempts) ask(path string, answer any) error {
	response, err := cluster.SocketClient(r.socket).Get("http://berth" + path)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	return json.NewDecoder(response.Body).Decode(answer)
}

// leg places some calm pods, few at a time, and tries attacked ones between them. It returns
// the p99 of the durations of the attempts for the calm ones.
// Only few are pending at a time, because an attacked pod blocks the loop: pods created
// meanwhile would all be bound at once after it, and the API server would use both cores.
func (r *attempts) leg(ctx context.Context, hostile int) (time.Duration, error) {
	r.legs++
	b := r.bench
	basic := workload.All()[0]
	every := 0
	if hostile > 0 {
		every = max(1, b.Calm/hostile)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	bound, err := b.client.CoreV1().Pods(calm).Watch(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!="})
	if err != nil {
		return 0, err
	}
	defer bound.Stop()
	placed := 0
	await := func(n int) error {
		for placed < n {
			select {
			case e, ok := <-bound.ResultChan():
				switch {
				case !ok:
					return fmt.Errorf("the watch ended after %d of %d pods", placed, n)
				case e.Type == watch.Error:
					return apierrors.FromObject(e.Object)
				case e.Type == watch.Added:
					placed++
				}
			case <-ctx.Done():
				return fmt.Errorf("%d of %d pods were placed: %w\n%s", placed, n, ctx.Err(), r.process.Tail(10))
			}
		}
		return nil
	}
	var names []string
	for i := range b.Calm {
		if every > 0 && i%every == 0 {
			pod := basic.Pod(attacked, i)
			pod.Name = fmt.Sprintf("attacked-%d-%d", r.legs, i)
			if i/every%2 == 0 {
				pod.Spec.PriorityClassName = priority
			}
			if err := load.Pod(ctx, b.client, pod); err != nil {
				return 0, err
			}
		}
		pod := basic.Pod(calm, i)
		pod.Name = fmt.Sprintf("calm-%d-%d", r.legs, i)
		names = append(names, pod.Name)
		if err := load.Pod(ctx, b.client, pod); err != nil {
			return 0, err
		}
		if err := await(i + 1 - calmAtATime); err != nil {
			return 0, err
		}
	}
	if err := await(b.Calm); err != nil {
		return 0, err
	}
	var durations []time.Duration
	for _, name := range names {
		var pod debughttp.Pod
		if err := r.ask(debughttp.ExplainPath+calm+"/"+name, &pod); err != nil {
			return 0, err
		}
		if pod.Last == nil {
			return 0, fmt.Errorf("the scheduler does not know %s", name)
		}
		durations = append(durations, pod.Last.Duration)
	}
	slices.Sort(durations)
	if err := load.Clear(ctx, b.client, calm); err != nil {
		return 0, err
	}
	return durations[len(durations)*99/100], load.Clear(ctx, b.client, attacked)
}

// attach puts the plugins of an attack into the folder, and waits until the scheduler has
// processed them. It reports whether one is loaded.
func (r *attempts) attach(ctx context.Context, a Attack) (loaded bool, err error) {
	for i, module := range a.Modules() {
		name := fmt.Sprintf("hostile-%d", i)
		r.names[name] = true
		settings := map[string]any{"name": name, "namespaces": []string{attacked}}
		if file := a.config(i); file != "" {
			config, err := os.ReadFile(file)
			if err != nil {
				return false, err
			}
			if !json.Valid(config) {
				return false, nil
			}
			settings["config"] = json.RawMessage(config)
		}
		data, err := json.Marshal(settings) // which is YAML
		if err != nil {
			return false, err
		}
		if err := os.WriteFile(filepath.Join(r.dir, name+".yaml"), data, 0o644); err != nil {
			return false, err
		}
		if err := os.Link(module, filepath.Join(r.dir, name+".wasm")); err != nil {
			return false, err
		}
	}
	return r.await(ctx, len(a.Plugins))
}

func (r *attempts) detach(ctx context.Context, a Attack) error {
	for i := range a.Plugins {
		for _, ending := range []string{".wasm", ".yaml"} {
			// An attack that is refused for its configuration has no files, or not all.
			if err := os.Remove(filepath.Join(r.dir, fmt.Sprintf("hostile-%d%s", i, ending))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	_, err := r.await(ctx, 0)
	return err
}

// await waits until n hostile plugins run or are refused.
func (r *attempts) await(ctx context.Context, n int) (loaded bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		var status debughttp.Plugins
		if err := r.ask(debughttp.PluginsPath, &status); err != nil && !r.process.Running() {
			return false, fmt.Errorf("the scheduler ended: %w\n%s", err, r.process.Tail(10))
		} // it may not serve yet
		seen := map[string]bool{}
		for _, f := range status.Folder {
			name := filepath.Base(f.File)
			if name = name[:len(name)-len(filepath.Ext(name))]; r.names[name] && f.Error != "" {
				seen[name] = true
			}
		}
		loaded = false
		for _, p := range status.Plugins {
			if r.names[p.Name] {
				loaded, seen[p.Name] = true, true
			}
		}
		if len(seen) == n && status.Plugins != nil {
			return loaded, nil
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("the folder has %v, want %d hostile plugins: %w\n%s", slices.Collect(maps.Keys(seen)), n, ctx.Err(), r.process.Tail(10))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// faults returns the number of faults of the hostile plugins since they were loaded.
func (r *attempts) faults() (n int64, err error) {
	var status debughttp.Plugins
	if err := r.ask(debughttp.PluginsPath, &status); err != nil {
		return 0, err
	}
	for _, p := range status.Plugins {
		if r.names[p.Name] {
			n += p.Faults
		}
	}
	return n, nil
}

package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// attempts reads the durations of a scheduler's attempts.
type attempts struct {
	bench   *Bench
	dir     string // of its plugins
	socket  string
	process *cluster.Process
	attacks []Attack
	plugins map[string]int // the attack of each hostile plugin in the folder, by name
	// attached counts plugins, and legs the legs.
	attached, legs int
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

// start starts a scheduler with the good plugins in a folder of its own.
func (b *Bench) start() (*attempts, error) {
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
		Program: cluster.BerthProgram, Name: "berth",
		// As much memory as for each plugin alone, so that none is refused because of the others.
		Flags: []string{"--plugin-dir=" + dir, "--debug-socket=" + socket, fmt.Sprintf("--plugin-memory=%dMi", (len(good)+2*b.Together)*PluginMemory>>20)},
	})
	if err != nil {
		return nil, err
	}
	return &attempts{bench: b, dir: dir, socket: socket, process: process}, nil
}

// leg places some calm pods, few at a time, and tries attacked ones between them. It returns
// the p99 of the durations of the attempts for the calm ones, and how many attempts there were for each of
// them, besides the first ones for attacked pods.
// Only few are pending at a time, because an attacked pod blocks the loop: pods created
// meanwhile would all be bound at once after it, and the API server would use both cores.
func (r *attempts) leg(ctx context.Context, attack bool) (p99 time.Duration, each float64, err error) {
	r.legs++
	b := r.bench
	basic := workload.All()[0]
	pods := 0 // attacked ones
	if attack {
		pods = b.Attacked
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	bound, err := b.client.CoreV1().Pods(calm).Watch(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!="})
	if err != nil {
		return 0, 0, err
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
	var names, others []string
	for i := range b.Calm {
		for k := i * pods / b.Calm; k < (i+1)*pods/b.Calm; k++ { // spread evenly
			pod := basic.Pod(attacked(k%len(r.attacks)), k)
			pod.Name = fmt.Sprintf("attacked-%d-%d", r.legs, k)
			if k/len(r.attacks)%2 == 0 {
				pod.Spec.PriorityClassName = priority
			}
			others = append(others, pod.Namespace+"/"+pod.Name)
			if err := load.Pod(ctx, b.client, pod); err != nil {
				return 0, 0, err
			}
		}
		pod := basic.Pod(calm, i)
		pod.Name = fmt.Sprintf("calm-%d-%d", r.legs, i)
		names = append(names, pod.Name)
		if err := load.Pod(ctx, b.client, pod); err != nil {
			return 0, 0, err
		}
		if err := await(i + 1 - calmAtATime); err != nil {
			return 0, 0, err
		}
	}
	if err := await(b.Calm); err != nil {
		return 0, 0, err
	}
	var durations []time.Duration
	tries := 0
	for _, name := range names {
		var pod debughttp.Pod
		if err := r.ask(debughttp.ExplainPath+calm+"/"+name, &pod); err != nil {
			return 0, 0, err
		}
		if pod.Last == nil {
			return 0, 0, fmt.Errorf("the scheduler does not know %s", name)
		}
		durations = append(durations, pod.Last.Duration)
		tries += pod.Last.Attempt.Try
	}
	for _, name := range others {
		var pod debughttp.Pod
		if err := r.ask(debughttp.ExplainPath+name, &pod); err != nil {
			return 0, 0, err
		}
		if pod.Last != nil { // otherwise it was not tried yet
			tries += pod.Last.Attempt.Try - 1
		}
	}
	slices.Sort(durations)
	if err := load.Clear(ctx, b.client, calm); err != nil {
		return 0, 0, err
	}
	for i := range r.attacks {
		if err := load.Clear(ctx, b.client, attacked(i)); err != nil {
			return 0, 0, err
		}
	}
	return durations[len(durations)*99/100], float64(tries) / float64(b.Calm), nil
}

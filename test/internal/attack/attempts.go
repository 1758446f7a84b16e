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

// leg is what was measured while calm pods were placed.
type leg struct {
	// p99 is that of the durations of their attempts, and wait that of the time from their creation to the end of these.
	p99, wait time.Duration
	// each is how many attempts there were for each of them, besides the first ones for attacked pods.
	each float64
}

// leg places some calm pods, few at a time, and tries attacked ones between them, after the crowds of the attacks.
// Only few are pending at a time, because an attacked pod blocks the loop: pods created
// meanwhile would all be bound at once after it, and the API server would use both cores.
func (r *attempts) leg(ctx context.Context, attack bool) (out leg, err error) {
	r.legs++
	b := r.bench
	basic := workload.All()[0]
	pods := 0 // attacked ones
	if attack {
		pods = b.Attacked
		if err := r.gather(ctx); err != nil {
			return out, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	before, err := r.decisions()
	if err != nil {
		return out, err
	}
	bound, err := b.client.CoreV1().Pods(calm).Watch(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!="})
	if err != nil {
		return out, err
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
	var others []string
	created := make(map[string]time.Time)
	for i := range b.Calm {
		for k := i * pods / b.Calm; k < (i+1)*pods/b.Calm; k++ { // spread evenly
			pod := basic.Pod(attacked(k%len(r.attacks)), k)
			pod.Name = fmt.Sprintf("attacked-%d-%d", r.legs, k)
			if k/len(r.attacks)%2 == 0 {
				pod.Spec.PriorityClassName = priority
			}
			others = append(others, pod.Namespace+"/"+pod.Name)
			if err := load.Pod(ctx, b.client, pod); err != nil {
				return out, err
			}
		}
		if err := r.change(ctx, i); err != nil {
			return out, err
		}
		pod := basic.Pod(calm, i)
		pod.Name = fmt.Sprintf("calm-%d-%d", r.legs, i)
		created[pod.Name] = time.Now()
		if err := load.Pod(ctx, b.client, pod); err != nil {
			return out, err
		}
		if err := await(i + 1 - calmAtATime); err != nil {
			return out, err
		}
	}
	if err := await(b.Calm); err != nil {
		return out, err
	}
	if out, err = r.result(before, created, others); err != nil {
		return out, err
	}
	if err := load.Clear(ctx, b.client, calm); err != nil {
		return out, err
	}
	for i := range r.attacks {
		if err := load.Clear(ctx, b.client, attacked(i)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// result asks the scheduler about the pods of a leg: the calm ones, by when they were created, and the attacked ones. before is the
// number of the last attempt before them.
func (r *attempts) result(before uint64, created map[string]time.Time, others []string) (out leg, err error) {
	after, err := r.decisions()
	if err != nil {
		return out, err
	}
	var durations, waits []time.Duration
	for name, at := range created {
		var pod debughttp.Pod
		if err := r.ask(debughttp.ExplainPath+calm+"/"+name, &pod); err != nil {
			return out, err
		}
		if pod.Last == nil {
			return out, fmt.Errorf("the scheduler does not know %s", name)
		}
		durations, waits = append(durations, pod.Last.Duration), append(waits, pod.Last.At.Sub(at))
	}
	caused := after - before
	for _, name := range others {
		var pod debughttp.Pod
		if err := r.ask(debughttp.ExplainPath+name, &pod); err != nil {
			return out, err
		}
		if pod.Last != nil { // otherwise it was not tried yet
			caused--
		}
	}
	return leg{p99: p99(durations), wait: p99(waits), each: float64(caused) / float64(len(created))}, nil
}

func p99(values []time.Duration) time.Duration {
	slices.Sort(values)
	return values[len(values)*99/100]
}

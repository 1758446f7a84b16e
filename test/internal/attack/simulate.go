package attack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// Simulator runs attacks through `berth simulate` and `berth plugin inspect`, with
// default settings.
type Simulator struct {
	// Berth is the program, and Dir a folder for clusters.
	Berth, Dir string
	// Patience is the time after which a run counts as hanging.
	Patience time.Duration

	baselines map[size]int64 // bytes
}

// size is that of a cluster: its nodes, and the pods that are tried.
type size struct{ nodes, pods int }

func (a *Attack) size() size { return size{cmp.Or(a.Nodes, 20), cmp.Or(a.Pods, 12)} }

// Outcome is the outcome of an attack.
type Outcome struct {
	Attack Attack
	// Ended is how it ended: refused, faults, or nothing.
	Ended  string
	Faults int64
	// Memory is the peak of the scheduler's process beyond that of the same run without plugins,
	// and Log the most that a command wrote to its log and as its result, in bytes.
	Memory, Log int64
	Took        time.Duration
	// Unbounded lists the bounds that were exceeded.
	Unbounded []string
}

// LogBound is what may be logged for the attack, in bytes.
func (o *Outcome) LogBound() int64 {
	return FaultLog*(1+o.Faults) + int64(o.Attack.size().pods)*(PodResult+PodLog)
}

// Run carries out an attack.
func (s *Simulator) Run(ctx context.Context, a Attack) (Outcome, error) {
	if a.As != "" {
		return s.onTenants(ctx, a)
	}
	files, err := s.cluster(a.size())
	if err != nil {
		return Outcome{}, err
	}
	baseline, err := s.baseline(ctx, a.size(), files)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Attack: a}
	fail := func(format string, args ...any) { o.Unbounded = append(o.Unbounded, fmt.Sprintf(format, args...)) }
	args := append(simulation(files), a.feeds()...)
	for i, module := range a.Modules() {
		plugin := fmt.Sprintf("%s?name=guest-%d", module, i)
		if config := a.config(i); config != "" {
			plugin += "&config=" + config
		}
		args = append(args, "--plugin", plugin)
	}
	if a.Workers {
		if err := s.byWorkers(ctx, args, fail); err != nil {
			return Outcome{}, fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	runs := [][]string{args}
	for _, module := range a.Modules() {
		runs = append(runs, []string{"plugin", "inspect", module})
	}
	for i, args := range runs {
		what := "plugin inspect"
		if i == 0 {
			what = "simulate"
		}
		r, err := s.run(ctx, args)
		if err != nil {
			return Outcome{}, fmt.Errorf("%s: %s: %w", a.Name, what, err)
		}
		o.Took += r.took
		o.Memory = max(o.Memory, r.memory-baseline)
		log := int64(len(r.out) + len(r.log))
		o.Log = max(o.Log, log)
		if i == 0 {
			o.Faults = faults(r.out)
			switch {
			case r.status == 2:
				o.Ended = "refused"
			case o.Faults > 0:
				o.Ended = fmt.Sprintf("%d faults", o.Faults)
			default:
				o.Ended = "ran"
			}
		}
		if i == 0 && a.Refused != "" && (r.status != 2 || !bytes.Contains(r.log, []byte(a.Refused))) {
			fail("%s ended with status %d, without a refusal that has %q: %.300q", what, r.status, a.Refused, r.log)
		}
		if r.killed {
			fail("%s did not end within %v", what, s.Patience)
		}
		if r.status != 0 && r.status != 1 && r.status != 2 {
			fail("%s ended with status %d: %.300q", what, r.status, r.log)
		}
		if log > o.LogBound() {
			fail("%s wrote %d bytes for %d faults, the bound is %d", what, log, o.Faults, o.LogBound())
		}
		for _, text := range [][]byte{r.out, r.log} {
			if err := unprintable(text); err != nil {
				fail("%s printed %v", what, err)
			}
			if stack(text) {
				fail("%s printed a stack: %.300q", what, text)
			}
			if deadline.Match(text) {
				fail("%s: a call was ended by the clock", what)
			}
		}
	}
	if o.Memory > a.MemoryBound() {
		fail("%d MiB of memory, the bound is %d", o.Memory>>20, a.MemoryBound()>>20)
	}
	return o, nil
}

// simulation returns the arguments of a run without plugins, with the log of `berth run`.
func simulation(files string) []string {
	return []string{"simulate", "--cluster", files, "--log-level", "info"}
}

// baseline returns what a run without plugins uses.
func (s *Simulator) baseline(ctx context.Context, of size, files string) (int64, error) {
	if memory, ok := s.baselines[of]; ok {
		return memory, nil
	}
	r, err := s.run(ctx, simulation(files))
	if err != nil {
		return 0, err
	}
	if r.status != 0 {
		return 0, fmt.Errorf("without plugins: status %d: %s", r.status, r.log)
	}
	if s.baselines == nil {
		s.baselines = map[size]int64{}
	}
	s.baselines[of] = r.memory
	return r.memory, nil
}

// run is a run of the program.
type run struct {
	out, log []byte
	status   int
	killed   bool
	memory   int64 // resident, the most
	took     time.Duration
}

// most is how much of an output is kept; a program that writes more is killed.
const most = 64 << 20

// sink keeps what is written, up to a bound.
type sink struct{ bytes.Buffer }

func (s *sink) Write(p []byte) (int, error) {
	if s.Len()+len(p) > most {
		return 0, fmt.Errorf("more than %d bytes", most)
	}
	return s.Buffer.Write(p)
}

// run runs the program and samples its memory meanwhile: the processes that it starts for
// compiling have their own limits.
func (s *Simulator) run(ctx context.Context, args []string) (run, error) {
	limited, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	var out, log sink
	command := exec.CommandContext(limited, s.Berth, args...)
	command.Stdout, command.Stderr = &out, &log
	command.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(s.Dir, "cache"))
	command.WaitDelay = time.Second
	began := time.Now()
	if err := command.Start(); err != nil {
		return run{}, err
	}
	ended := make(chan struct{})
	peak := make(chan int64)
	go func() {
		memory := int64(0)
		for {
			if n, err := cluster.PeakMemory(command.Process.Pid); err == nil {
				memory = max(memory, n)
			}
			select {
			case <-ended:
				peak <- memory
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	_ = command.Wait() // its status reports it
	close(ended)
	r := run{out: out.Bytes(), log: log.Bytes(), status: command.ProcessState.ExitCode(), memory: <-peak, took: time.Since(began)}
	r.killed = limited.Err() != nil && ctx.Err() == nil
	return r, ctx.Err()
}

// cluster writes a cluster of a size, with nodes as large as real ones and every third pod with priority 1,
// and returns the file.
func (s *Simulator) cluster(of size) (string, error) {
	type object map[string]any
	var items []object
	for i := range of.nodes {
		name := fmt.Sprintf("node-%04d", i)
		items = append(items, object{
			"apiVersion": "v1", "kind": "Node",
			"metadata": object{
				"name": name, "labels": object{"kubernetes.io/hostname": name},
				"annotations": object{"example.com/notes": strings.Repeat(name+" ", 1000)},
			},
			"status": object{"allocatable": object{"cpu": "8", "memory": "32Gi", "pods": "110"}},
		})
	}
	for i := range of.pods {
		pod := object{"priority": 0, "containers": []object{{"name": "c", "resources": object{"requests": object{"cpu": "100m"}}}}}
		if i%3 == 2 {
			pod["priority"] = 1
		}
		items = append(items, object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"namespace": "default", "name": fmt.Sprintf("pod-%02d", i)}, "spec": pod})
	}
	data, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return "", err
	}
	file := filepath.Join(s.Dir, fmt.Sprintf("%d-nodes-%d-pods.json", of.nodes, of.pods))
	return file, os.WriteFile(file, data, 0o644)
}

package schedulerperf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/test/internal/outside"
)

// patience is more than upstream's for a workload.
const patience = "40m"

// Result is what a scheduler did in a workload.
type Result struct {
	// Pods that were placed while metrics were collected, and PodsPerSecond from the first pod that was
	// created to the last that was placed.
	Pods          int
	PodsPerSecond float64
	// Sampled is upstream's figure, the mean of samples of one second but the first; 0 if there were none.
	Sampled float64
	// CPUPerPod is the CPU time of the process for each of the pods.
	CPUPerPod time.Duration
}

// reached is the figure that is compared with thresholds.
func (r Result) reached() float64 {
	if r.Sampled > 0 {
		return r.Sampled
	}
	return r.PodsPerSecond
}

// measure runs a workload, which is in the program.
func measure(ctx context.Context, tests *outside.Tests, program string, w *Workload, factor float64) (Result, error) {
	dir, err := os.MkdirTemp(tests.Logs, "results-")
	if err != nil {
		return Result{}, err
	}
	run := outside.Run{
		Package: under + w.Package, Program: program,
		Args: []string{
			"-test.run=^$", "-test.bench=" + outside.Exactly(benchmark+"/"+w.Name), "-test.benchtime=1x", "-test.timeout=" + patience,
			"-perf-scheduling-label-filter=" + selecting, "-data-items-dir=" + dir,
		},
		Env: []string{"UPSTREAM_SCRAPES=" + dir},
	}
	if factor != 1 && !w.Short {
		run.Env = append(run.Env, "UPSTREAM_SCALE="+strconv.FormatFloat(factor, 'g', -1, 64))
	}
	out, err := tests.Execute(ctx, run)
	if err != nil {
		return Result{}, err
	}
	if failed := failures(string(out)); failed != nil {
		return Result{}, failed
	}
	return read(dir)
}

// failures is an error with what a benchmark says when it fails: the messages behind file.go:1:, without klog's
// information, and at most five.
func failures(out string) error {
	_, after, failed := strings.Cut(out, "--- FAIL: "+benchmark)
	if !failed {
		return nil
	}
	message, other := regexp.MustCompile(`^\w+\.go:\d+: `), regexp.MustCompile(`^\w+\.go:\d+: (I\d{4} |full log output)`)
	var said []string
	continues := false // the message goes on in the next line
	for line := range strings.Lines(after) {
		text := strings.TrimSpace(line)
		switch {
		case message.MatchString(text):
			if continues = !other.MatchString(text) && len(said) < 5; continues {
				said = append(said, text)
			}
		case strings.HasPrefix(text, "---"):
			continues = false
		case continues:
			said[len(said)-1] += " " + text
		}
	}
	return errors.New("the benchmark fails: " + strings.Join(said, "; "))
}

// read reads what the benchmark left in a folder.
func read(dir string) (Result, error) {
	var before, after series
	for name, to := range map[string]*series{"before": &before, "after": &after} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return Result{}, fmt.Errorf("the workload did not end: %w", err)
		}
		if *to, err = readSeries(string(text)); err != nil {
			return Result{}, err
		}
	}
	grown := after.since(before)
	if err := grown.missing(); err != nil {
		return Result{}, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		return Result{}, errors.Join(err, fmt.Errorf("%d files of results in %s, expected one", len(files), dir))
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return Result{}, err
	}
	r, err := figures(data)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", files[0], err)
	}
	if counted := grown.sum("scheduler_schedule_attempts_total", `result="scheduled"`); counted < float64(r.Pods) {
		return Result{}, fmt.Errorf("%d pods were placed, and scheduler_schedule_attempts_total says %.0f", r.Pods, counted)
	}
	r.CPUPerPod = time.Duration(grown.sum("process_cpu_seconds_total") / float64(r.Pods) * float64(time.Second))
	return r, nil
}

// figures reads upstream's file of results.
func figures(data []byte) (r Result, err error) {
	var file struct {
		DataItems []struct {
			Data   map[string]float64
			Labels map[string]string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return Result{}, err
	}
	for _, item := range file.DataItems {
		switch item.Labels["Metric"] {
		case "SchedulingThroughput":
			r.Sampled = item.Data["Average"]
		case "Placed":
			r.Pods = int(item.Data["Pods"])
			r.PodsPerSecond = item.Data["Pods"] / item.Data["Seconds"]
		}
	}
	if r.Pods == 0 {
		return Result{}, errors.New("no pods were placed")
	}
	return r, nil
}

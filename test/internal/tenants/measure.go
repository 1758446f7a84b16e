// Package tenants measures what the plugins of tenants cost a scheduler.
package tenants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/test/internal/images"
)

// Config says what is measured.
type Config struct {
	Module, Profile                                    string
	Tenants, Plugins, Active, Nodes, Pods, Repetitions int
	// Only (optional) selects what hostile tenants do.
	Only *regexp.Regexp
}

// Result is what was measured.
type Result struct {
	// Compile is how long the first plugin takes, and Start how long all others do.
	Compile, Start time.Duration
	// Before is the resident memory without plugins, and Active that with pods of some tenants;
	// Idle is what a plugin without pods adds. In bytes.
	Before, Idle, Active int64
	// Judged is how long it takes from a new object until a pod is judged by its plugin. Pause and
	// Try are the longest time that pods of others waited for an attempt meanwhile, and their longest
	// attempt; CalmPause and CalmTry are the same without a new object.
	Judged, Pause, Try, CalmPause, CalmTry time.Duration
	// Own and All are the CPU time for a pod, with the plugins of its namespace only, and with
	// those of all.
	Own, All time.Duration
}

// Measure measures. It takes about a minute.
func Measure(ctx context.Context, c Config) (r Result, err error) {
	dir, err := os.MkdirTemp("", "berth-tenants-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	image, closeRegistry, err := images.Publish(ctx, c.Module, filepath.Join(dir, "registry"))
	if err != nil {
		return r, err
	}
	defer closeRegistry()
	modules := assembly.NewModules(assembly.ModulesConfig{CacheDir: filepath.Join(dir, "cache"), SourceDir: filepath.Join(dir, "fetched")})
	defer func() { err = errors.Join(err, modules.Close(context.WithoutCancel(ctx))) }()

	first, err := newWorld(ctx, modules, 1)
	if err != nil {
		return r, err
	}
	begun := time.Now()
	err = first.attach(ctx, image, 1, 1)
	r.Compile = time.Since(begun)
	first.stop()
	if err != nil {
		return r, err
	}

	own, err := newWorld(ctx, modules, c.Nodes)
	if err != nil {
		return r, err
	}
	defer own.stop()
	if err := own.attach(ctx, image, 1, c.Plugins); err != nil {
		return r, err
	}
	all, err := newWorld(ctx, modules, c.Nodes)
	if err != nil {
		return r, err
	}
	defer all.stop()
	if r.Before, err = resident(); err != nil {
		return r, err
	}
	begun = time.Now()
	if err := all.attach(ctx, image, c.Tenants, c.Plugins); err != nil {
		return r, err
	}
	r.Start = time.Since(begun)
	idle, err := resident()
	if err != nil {
		return r, err
	}
	if c.Profile != "" {
		if err := heap(c.Profile); err != nil {
			return r, err
		}
	}
	r.Idle = (idle - r.Before) / int64(c.Tenants*c.Plugins)
	if err := all.schedule(ctx, "active-", c.Pods, c.Active); err != nil {
		return r, err
	}
	if r.Active, err = resident(); err != nil {
		return r, err
	}
	all.remove("active-", c.Pods)
	if r.Own, r.All, err = perPod(ctx, c, own, all); err != nil {
		return r, err
	}
	err = all.measurePause(ctx, image, c, &r)
	return r, err
}

// measurePause measures judge while pods of the first tenant arrive at an even pace.
func (w *world) measurePause(ctx context.Context, image string, c Config, r *Result) error {
	calm, err := w.steady(ctx, namespace(0), "calm-", c.Pods, never, nil)
	if err != nil {
		return err
	}
	r.CalmPause, r.CalmTry = calm.Pause, calm.LongestTry
	var judged atomic.Bool
	var failed error
	var judging sync.WaitGroup
	judging.Go(func() {
		defer judged.Store(true)
		r.Judged, failed = w.judge(ctx, image, c.Tenants)
	})
	meanwhile, err := w.steady(ctx, namespace(0), "meanwhile-", c.Pods, func() bool { return !judged.Load() }, nil)
	judging.Wait()
	r.Pause, r.Try = meanwhile.Pause, meanwhile.LongestTry
	return errors.Join(err, failed)
}

// perPod measures the CPU time for a pod of the first tenant in two schedulers, in turn.
func perPod(ctx context.Context, c Config, own, all *world) (ofOwn, ofAll time.Duration, err error) {
	var times [2][]time.Duration
	for n := range c.Repetitions + 1 {
		for i, w := range []*world{own, all} {
			prefix := fmt.Sprintf("pod-%d-", n)
			before, err := cpu()
			if err != nil {
				return 0, 0, err
			}
			if err := w.schedule(ctx, prefix, c.Pods, 1); err != nil {
				return 0, 0, err
			}
			after, err := cpu()
			if err != nil {
				return 0, 0, err
			}
			if n > 0 { // the first time warms up
				times[i] = append(times[i], (after-before)/time.Duration(c.Pods))
			}
			w.remove(prefix, c.Pods)
		}
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	return times[0][c.Repetitions/2], times[1][c.Repetitions/2], nil
}

// judge measures how long a new plugin takes to judge a pod, which no node is good enough for.
func (w *world) judge(ctx context.Context, image string, tenants int) (time.Duration, error) {
	p := tenantPlugin(image, namespace(tenants), "late")
	p.Spec.Config.Raw = []byte(`{}`) // it admits nowhere
	begun := time.Now()
	w.mu.Lock()
	w.objects.TenantPlugins = append(w.objects.TenantPlugins[:len(w.objects.TenantPlugins)-1:len(w.objects.TenantPlugins)-1], p) // there are at most 200
	w.mu.Unlock()
	w.changed <- struct{}{}
	for !running(w.assembly.Status(), p.Namespace+"/late") { // a pod that comes earlier would wait for its backoff
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		time.Sleep(time.Millisecond)
	}
	w.assembly.Scheduler.SetPods(newPod(p.Namespace, "late-pod"))
	err := w.await(ctx, func() bool { return strings.Contains(w.judged["late-pod"], "tenant's pool") })
	return time.Since(begun), err
}

func heap(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

func running(s assembly.Status, name string) bool {
	return slices.ContainsFunc(s.Plugins, func(p assembly.PluginStatus) bool { return p.Name == name })
}

// cpu is the CPU time of this process so far.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// resident is the resident memory of this process after a garbage collection, in bytes.
func resident() (int64, error) {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

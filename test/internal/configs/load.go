package configs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	internal "k8s.io/kubernetes/pkg/scheduler/apis/config"
	v1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/upstream"
)

// table is what a file results in: a line for each point of each profile, for the args of each
// plugin, and for each setting that both have.
type table []string

func (t *table) add(format string, args ...any) { *t = append(*t, fmt.Sprintf(format, args...)) }

// ours loads a file as Berth does.
func ours(data []byte) (table, error) {
	c, err := native.Load(data)
	if err != nil {
		return nil, err
	}
	var t table
	for i := range c.Profiles {
		p := &c.Profiles[i]
		for _, point := range points() {
			var plugins []string
			for _, ref := range p.Points[point] {
				plugins = append(plugins, entry(point, ref.Name, ref.Weight))
			}
			t.add("%s %s: %s", p.SchedulerName, point, strings.Join(plugins, " "))
		}
		for _, name := range slices.Sorted(maps.Keys(p.Args)) {
			text, err := argsText(p.Args[name].Typed)
			if err != nil {
				return nil, err
			}
			t.add("%s args of %s: %s", p.SchedulerName, name, text)
		}
		t.add("%s percentage %s", p.SchedulerName, percentage(p.PercentageOfNodesToScore))
	}
	t.settings(c)
	return t, nil
}

func (t *table) settings(c *config.Scheduler) {
	t.add("parallelism %d, backoff %v to %v, profiling %v %v", c.Parallelism, c.PodInitialBackoff.Seconds(), c.PodMaxBackoff.Seconds(),
		c.EnableProfiling, c.EnableContentionProfiling)
	l := c.LeaderElection
	t.add("leader election %v %s %s/%s %v %v %v", *l.LeaderElect, l.ResourceLock, l.ResourceNamespace, l.ResourceName,
		l.LeaseDuration.Duration, l.RenewDeadline.Duration, l.RetryPeriod.Duration)
	t.add("client %s %v %d", c.ClientConnection.ContentType, c.ClientConnection.QPS, c.ClientConnection.Burst)
}

func entry(point, name string, weight int32) string {
	if point == "score" {
		return fmt.Sprintf("%s*%d", name, weight)
	}
	return name
}

func percentage(p *int32) string {
	if p == nil {
		return "not given"
	}
	return fmt.Sprint(*p)
}

// argsText writes typed args, without apiVersion, kind and nulls.
func argsText(args any) (string, error) {
	data, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return "", err
	}
	delete(tree, "kind")
	delete(tree, "apiVersion")
	data, err = json.Marshal(tree)
	return string(data), err
}

// theirs loads a file as kube-scheduler does, and has it create the plugins.
func theirs(data []byte) (t table, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	c, err := upstream.Load(data)
	if err != nil {
		return nil, err
	}
	if len(c.Profiles) == 0 {
		return nil, errors.New("no profile")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := scheduler.New(ctx, fake.NewSimpleClientset(), informers.NewSharedInformerFactory(nil, 0), nil,
		func(string) events.EventRecorderLogger { return noEvents{} },
		scheduler.WithProfiles(c.Profiles...), scheduler.WithExtenders(c.Extenders...))
	if err != nil {
		return nil, fmt.Errorf("new: %w", err)
	}
	built := make(map[string]bool)
	for _, name := range native.Names() {
		built[name] = true
	}
	for i := range c.Profiles {
		p := &c.Profiles[i]
		plugins := s.Profiles[p.SchedulerName].ListPlugins()
		enabled := make(map[string]bool)
		for j, set := range sets(plugins) {
			var list []string
			for _, e := range set.Enabled {
				if built[e.Name] && !heldByTheLoop(e.Name, points()[j]) {
					list = append(list, entry(points()[j], e.Name, e.Weight))
					enabled[e.Name] = true
				}
			}
			t.add("%s %s: %s", p.SchedulerName, points()[j], strings.Join(list, " "))
		}
		slices.SortFunc(p.PluginConfig, func(a, b internal.PluginConfig) int { return strings.Compare(a.Name, b.Name) })
		for _, a := range p.PluginConfig {
			if !enabled[a.Name] || a.Args == nil {
				continue
			}
			external, err := v1.GetPluginArgConversionScheme().ConvertToVersion(a.Args, configv1.SchemeGroupVersion)
			if err != nil {
				return nil, err
			}
			text, err := argsText(external)
			if err != nil {
				return nil, err
			}
			t.add("%s args of %s: %s", p.SchedulerName, a.Name, text)
		}
		t.add("%s percentage %s", p.SchedulerName, percentage(p.PercentageOfNodesToScore))
	}
	t.add("parallelism %d, backoff %v to %v, profiling %v %v", c.Parallelism, c.PodInitialBackoffSeconds, c.PodMaxBackoffSeconds,
		c.EnableProfiling, c.EnableContentionProfiling)
	l := c.LeaderElection
	t.add("leader election %v %s %s/%s %v %v %v", l.LeaderElect, l.ResourceLock, l.ResourceNamespace, l.ResourceName,
		l.LeaseDuration.Duration, l.RenewDeadline.Duration, l.RetryPeriod.Duration)
	t.add("client %s %v %d", c.ClientConnection.ContentType, c.ClientConnection.QPS, c.ClientConnection.Burst)
	return t, nil
}

// heldByTheLoop reports whether kube-scheduler uses a plugin for what Berth's loop does itself:
// DefaultPreemption holds back pods whose victims are being evicted (KEP-4832;
// docs/differences.md).
func heldByTheLoop(plugin, point string) bool {
	return plugin == "DefaultPreemption" && point == "preEnqueue"
}

// sets are the plugins of the points, in their order.
func sets(p *internal.Plugins) []internal.PluginSet {
	return []internal.PluginSet{
		p.PreEnqueue, p.QueueSort, p.PreFilter, p.Filter, p.PostFilter, p.PreScore, p.Score, p.Reserve, p.Permit, p.PreBind, p.Bind, p.PostBind,
	}
}

// implements reports whether a plugin of the default profile has a point.
func implements(name, point string) bool { return allPoints()[name][point] }

// noEvents drops events.
type noEvents struct{}

// Eventf implements events.EventRecorder.
func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// WithLogger implements events.EventRecorderLogger.
func (e noEvents) WithLogger(klog.Logger) events.EventRecorderLogger { return e }

// marshal writes a file.
func marshal(tree map[string]any) []byte {
	data, err := yaml.Marshal(tree)
	if err != nil {
		panic(fmt.Sprintf("BUG: %v", err))
	}
	return data
}

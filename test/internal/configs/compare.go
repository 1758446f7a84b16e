package configs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/test/internal/compare"
	"github.com/berth-scheduler/berth/test/internal/native"
)

// allPoints determines once which points kube-scheduler's default plugins have.
var allPoints = sync.OnceValue(func() map[string]map[string]bool { //nolint:gochecknoglobals // a constant that is costly to make
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := scheduler.New(ctx, fake.NewSimpleClientset(), informers.NewSharedInformerFactory(nil, 0), nil,
		func(string) events.EventRecorderLogger { return noEvents{} })
	if err != nil {
		panic("BUG: kube-scheduler refuses its own defaults: " + err.Error())
	}
	out := make(map[string]map[string]bool)
	for i, set := range sets(s.Profiles["default-scheduler"].ListPlugins()) {
		for _, e := range set.Enabled {
			if out[e.Name] == nil {
				out[e.Name] = make(map[string]bool)
			}
			out[e.Name][points()[i]] = true
		}
	}
	return out
})

// Tree compares one file.
func Tree(tree map[string]any, n *compare.Counts) (differences []compare.Difference) {
	n.Cases++
	n.Steps++
	differ := func(what, ours, theirs string) {
		d := compare.Difference{Plugin: Name, What: what, Where: "file", Ours: ours, Theirs: theirs}
		n.Note(&d)
		differences = append(differences, d)
	}
	data := marshal(tree)
	a, ourErr := ours(data)
	b, theirErr := theirs(data)
	switch {
	case ourErr != nil && theirErr != nil:
		n.Refused++
		known, unplaced := ourFields(ourErr)
		if unplaced != "" {
			differ("error without a place", unplaced, theirErr.Error())
		}
		for _, name := range theirFields(tree, theirErr) {
			if !slices.ContainsFunc(known, func(ours string) bool { return covers(ours, name) }) {
				differ("fields of errors", ourErr.Error(), name)
			}
		}
	case ourErr != nil:
		if !strict(ourErr) && !unusedArgs(tree, b) {
			differ("refused by ours", ourErr.Error(), "accepted")
		}
	case theirErr != nil:
		if !lenient(tree, theirErr) {
			differ("refused by theirs", "accepted", theirErr.Error())
		}
	default:
		if more, less := without(a, b), without(b, a); len(more)+len(less) > 0 {
			differ("result", strings.Join(more, "; "), strings.Join(less, "; "))
		}
	}
	return differences
}

// without returns the lines of a that b does not have.
func without(a, b table) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
}

// strict reports whether all errors are ones that only Berth reports, which docs/differences.md
// lists below its first table.
func strict(err error) bool {
	for line := range strings.Lines(err.Error()) {
		ok := false
		for _, text := range []string{
			`"*" stands for all plugins only under disabled`, "is listed twice", "takes no args", "the weight is -",
			`plugin "DefaultPreemption" does not implement preEnqueue`,
		} {
			ok = ok || strings.Contains(line, text)
		}
		if !ok {
			return false
		}
	}
	return true
}

// unusedArgs reports whether Berth rejects a file for args of plugins that no profile enables,
// not all of which kube-scheduler validates.
func unusedArgs(tree map[string]any, theirs table) bool {
	c := copied(tree)
	for i, profile := range profiles(c) {
		name, _ := profile["schedulerName"].(string)
		if name == "" && i == 0 {
			name = v1.DefaultSchedulerName
		}
		remove(profile, "pluginConfig", func(plugin string) bool {
			return !slices.ContainsFunc(theirs, func(line string) bool { return strings.HasPrefix(line, fmt.Sprintf("%s args of %s:", name, plugin)) })
		})
	}
	_, err := ours(marshal(c))
	return err == nil
}

// lenient reports whether kube-scheduler rejects a file for what Berth does not validate: args
// and points of plugins that are built only in part, and queueSort sections that differ between
// profiles but are equivalent.
func lenient(tree map[string]any, err error) bool {
	c := copied(tree)
	built := native.Names()
	missing := func(plugin string) bool { return !slices.Contains(built, plugin) }
	for _, profile := range profiles(c) {
		remove(profile, "pluginConfig", missing)
		plugins, _ := profile["plugins"].(map[string]any)
		if strings.Contains(err.Error(), "must be the same for all profiles") {
			if plugins == nil {
				plugins = make(map[string]any)
				profile["plugins"] = plugins
			}
			entry := func(name string) []any { return []any{map[string]any{"name": name}} }
			plugins["queueSort"] = map[string]any{"disabled": entry("*"), "enabled": entry("PrioritySort")}
		}
		for point, set := range plugins {
			if set, ok := set.(map[string]any); ok && point != "multiPoint" {
				remove(set, "enabled", missing)
			}
		}
	}
	_, err = theirs(marshal(c))
	return err == nil
}

// copied returns a copy that can be changed.
func copied(tree map[string]any) map[string]any {
	var out map[string]any
	if err := yaml.Unmarshal(marshal(tree), &out); err != nil {
		panic(fmt.Sprintf("BUG: %v", err))
	}
	return out
}

func profiles(tree map[string]any) []map[string]any {
	var out []map[string]any
	list, _ := tree["profiles"].([]any)
	for _, p := range list {
		profile, _ := p.(map[string]any)
		out = append(out, profile)
	}
	return out
}

// remove removes the entries of a list that name plugins of a kind.
func remove(from map[string]any, list string, unwanted func(plugin string) bool) {
	entries, ok := from[list].([]any)
	if !ok {
		return
	}
	from[list] = slices.DeleteFunc(entries, func(e any) bool {
		entry, _ := e.(map[string]any)
		name, _ := entry["name"].(string)
		return unwanted(name)
	})
}

package berthtest

import (
	"maps"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/nearest"
)

// tellUnseen notes keys in a line about an object that the manifest does not list, if it lists a
// similar one: one of the two is probably misspelt. The plugin does not see such a key.
func (f *file) tellUnseen(object string, words []string) {
	f.t.Helper()
	if slices.ContainsFunc(f.trial.manifest.Host, func(name string) bool { return name == abi.HostPodObject || name == abi.HostNodeObject }) {
		return // it may see everything
	}
	if object == "change" && len(words) > 0 && !strings.Contains(words[0], "/") {
		object = "node"
	}
	reads := f.trial.manifest.Reads
	for _, word := range words {
		field, value, _ := strings.Cut(word, "=")
		list, others := listOf(object, field)
		if list == "" || slices.ContainsFunc(others, func(other [2]string) bool { return slices.Contains(reads[other[0]], other[1]) }) {
			continue
		}
		for _, e := range keys(value) {
			near, ok := similar(e, reads[list])
			if !ok || slices.Contains(reads[list], e) || slices.Contains(f.unseen, list+e) {
				continue
			}
			f.unseen = append(f.unseen, list+e)
			f.t.Logf("%s:%d: the manifest's reads.%s does not list %s, so the plugin does not see it; did you mean %q?", f.name, f.at, list, e, near)
		}
	}
}

// similar returns the key that differs least from another, in its name or in its domain.
func similar(key string, keys []string) (string, bool) {
	domain, name := parts(key)
	var names, domains []string
	for _, k := range keys {
		d, n := parts(k)
		if d == domain {
			names = append(names, n)
		}
		if n == name && d != "" {
			domains = append(domains, d)
		}
	}
	if near, ok := nearest.Of(name, names); ok {
		return strings.TrimPrefix(domain+"/"+near, "/"), true
	}
	near, ok := nearest.Of(domain, domains)
	return near + "/" + name, ok
}

// parts splits a key into its domain, which may be empty, and its name.
func parts(key string) (domain, name string) {
	i := strings.LastIndexByte(key, '/')
	return key[:max(i, 0)], key[i+1:]
}

// keys returns the keys of a field.
func keys(value string) []string {
	all := list(value)
	for i, e := range all {
		all[i], _, _ = strings.Cut(e, ":")
	}
	return all
}

// listOf returns the manifest's list of the keys of an object's field, and the lists with the fields that
// make all keys visible.
func listOf(object, field string) (list string, others [][2]string) {
	switch {
	case slices.Contains([]string{"allocatable", "capacity", "requests", "requestedSince", "limits"}, field):
		return "resources", nil
	case object == "node" && field == "labels":
		return "nodeLabels", [][2]string{{"node", "labels"}}
	case object == "node" && field == "annotations":
		return "nodeAnnotations", nil
	case object == "node" && field == "conditions":
		return "nodeConditions", nil
	case object == "namespace" && field == "labels":
		return "namespaceLabels", [][2]string{{"namespaces", "labels"}, {"pod", "namespaceLabels"}}
	case field == "labels":
		return "podLabels", [][2]string{{"pod", "labels"}, {"pods", "labels"}}
	case field == "annotations":
		return "podAnnotations", nil
	}
	return "", nil
}

// tellNoTime notes that the plugin reads the time and that the scenario does not say it: it is 1970, which no plugin ever sees.
func (f *file) tellNoTime() {
	f.t.Helper()
	if f.timeless || f.trial.Now != 0 || !slices.Contains(f.trial.manifest.Reads["pod"], "now") {
		return
	}
	f.timeless = true
	f.t.Logf("%s:%d: the manifest reads pod: now, and the time is 0, in 1970: set it below config by a line such as now 1767323045", f.name, f.at)
}

// tellAbsent notes resources that a pod requests and no node has: they are often misspelt. Nodes
// without allocatable resources say nothing about capacity.
func (f *file) tellAbsent(p Pod) {
	f.t.Helper()
	has := map[string]bool{}
	pods := []Pod{p}
	for _, n := range f.trial.Nodes {
		pods = append(pods, n.Pods...)
		for resource := range n.Allocatable {
			has[resource], f.allocatable[resource] = true, true
		}
	}
	for _, n := range f.trial.Nominated {
		pods = append(pods, n.Pod)
	}
	for _, p := range pods {
		for _, resource := range slices.Sorted(maps.Keys(p.Requests)) {
			if len(has) > 0 && !has[resource] && !slices.Contains(f.absent, resource) {
				f.absent = append(f.absent, resource)
				f.t.Logf("%s:%d: %s requests %s, and no node has it", f.name, f.at, p.id(), resource)
			}
		}
	}
}

// tellUnmet notes resources whose capacity the manifest reads, and that no node in the file has.
func (f *file) tellUnmet() {
	reads := f.trial.manifest.Reads
	for _, resource := range reads["resources"] {
		if len(f.allocatable) > 0 && !f.allocatable[resource] && slices.Contains(reads["node"], "allocatable") {
			f.t.Logf("%s: the plugin reads allocatable of %s, and no node has it", f.name, resource)
		}
	}
}

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// part is a field of the manifest.
type part struct {
	name, typ string
	// meaning is what the field says, and rule the sentence of SPEC.md.
	meaning, rule string
	required      bool
}

// parts returns the fields of the manifest in the order of SPEC.md.
func parts() []part {
	return []part{
		{"$schema", "text", "the JSON Schema, for editors; the host does not look at it, and `berth plugin build` leaves it out of modules", "9.1", false},
		{"name", "text", "the plugin's name, a DNS label", "9.2", true},
		{"version", "text", "the plugin's version, a semantic version such as `1.0.0`", "9.2", true},
		{"publisher", "text", "who publishes the plugin, for people", "9.1", false},
		{"license", "text", "the licence as an SPDX expression, for people", "9.1", false},
		{"description", "text", "what the plugin does, in one line, for people", "9.1", false},
		{"abi", "text", "the version of the ABI that the plugin needs; the lowest that has all names in the manifest runs on the most hosts", "9.2", true},
		{"points", "object", "the extension points that the plugin has, at least one", "9.3", true},
		{"reads", "object", "what the plugin reads; the host writes nothing else to its memory", "9.4", false},
		{"objects", "list of objects", "kinds of objects of the API of which `reads.objectColumns` has fields", "9.16", false},
		{"host", "list of texts", "the host functions that the plugin calls, exactly these", "9.6", false},
		{"events", "list of objects", "the cluster events after which a pod that the plugin rejected is tried again; without it every event", "9.7", false},
		{"enforces", "list of texts", "features of a pod's spec that the plugin enforces, such as `host-ports`", "9.9", false},
		{"publishes", "list of texts", "keys of the plugin's state that other plugins may read", "9.10", false},
		{"cycleLocal", "list of texts", "keys of the plugin's state that may hold ids, and end with the cycle", "9.10", false},
		{"directives", "object", "what the plugin may ask the host to do", "9.11", false},
		{"config", "object", "the JSON Schema of the configuration; without it only `{}` is accepted", "9.8", false},
	}
}

// point is an extension point in a manifest.
type point struct {
	abi.Point
	name, meaning string
	needs         []string // other points
}

func points() (out []point) {
	about := map[abi.Point]struct{ meaning, needs string }{
		abi.PreEnqueue: {"may hold a pod back from the queue", ""},
		abi.QueueSort:  {"gives each pod a key, by which the queue is sorted", ""},
		abi.Hint:       {"says for an event which of the pods that the plugin rejected are worth another attempt", ""},
		abi.PreFilter:  {"is called once per attempt, before filter: it prepares state, leaves nodes out, or skips the plugin's filter", ""},
		abi.AddPod:     {"brings the state up to date when a pod is added to a node on trial", "removePod preFilter"},
		abi.RemovePod:  {"brings the state up to date when a pod is removed from a node on trial", "addPod preFilter"},
		abi.Filter:     {"says which nodes can run the pod, and why others cannot", ""},
		abi.PostFilter: {"is called when no node fits, and may nominate one", ""},
		abi.PreScore:   {"is called once per attempt with the nodes that passed, and may skip the plugin's score", "score"},
		abi.Score:      {"says how good each node is: 0 to 100, or any number with `normalize`", ""},
		abi.Normalize:  {"turns the plugin's scores into 0 to 100", "score"},
		abi.Reserve:    {"is called when a node was chosen, and may reject it", ""},
		abi.Unreserve:  {"undoes what reserve did when the pod does not get the node", "reserve"},
		abi.Permit:     {"lets the pod pass, has it wait, or rejects it", ""},
		abi.PreBind:    {"is called before the pod is bound", ""},
		abi.Bind:       {"binds the pod, with the directive `bind`", ""},
		abi.PostBind:   {"is called after the pod was bound", ""},
	}
	for _, p := range abi.Points() {
		if name := wire.PointName(p); name != "" {
			out = append(out, point{p, name, about[p].meaning, strings.Fields(about[p].needs)})
		}
	}
	return out
}

// normalizations are the host's, with what they do.
func normalizations() (names, meanings []string) {
	return []string{wire.NormalizeNone, wire.NormalizeMax, wire.NormalizeReverse, wire.NormalizeMinMax}, []string{
		"scores are 0 to 100 already",
		"scales so that the highest score becomes 100",
		"as max, then 100 minus the score",
		"maps the lowest score to 0 and the highest to 100",
	}
}

// name is a name that a list can have.
type name struct {
	name, meaning, grant string
	since                int
}

// names returns the names that a list of reads can have; none if it has keys.
func names(list string) (out []name) {
	for _, e := range fields.All() {
		if e.List != list || e.Name == "" {
			continue
		}
		of := name{e.Name, strings.Replace(e.Meaning, "as 4,", "as `requested`,", 1), e.Grant, e.Since}
		switch at := slices.IndexFunc(out, func(n name) bool { return n.name == e.Name }); {
		case at < 0:
			out = append(out, of)
		case of.meaning != out[at].meaning: // several columns have one name
			out[at].meaning += "; " + of.meaning
		}
	}
	return out
}

// sinceList returns the minor version of the ABI that first had a list of reads.
func sinceList(list string) int {
	switch list {
	case "requiredFeeds":
		return sinceList("feeds")
	case "resolution":
		pod := names("pod")
		return pod[slices.IndexFunc(pod, func(n name) bool { return n.name == "now" })].since
	}
	since := -1
	for _, e := range fields.All() {
		if e.List == list && (since < 0 || e.Since < since) {
			since = e.Since
		}
	}
	return max(since, 0) // resources and published are in no table
}

// grantList returns what a plugin of a tenant must be granted to read a list that has keys.
func grantList(list string) (grant string) {
	for _, e := range fields.All() {
		if e.List == list && e.Name == "" && e.Grant != "" {
			grant = e.Grant
		}
	}
	return grant
}

func version(minor int) string { return strconv.Itoa(abi.Major) + "." + strconv.Itoa(minor) }

// keys says what the names of a list are that has keys, and what they must look like.
func keys(list string) (meaning, pattern, form string) {
	key := "a key such as example.com/pool"
	switch list {
	case "nodeLabels":
		return "the values of these labels of nodes", qualified, key
	case "nodeAnnotations":
		return "the values of these annotations of nodes", qualified, key
	case "nodeConditions":
		return "the status of these conditions of nodes", qualified, "a type as in status.conditions, such as Ready"
	case "resources":
		return "the resources of which amounts are read", qualified, "a resource as in a pod's requests, such as cpu or example.com/gpu"
	case "feeds":
		return "the values of these feeds of nodes", feed, "a feed and its unit, such as node.cpu.usage:milli"
	case "requiredFeeds":
		return "those of `feeds` without which the plugin's pods wait", feed, "a feed that is in feeds"
	case "objectColumns":
		return "columns of `objects`: the name of an object, a path and a type", objectColumn, "a column such as zones.status.zones[*].free:quantity"
	case "podLabels":
		return "the values of these labels of placed pods", qualified, key
	case "podAnnotations":
		return "the values of these annotations of pods", qualified, key
	case "resolution":
		return "one text: by how much `pod: now` moves, from `1s` to `86400s`", seconds, "a number of seconds from 1 to 86400, such as 60s"
	case "namespaceLabels":
		return "the values of these labels of namespaces", qualified, key
	case "published":
		return "keys that other plugins publish", published, "the name of a plugin in the profile, a slash and its key, such as gpu-plan/devices"
	}
	panic(fmt.Sprintf("write what the list %s has", list))
}

// function is a host function.
type function struct {
	name, meaning, grant string
	since                int
}

func functions() (out []function) {
	about := map[string]string{
		abi.HostLog:          "writes to the plugin's log",
		abi.HostStateGet:     "reads the plugin's state of this pod's cycle",
		abi.HostStateSet:     "writes the plugin's state of this pod's cycle",
		abi.HostPublishedGet: "reads what another plugin published, by `reads.published`",
		abi.HostPodObject:    "reads the whole Pod as Kubernetes protobuf; each call costs the fuel to encode it",
		abi.HostNodeObject:   "reads the whole Node as Kubernetes protobuf; each call costs the fuel to encode it",
	}
	for _, f := range fields.Functions() {
		out = append(out, function{f.Name, about[f.Name], f.Grant, f.Since})
	}
	return out
}

// resources returns the resources of events, each once.
func resources() (out []fields.Event) {
	for _, e := range fields.Events() {
		if e.Resource != "" && !slices.ContainsFunc(out, func(o fields.Event) bool { return o.Resource == e.Resource }) {
			out = append(out, e)
		}
	}
	return out
}

// actions returns the actions of a resource's events, as wire accepts them.
func actions(resource string) (out []string) {
	all := []string{"Add", "Delete", "Update", "All"}
	for _, a := range fields.Actions() {
		all = append(all, a.Name)
	}
	for _, a := range all {
		m := wire.Manifest{
			Name: "x", Version: "1.0.0", ABI: version(abi.Minor), Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}},
			Events: []wire.ManifestEvent{{Resource: resource, Actions: []string{a}}},
		}
		if m.Validate() == nil && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// directives are the fields of the manifest's directives, with what they are for.
func directives() (names, meanings []string) {
	return []string{"annotations", "labels", "nominate", "bind", "waiting", "activate"}, []string{
		"prefixes of annotations that the plugin may set on the pod, such as `example.com/gpu-`",
		"prefixes of labels that the plugin may set on the pod",
		"the plugin may nominate a node in postFilter",
		"the plugin may have the host bind the pod; the point bind needs it",
		"the plugin may let pods that wait at permit pass, or reject them",
		"the plugin may ask for pods to be tried again",
	}
}

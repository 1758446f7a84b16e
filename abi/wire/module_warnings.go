package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/internal/nearest"
	"github.com/berth-scheduler/berth/internal/plain"
)

// largeModule is the size, in bytes, above which a module takes seconds to compile.
const largeModule = 8 << 20

// inertWarning begins the warning about imports of files and sockets.
const inertWarning = "a plugin has no files and no network, so these imports always fail: "

// IsInert reports whether a warning is about imports of files and sockets.
func IsInert(warning string) bool { return strings.HasPrefix(warning, inertWarning) }

// Warnings returns what works but deserves attention, in a fixed order.
func Warnings(m *Module, man *Manifest) []string {
	var out []string
	warn := func(when bool, text string) {
		if when {
			out = append(out, text)
		}
	}
	warnManifest(man, warn)
	warnReads(man, warn)
	_, configures := m.Export(abi.ExportConfigure)
	warn(len(man.Config) > 0 && !configures, "the manifest has a config schema, but "+abi.ExportConfigure+" is not exported: the module never receives its configuration")
	warn(m.Start != nil, "there is a start section, which runs before the host has set limits for a call; prefer an exported _initialize")
	_, command := m.Export("_start")
	warn(command, "_start is exported and never called: build a reactor (Go: -buildmode=c-shared, clang: -mexec-model=reactor)")
	if inert := inertImports(m); len(inert) > 0 {
		warn(true, inertWarning+strings.Join(inert, ", "))
	}
	warn(m.Size >= largeModule, "the module has "+strconv.Itoa(m.Size>>20)+" MiB: it takes seconds to compile; strip it (-ldflags='-s -w', wasm-opt) and import less")
	return out
}

func warnManifest(man *Manifest, warn func(bool, string)) {
	warn(man.Publisher == "", "the manifest names no publisher")
	warn(man.License == "", "the manifest names no license")
	warn(man.Description == "", "the manifest has no description")
	rejects := man.Points.PreFilter != nil || man.Points.Filter != nil || man.Points.PreEnqueue != nil ||
		man.Points.Reserve != nil || man.Points.Permit != nil
	warnDirectives(man, warn)
	warn(rejects && len(man.Events) == 0, "no events are declared: any event in the cluster makes the scheduler retry a rejected pod")
	warnEvents(man, warn)
	for _, e := range man.Events {
		warn(e.Resource == "*", `the event resource "*" makes the scheduler retry a rejected pod after changes of any object`)
	}
	warn(man.Points.Filter != nil && man.Points.Filter.Scope == "", // who writes "cluster" means it
		`filter is of scope "cluster": all nodes are in one instance and no verdict is reused; declare "node" if a row's verdict depends on that row only`)
}

// warnEvents warns about columns of nodes whose changes are no event of the manifest, so that a pod which the plugin rejected would wait
// although the node fits now. A plugin with score may read them for that only.
func warnEvents(man *Manifest, warn func(bool, string)) {
	judges := (man.Points.Filter != nil || man.Points.PreFilter != nil) && man.Points.Score == nil
	if !judges || len(man.Events) == 0 {
		return
	}
	r := &man.Reads
	reads := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(r.Node, name) })
	}
	for _, column := range []struct {
		read     bool
		what     string
		action   string
		resource string
	}{
		{len(r.NodeLabels) > 0 || reads("labels", "zone"), "labels of nodes are", "UpdateNodeLabel", "Node"},
		{len(r.NodeAnnotations) > 0, "nodeAnnotations are", "UpdateNodeAnnotation", "Node"},
		{len(r.NodeConditions) > 0, "nodeConditions are", "UpdateNodeCondition", "Node"},
		{reads("taints", "flags"), "taints or flags of nodes are", "UpdateNodeTaint", "Node"},
		{reads("allocatable"), "node: allocatable is", "UpdateNodeAllocatable", "Node"},
		{reads("requested", "nonZeroRequested", "pods", "ports"), "what pods on nodes have is", "Delete", "Pod"},
	} {
		told := slices.ContainsFunc(man.Events, func(e ManifestEvent) bool {
			return e.Resource == "*" || e.Resource == column.resource && (slices.Contains(e.Actions, column.action) ||
				column.action != "Delete" && slices.Contains(e.Actions, "Update") || slices.Contains(e.Actions, "All"))
		})
		warn(column.read && !told, column.what+" read, but events do not list "+column.action+" of "+column.resource+": a rejected pod is not tried again after it")
	}
}

// warnDirectives warns about directives that no declared point can use.
func warnDirectives(man *Manifest, warn func(bool, string)) {
	d := &man.Directives
	for _, use := range []struct {
		name     string
		declared bool
		kind     abi.DirectiveKind
	}{
		{"annotations", len(d.Annotations) > 0, abi.Annotate}, {"labels", len(d.Labels) > 0, abi.Label},
		{"nominate", d.Nominate, abi.Nominate}, {"waiting", d.Waiting, abi.Allow}, {"activate", d.Activate, abi.Activate},
	} {
		usable := slices.ContainsFunc(man.Declared(), use.kind.At)
		warn(use.declared && !usable, "directives."+use.name+" is declared, but no declared point can use it: users must grant it for nothing")
	}
}

func warnReads(man *Manifest, warn func(bool, string)) {
	r := &man.Reads
	for _, name := range r.Resources {
		if !isCoreResource(name) {
			fix := ""
			if near, ok := nearest.Of(name, coreResources()); ok {
				fix = "; did you mean " + strconv.Quote(near) + "?"
			}
			warn(true, "resources: "+plain.Quote(name, maxNamed)+" is neither a resource of Kubernetes, such as cpu, nor has it a domain, such as example.com/gpu"+fix)
		}
	}
	warnUnusable(man, warn)
	names, used := perResource(r)
	warn(len(r.Resources) > 0 && !used,
		"resources are listed, but none of these is read, which have something for each: "+strings.Join(names, ", "))
	pods := slices.Contains(r.Node, "pods")
	warn(len(r.PodAnnotations) > 0 && !pods && !slices.Contains(r.Pod, "annotations"), "podAnnotations are listed, but neither pod: annotations nor node: pods is read")
	warn((len(r.Pods) > 0 || len(r.PodLabels) > 0) && !pods, "columns of pods are read, but not node: pods, which says on which node they are")
	warn(slices.Contains(r.Node, "pods") && len(r.Pods)+len(r.PodLabels)+len(r.PodAnnotations) == 0,
		"node: pods is read, but no column of pods; for their number read node: requested of the resource pods")
	counts := man.Points.PreFilter != nil && man.Points.Filter != nil && man.Scope(abi.Filter) == abi.ScopeCluster && slices.Contains(man.Host, abi.HostStateSet)
	warn(counts && man.Points.AddPod == nil && (pods || slices.Contains(r.Node, "requested")),
		"preFilter keeps state, and may count pods on nodes: without addPod and removePod, preemption and nominated pods are judged by the old count (ABI-5.13)")
	for _, unique := range []string{"name", "uid"} {
		judges := man.Points.Filter != nil || man.Points.Score != nil
		warn(judges && slices.Contains(r.Pod, unique), "pod: "+unique+" is read, so no two pods share verdicts")
	}
}

// warnUnusable warns about reads that no declared point can use.
func warnUnusable(man *Manifest, warn func(bool, string)) {
	r := &man.Reads
	some := func(uses func(p abi.Point) bool) bool { return slices.ContainsFunc(man.Declared(), uses) }
	hints, placed := man.Points.Hint != nil, some(func(p abi.Point) bool { return p > abi.Hint })
	warn(!placed && !hints && len(r.Node)+len(r.NodeLabels)+len(r.NodeAnnotations)+len(r.NodeConditions)+len(r.Feeds)+len(r.Pods) > 0,
		"columns of nodes and of their pods are read, but no declared point sees nodes")
	for _, e := range fields.All() {
		warn(!placed && hints && e.Table == abi.TableNodes && e.Points == fields.PointsPods && r.Declares(&e),
			e.Manifest()+" is read, but hint, the only declared point that sees nodes, sees them without pods")
	}
	// pre_filter of a guest that may hold a part of the nodes sees none (ABI-5.3).
	whole := func(p abi.Point) bool {
		return p > abi.Hint && man.Scope(p) == abi.ScopeCluster && (p != abi.PreFilter || !man.Sharded())
	}
	warn(r.HasNamespaces() && !some(func(p abi.Point) bool { return whole(p) && !p.Aux() }),
		"namespaces are read, but no declared point may use them: only those of scope cluster from preFilter to normalize, and postFilter, may; "+
			"for the labels of the pod's own namespace read pod: namespaceLabels")
	warn(placed && slices.Contains(r.Node, "generation") && !some(whole),
		"node: generation is read, but all declared points are of scope node, where no answer may depend on it (ABI-4.12)")
	names := func(p abi.Point) bool { return p == abi.Hint || p == abi.AddPod || p >= abi.Reserve }
	warn(slices.Contains(r.Pod, "nodeName") && !some(names),
		"pod: nodeName is read, but a pod has none before reserve, and no declared point is about a pod on a node")
	timed := fields.Of(abi.IncomingNow).Points.Has
	warn(slices.Contains(r.Pod, "now") && !some(timed), "pod: now is read, but no declared point has the time")
	stateful := some(func(p abi.Point) bool { return p > abi.Hint && man.Scope(p) == abi.ScopeCluster })
	warn(len(r.Published) > 0 && !stateful, "published keys are listed, but no declared point may read them (ABI-7.9)")
	warn(len(r.Published) > 0 && stateful && !slices.Contains(man.Host, abi.HostPublishedGet),
		"published keys are listed, but host does not list published_get")
}

// maxNamed is how much of a name a warning quotes, in bytes.
const maxNamed = 64

// isCoreResource reports whether a name has a domain, or is one that Kubernetes knows without.
func isCoreResource(name string) bool {
	return strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-") || strings.HasPrefix(name, "attachable-volumes-") ||
		slices.Contains(coreResources(), name)
}

func coreResources() []string {
	return []string{"cpu", "memory", "ephemeral-storage", "pods", "storage"}
}

// inertImports returns the imported functions of files and sockets, each once.
func inertImports(m *Module) []string {
	var out []string
	for i := range m.Imports {
		name := m.Imports[i].Name
		if m.Imports[i].Module == abi.WASIModule && (strings.HasPrefix(name, "path_") || strings.HasPrefix(name, "sock_") || name == "fd_readdir") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

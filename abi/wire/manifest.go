package wire

import (
	"cmp"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/internal/plain"
)

// Manifest says what a module is, which extension points it implements, what it reads and which
// host functions it imports (ABI-9).
type Manifest struct {
	// Name is a DNS label, Version a semantic version (ABI-9.2).
	Name, Version string
	// Publisher, License (an SPDX expression) and Description are for people.
	Publisher, License, Description string
	// ABI is "major.minor" (ABI-9.2).
	ABI string
	// Points are the extension points that the module exports (ABI-9.3).
	Points ManifestPoints
	// Reads is what the host writes to the module's memory (ABI-9.4).
	Reads ManifestReads
	// Host are the host functions that the module imports (ABI-9.6).
	Host []string
	// Events are those after which a rejected pod is retried; none means any (ABI-9.7).
	Events []ManifestEvent
	// Enforces are features of a pod's spec, by the host's names (ABI-9.9).
	Enforces []string
	// Publishes are keys of the plugin's state that others may read, CycleLocal are keys that
	// may contain ids and are removed after normalize (ABI-9.10).
	Publishes, CycleLocal []string
	// Directives are what the module may ask the host to do (ABI-9.11).
	Directives ManifestDirectives
	// Config is the JSON Schema of the configuration as compact JSON; empty if only {} is
	// accepted (ABI-9.8).
	Config []byte
}

// ManifestPoint is the manifest's declaration of one point. Fields that do not apply to the
// point are empty.
type ManifestPoint struct {
	// Scope of filter and score is "node", "cluster" or empty for the default, cluster.
	Scope string
	// Normalize of score is "none", "max", "reverse", "minmax" or empty for the default, none
	// (ABI-9.5).
	Normalize string
}

// ManifestPoints has a value for each declared point.
type ManifestPoints struct {
	PreEnqueue, QueueSort, Hint                         *ManifestPoint
	PreFilter, AddPod, RemovePod, Filter, PostFilter    *ManifestPoint
	PreScore, Score, Normalize                          *ManifestPoint
	Reserve, Unreserve, Permit, PreBind, Bind, PostBind *ManifestPoint
}

// ManifestReads has names of SPEC.md, sections 4 and 6, label and annotation keys, condition
// types and resources. The index in its list is the arg of a column (ABI-4.9).
type ManifestReads struct {
	Node, NodeLabels, NodeAnnotations, NodeConditions, Resources, Pods, PodLabels, PodAnnotations, Pod []string
	Namespaces, NamespaceLabels                                                                        []string
	// Feeds are names of feeds with their units, as "node.cpu.usage:milli".
	Feeds []string
	// RequiredFeeds are those of Feeds without which the plugin's pods wait.
	RequiredFeeds []string
	// Objects are the kinds of objects of the API of which the module reads fields (ABI-9.16), which manifests have beside reads.
	Objects []ManifestObject
	// ObjectColumns are columns of Objects, as "zones.status.zones[*].free:quantity".
	ObjectColumns []string
	// Resolution is by how much the time moves that pod: now has, as "60s"; at most one.
	Resolution []string
	// Published are keys that other plugins publish, as "plugin/key".
	Published []string
	// FromConfig has for the name of a list where the configuration has more of its names, as JSON pointers (ABI-9.15). Resolve
	// replaces them by the names.
	FromConfig map[string][]string
}

// ManifestDirectives are the directives that a module uses, or that a user grants it
// (ABI-9.11), with their names in manifests and configurations.
type ManifestDirectives struct {
	// Annotations and Labels are prefixes of keys.
	Annotations []string `json:"annotations,omitempty"`
	Labels      []string `json:"labels,omitempty"`
	Nominate    bool     `json:"nominate,omitempty"`
	Bind        bool     `json:"bind,omitempty"`
	Waiting     bool     `json:"waiting,omitempty"` // allow and reject
	Activate    bool     `json:"activate,omitempty"`
	// Objects are resources, as plural.group, of which a module may read objects. No manifest has them here: Rights collects them.
	Objects []string `json:"objects,omitempty"`
}

// ManifestEvent is a kind of cluster event, by the names of k8s.io/kube-scheduler/framework.
type ManifestEvent struct {
	Resource string
	Actions  []string
}

// The host's normalizations (ABI-9.5).
const (
	NormalizeNone    = "none"
	NormalizeMax     = "max"
	NormalizeReverse = "reverse"
	NormalizeMinMax  = "minmax"
)

type namedPoint struct {
	name  string
	point abi.Point
	value **ManifestPoint
}

// all returns the points in the order of a pod's path.
func (p *ManifestPoints) all() []namedPoint {
	return []namedPoint{
		{"preEnqueue", abi.PreEnqueue, &p.PreEnqueue},
		{"queueSort", abi.QueueSort, &p.QueueSort},
		{"hint", abi.Hint, &p.Hint},
		{"preFilter", abi.PreFilter, &p.PreFilter},
		{"addPod", abi.AddPod, &p.AddPod},
		{"removePod", abi.RemovePod, &p.RemovePod},
		{"filter", abi.Filter, &p.Filter},
		{"postFilter", abi.PostFilter, &p.PostFilter},
		{"preScore", abi.PreScore, &p.PreScore},
		{"score", abi.Score, &p.Score},
		{"normalize", abi.Normalize, &p.Normalize},
		{"reserve", abi.Reserve, &p.Reserve},
		{"unreserve", abi.Unreserve, &p.Unreserve},
		{"permit", abi.Permit, &p.Permit},
		{"preBind", abi.PreBind, &p.PreBind},
		{"bind", abi.Bind, &p.Bind},
		{"postBind", abi.PostBind, &p.PostBind},
	}
}

type readList struct {
	name  string
	value *[]string
}

func (r *ManifestReads) lists() []readList {
	return []readList{
		{"node", &r.Node}, {"nodeLabels", &r.NodeLabels}, {"nodeAnnotations", &r.NodeAnnotations},
		{"nodeConditions", &r.NodeConditions}, {"resources", &r.Resources}, {"feeds", &r.Feeds},
		{"requiredFeeds", &r.RequiredFeeds}, {fields.ObjectColumns, &r.ObjectColumns}, {"pods", &r.Pods},
		{"podLabels", &r.PodLabels}, {"podAnnotations", &r.PodAnnotations}, {"pod", &r.Pod}, {"resolution", &r.Resolution},
		{"namespaces", &r.Namespaces}, {"namespaceLabels", &r.NamespaceLabels}, {"published", &r.Published},
	}
}

// List returns a list by its name; nil if there is none.
func (r *ManifestReads) List(name string) []string {
	for _, l := range r.lists() {
		if l.name == name {
			return *l.value
		}
	}
	return nil
}

// Now returns the time that pod: now has at a time, both in seconds since 1970; 0 if it is not declared.
func (r *ManifestReads) Now(at int64) int64 {
	if step := r.Step(); step > 0 {
		return at - at%step
	}
	return 0
}

// Step returns by how many seconds pod: now moves; 0 if it is not declared.
func (r *ManifestReads) Step() int64 {
	if len(r.Resolution) == 0 || !slices.Contains(r.Pod, "now") {
		return 0
	}
	step, _ := resolution(r.Resolution[0])
	return int64(step)
}

// Declares reports whether the reads declare a column or a field.
func (r *ManifestReads) Declares(e *fields.Entry) bool {
	names := r.List(e.List)
	if e.List == fields.ObjectColumns {
		return len(r.objectArgs(e)) > 0
	}
	if e.Name == "" {
		return len(names) > 0
	}
	return slices.Contains(names, e.Name) || e.AlsoName != "" && slices.Contains(names, e.AlsoName)
}

// DeclaredColumn is a column of a snapshot or a field of the pod record that a manifest declares, with its args.
type DeclaredColumn struct {
	fields.Entry
	Args []int
}

// HasNamespaces reports whether the reads declare something of the table of namespaces.
func (r *ManifestReads) HasNamespaces() bool {
	return slices.ContainsFunc(fields.All(), func(e fields.Entry) bool { return e.Table == abi.TableNamespaces && r.Declares(&e) })
}

// Columns returns what the reads declare, in the order of ids.
func (r *ManifestReads) Columns() (out []DeclaredColumn) {
	for _, e := range fields.All() {
		if !r.Declares(&e) {
			continue
		}
		n := 1
		if list := e.ArgList(); list != "" {
			n = len(r.List(list))
		} else if e.Arg == fields.ArgAmount {
			n = 2
		}
		args := make([]int, n)
		for i := range args {
			args[i] = i
		}
		if e.List == fields.ObjectColumns {
			args = r.objectArgs(&e)
		}
		out = append(out, DeclaredColumn{e, args})
	}
	return out
}

// Get returns the declaration of a point, nil if it is not declared.
func (p *ManifestPoints) Get(point abi.Point) *ManifestPoint {
	for _, n := range p.all() {
		if n.point == point {
			return *n.value
		}
	}
	return nil
}

// Set declares a point; it ignores a point that manifests do not have.
func (p *ManifestPoints) Set(point abi.Point, value *ManifestPoint) {
	for _, n := range p.all() {
		if n.point == point {
			*n.value = value
		}
	}
}

// Declared returns the declared points in the order of a pod's path.
func (m *Manifest) Declared() []abi.Point {
	var out []abi.Point
	for _, n := range m.Points.all() {
		if *n.value != nil {
			out = append(out, n.point)
		}
	}
	return out
}

// Scope returns the scope of filter or score: the declared one, or cluster (ABI-9.3). Other
// points have the scope cluster.
func (m *Manifest) Scope(point abi.Point) abi.Scope {
	p := m.Points.Get(point)
	if (point == abi.Filter || point == abi.Score) && p != nil && p.Scope == abi.ScopeNode.String() {
		return abi.ScopeNode
	}
	return abi.ScopeCluster
}

// Sharded reports whether all declared per-node points have scope node, so that an instance may
// hold a part of the nodes (ABI-5.3).
func (m *Manifest) Sharded() bool {
	for _, p := range m.Declared() {
		if p != abi.PreFilter && !p.Aux() && m.Scope(p) != abi.ScopeNode {
			return false
		}
	}
	return m.Points.Filter != nil || m.Points.Score != nil
}

// PointName returns a point's name in manifests, empty if it has none.
func PointName(point abi.Point) string {
	for _, n := range (&ManifestPoints{}).all() {
		if n.point == point {
			return n.name
		}
	}
	return ""
}

// Reading is the name of a list of ManifestReads and its content.
type Reading struct {
	List  string   `json:"list"`
	Names []string `json:"names"`
}

// Readings returns the lists that are not empty, in the order of ABI-9.4. Names that a configuration brings are as fields.FromConfig
// writes their place.
func (m *Manifest) Readings() []Reading {
	var out []Reading
	for _, l := range m.Reads.lists() {
		names := slices.Clone(*l.value)
		for _, pointer := range m.Reads.FromConfig[l.name] {
			names = append(names, fields.FromConfig(pointer))
		}
		if len(names) > 0 {
			out = append(out, Reading{List: l.name, Names: names})
		}
	}
	return out
}

// ManifestError is one mistake in a manifest.
type ManifestError struct {
	// Path is the field's path, such as reads.node[2]; empty for the whole manifest.
	Path string
	// Detail says what is wrong. Fix says what to do; it may be empty.
	Detail, Fix string
	// Rule is the sentence of SPEC.md, such as ABI-9.3; may be empty.
	Rule string
}

// Error returns "manifest: path: detail; fix (rule)".
func (e *ManifestError) Error() string {
	out := "manifest: "
	if e.Path != "" {
		out += e.Path + ": "
	}
	out += e.Detail
	if e.Fix != "" {
		out += "; " + e.Fix
	}
	if e.Rule != "" {
		out += " (" + e.Rule + ")"
	}
	return plain.Line(out, maxMistake)
}

// maxMistake is the maximum size of the text of a mistake, in bytes.
const maxMistake = 1024

// manifestErrors collects mistakes.
type manifestErrors struct{ mistakes[*ManifestError] }

func (c *manifestErrors) add(path, detail, fix, rule string) {
	c.keep(&ManifestError{Path: path, Detail: detail, Fix: fix, Rule: rule})
}

// err returns the mistakes, joined and sorted by path; may be nil.
func (c *manifestErrors) err() error {
	return c.join(func(a, b *ManifestError) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Detail, b.Detail))
	})
}

// Package fields is the table of what a plugin reads of a cluster: one entry for each column of a snapshot's tables, for each
// field of the pod record, and for each host function and event. Code that has a line for each of them reads the table or is
// generated from it: the ids in package abi, the tables of SPEC.md, the constants of the SDKs, the names in manifests, what a
// plugin of a tenant may read, and what a kept answer depends on.
//
// To add an entry, write it into the table and run go generate ./...; CONTRIBUTING.md says what else it needs.
package fields

//go:generate go run ./generate

import (
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// Record is the place of the fields of the pod record, beside the tables of a snapshot.
const Record abi.TableID = 0

// Entry is a column of a table, or a field of the pod record.
type Entry struct {
	ID abi.ColumnID
	// Table has the column; Record for a field of the pod record.
	Table abi.TableID
	// Go is the name of the id in package abi.
	Go string
	// SDK is the name of the id in the other SDKs, in PascalCase, to which they add that of the table. Empty if it is Name.
	SDK string
	// List is the list in the manifest's reads that declares the entry, and Name its name there; empty if the list has keys or types.
	// Both are empty for what no module can read.
	List, Name string
	// AlsoName is another name in the list that declares the entry.
	AlsoName string
	// Arg says what several columns of this id differ by.
	Arg Arg
	// Type is the type of the elements. Span says that a row has a list of them; those of the record all are lists.
	Type abi.Type
	Span bool
	// Count is how many elements a field of the record has; 0 if it is a list.
	Count int
	// Elements describes those of the record that have no Type, and Size is their size in bytes.
	Elements string
	Size     int
	// Meaning is what the elements are, with their unit, as SPEC.md has it.
	Meaning string
	// Doc continues the SDKs' comment on a column's reader, after its name; without it the comment is "is" and Meaning. {Absent} in it
	// becomes the id of no string. Enum is the SDKs' type of elements that are numbers with names, and Bits are the readers of flags.
	Doc, Enum string
	Bits      []Bit
	// Since is the minor version of the ABI that first had it.
	Since int
	// Points are the extension points that see it. ClusterOnly says that no answer of scope node may depend on it (ABI-4.12, ABI-4.15).
	Points      Points
	ClusterOnly bool
	// Grant is what a plugin of a tenant must be granted to read it, because it tells of other tenants; empty for nothing.
	Grant string
	// Source is whence the values come: a kept answer holds until one of these changes.
	Source Source
	// NotKept says why no answer that depends on it is kept for other pods, in words that end a sentence; empty if answers are kept.
	NotKept string
	// ByResource says that its elements have numbers for each of the list resources, without an arg.
	ByResource bool
	// Refers says that its elements are those to which the elements of other fields refer, and nothing else.
	Refers bool
	// Native says that only native plugins read it, and Reserved that nobody does; SPEC.md has no meaning for it.
	Native, Reserved bool
}

// Bit is a flag in a column. They are in the order of their bits.
type Bit struct {
	// Go is the name of its constant in package abi, Name that of its reader, and Doc what the SDKs say of that after its name.
	Go, Name, Doc string
}

// Arg is what the arg of a column or a field numbers (ABI-4.9).
type Arg uint8

// The args.
const (
	ArgNone     Arg = iota
	ArgResource     // of the list resources
	ArgKey          // of the list that declares the entry; for pod: annotations of podAnnotations
	ArgType         // of the list nodeConditions
	ArgAmount       // 0 cpu, 1 memory
)

// Points is which extension points see an entry.
type Points uint8

// The sets of points.
const (
	PointsAll        Points = iota
	PointsNodes             // that see nodes
	PointsPods              // that see the pods on nodes
	PointsNamespaces        // that see the table of namespaces
	PointsPlaced            // that are about a pod on a node
	PointsTimed             // that the loop calls, but for those whose answers must not depend on the time
)

// Has reports whether a point is in the set.
func (s Points) Has(p abi.Point) bool {
	switch s {
	case PointsNodes:
		return p >= abi.Hint
	case PointsPods:
		return p > abi.Hint
	case PointsNamespaces:
		return p > abi.Hint && !p.Aux()
	case PointsTimed:
		return p != abi.QueueSort && p != abi.Hint && p != abi.Unreserve && p <= abi.Permit
	case PointsPlaced:
		return p == abi.Hint || p == abi.AddPod || p >= abi.Reserve
	}
	return true
}

// Source is a set of objects from which values come.
type Source uint8

// The sources. Each of those of nodes has a generation for each row of a snapshot.
const (
	FromNode       Source = 1 << iota // the object of the node
	FromPods                          // the pods on the node
	FromFeeds                         // what feeds say of the node
	FromPod                           // the pod that a call is about, and the object of its namespace
	FromNamespaces                    // the objects of all namespaces, and what their pods request
	FromClock                         // the time of the loop, in steps

	// NumRowSources is how many sources of nodes there are; they have the lowest bits.
	NumRowSources = 3
)

// All returns the entries in the order of their ids.
func All() []Entry { return slices.Concat(nodes(), pods(), record(), stringTable(), namespaces()) }

// Of returns the entry of an id, nil if it has none. The id of an arena has that of its column. It makes the table, as All does, so what is
// called for each pod keeps what it needs of an entry.
func Of(id abi.ColumnID) *Entry {
	if id >= abi.ArenaOf {
		id -= abi.ArenaOf
	}
	for _, e := range All() {
		if e.ID == id {
			return &e
		}
	}
	return nil
}

// Names returns the names that a list of reads can have; none if it has keys or types.
func Names(list string) (out []string) {
	for _, e := range All() {
		if e.List == list && e.Name != "" && !slices.Contains(out, e.Name) {
			out = append(out, e.Name)
		}
	}
	return out
}

// ElementSize returns the size of an element in bytes.
func (e *Entry) ElementSize() int {
	if e.Type == 0 {
		return e.Size
	}
	return e.Type.Size()
}

// ArgList returns the list of reads whose places the arg is; empty if it is none of reads.
func (e *Entry) ArgList() string {
	switch {
	case e.Arg == ArgResource:
		return "resources"
	case e.Arg == ArgKey && e.Table == Record:
		return "podAnnotations"
	case e.Arg == ArgKey || e.Arg == ArgType:
		return e.List
	}
	return ""
}

// Manifest returns what a manifest calls the entry, such as "node: zone" or "nodeLabels"; empty if it has no name for it.
func (e *Entry) Manifest() string {
	switch {
	case e.List == "" || e.Name == "":
		return e.List
	case e.AlsoName != "":
		return e.List + ": " + e.Name + " or " + e.AlsoName
	}
	return e.List + ": " + e.Name
}

// List is a list in the manifest's reads.
type List struct {
	Name string
	// Before and After say around a name what a plugin reads.
	Before, After string
	// FromConfig says that the configuration may bring names (ABI-9.15).
	FromConfig bool
}

// Reading says what a plugin reads with a name in the list.
func (l *List) Reading(name string) string {
	if pointer, ok := strings.CutPrefix(name, FromConfig("")); ok {
		name = "that the configuration names at " + pointer
	}
	return l.Before + name + l.After
}

// FromConfig returns what stands for names that the configuration has at a JSON pointer, where people read names of a list. It is the
// form of no name.
func FromConfig(pointer string) string { return "config:" + pointer }

// ObjectColumns is the list of columns of objects of the API. In which table a column is follows from the object's join.
const ObjectColumns = "objectColumns"

// Lists returns the lists in the order of ABI-9.4.
func Lists() []List {
	return []List{
		{"node", "", " of nodes", false},
		{"nodeLabels", "the label ", " of nodes", true},
		{"nodeAnnotations", "the annotation ", " of nodes", true},
		{"nodeConditions", "the condition ", " of nodes", false},
		{"resources", "the resource ", " of nodes and pods", true},
		{"feeds", "the feed ", " of nodes", true},
		{"requiredFeeds", "the feed ", ", without which its pods wait", false},
		{ObjectColumns, "", " of objects", false},
		{"pods", "", " of placed pods", false},
		{"podLabels", "the label ", " of placed pods", true},
		{"podAnnotations", "the annotation ", " of pods", true},
		{"pod", "", " of the pod to be placed", false},
		{"resolution", "the time in steps of ", "", false},
		{"namespaces", "", " of namespaces", false},
		{"namespaceLabels", "the label ", " of namespaces", false},
		{"published", "", " of another plugin", false},
	}
}

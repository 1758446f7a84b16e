package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// family is a file of cases.
type family struct {
	Family string    `json:"family"`
	About  string    `json:"about"`
	Cases  []caseDoc `json:"cases"`
}

// caseDoc is one case. A case with Each stands for one case a point, whose name takes
// the place of $point.
type caseDoc struct {
	Name  string   `json:"name"`
	Cites []string `json:"cites"`
	// Optional is a sentence that says may; a host that omits it skips the case.
	Optional string   `json:"optional,omitempty"`
	Each     []string `json:"each,omitempty"`

	// Plugin is the one plugin of the case, or Plugins are all.
	Plugin  *setupDoc  `json:"plugin,omitempty"`
	Plugins []setupDoc `json:"plugins,omitempty"`
	// Refused is set if Load must refuse the plugins.
	Refused *refusalDoc `json:"refused,omitempty"`

	// Cycles follow each other; Cluster, Pod and Calls are those of the only one.
	Cycles  []cycleDoc      `json:"cycles,omitempty"`
	Cluster json.RawMessage `json:"cluster,omitempty"`
	Pod     json.RawMessage `json:"pod,omitempty"`
	Calls   []stepDoc       `json:"calls,omitempty"`
}

// setupDoc is a plugin of a case.
type setupDoc struct {
	// Name is "guest" unless given.
	Name  string `json:"name,omitempty"`
	Guest string `json:"guest"`
	// Hex is the module, in place of a guest.
	Hex string `json:"hex,omitempty"`
	// Manifest replaces fields of the manifest that the kit makes: the points are what
	// the guest exports, the host functions what it imports.
	Manifest map[string]json.RawMessage `json:"manifest,omitempty"`
	// Manifests is how many times the manifest is in the module; once unless given.
	Manifests  *int                     `json:"manifests,omitempty"`
	Config     json.RawMessage          `json:"config,omitempty"`
	Namespaces []string                 `json:"namespaces,omitempty"`
	Grants     *wire.ManifestDirectives `json:"grants,omitempty"`
	Verify     bool                     `json:"verify,omitempty"`
	// Padding is bytes that are added to the manifest.
	Padding int `json:"padding,omitempty"`
}

// refusalDoc is how a host refuses.
type refusalDoc struct {
	// Says is part of the message.
	Says string `json:"says,omitempty"`
	// OrFault allows that the plugin is loaded, and is faulted in its first call.
	OrFault bool `json:"orFault,omitempty"`
}

// cycleDoc is one pod's cycle.
type cycleDoc struct {
	// Cluster and Pod are objects, or names in objects.json.
	Cluster json.RawMessage `json:"cluster,omitempty"`
	Pod     json.RawMessage `json:"pod,omitempty"`
	Calls   []stepDoc       `json:"calls"`
}

// stepDoc is a call and what it must come to.
type stepDoc struct {
	Plugin string `json:"plugin,omitempty"`
	Point  string `json:"point"`
	// Nodes are all unless given, Node is the first, Verdicts are Unschedulable.
	Nodes    []string `json:"nodes,omitempty"`
	Node     string   `json:"node,omitempty"`
	Verdicts []string `json:"verdicts,omitempty"`
	// Scores are normalize's input, by Nodes; those that score answered before unless
	// given.
	Scores []int64 `json:"scores,omitempty"`
	WhatIf *WhatIf `json:"whatIf,omitempty"`
	// Pods are objects or names in objects.json; "web" and "batch" unless given, or
	// Copies of a pod.
	Pods   []json.RawMessage `json:"pods,omitempty"`
	Copies int               `json:"copies,omitempty"`
	Queue  []struct {
		Time     int64  `json:"time"`
		Attempts uint32 `json:"attempts"`
	} `json:"queue,omitempty"`
	Event *Event  `json:"event,omitempty"`
	Want  wantDoc `json:"want"`
}

// wantDoc is what a call must come to.
type wantDoc struct {
	// Code is Success unless given.
	Code    string   `json:"code,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	// Fault are the kinds that the failure may be of; there must be none unless given.
	Fault []Fault `json:"fault,omitempty"`
	// MayFault allows a failure that SPEC.md says nothing of.
	MayFault bool `json:"mayFault,omitempty"`
	// Output is part of what the guest wrote to stdout; NotOutput is not.
	Output    string `json:"output,omitempty"`
	NotOutput string `json:"notOutput,omitempty"`
	// All is the answer for each node or pod, Each for those of a name.
	All  *rowDoc           `json:"all,omitempty"`
	Each map[string]rowDoc `json:"each,omitempty"`
	// Rows is pre_filter's row set by name; there must be none unless given.
	Rows *[]string `json:"rows,omitempty"`
	// Directives are those carried out; none unless given.
	Directives []directiveDoc `json:"directives,omitempty"`
	// WaitMS is permit's wait in milliseconds.
	WaitMS int64 `json:"waitMS,omitempty"`
	// Log is all that the plugin said, as hear.go makes it readable. A line that ends
	// in * is the beginning of one.
	Log []string `json:"log,omitempty"`
	// See checks the dump of each call of the guest against the cluster.
	See bool `json:"see,omitempty"`
	// Points are those of the dumps of a what-if, in their order.
	Points []string `json:"points,omitempty"`
	// Seed checks the seeds of the case's cycles against each other.
	Seed bool `json:"seed,omitempty"`
	// Inert checks the stubs of WASI against ABI-1.4, Config the configuration that the guest
	// was given against that of the case.
	Inert  bool `json:"inert,omitempty"`
	Config bool `json:"config,omitempty"`
	// Blocks is the most rows of one call of the guest.
	Blocks uint32 `json:"blocks,omitempty"`
	// Object is "pod" or the name of a node, whose protobuf the guest was given.
	Object string `json:"object,omitempty"`
}

// rowDoc is the answer for a node or a pod.
type rowDoc struct {
	Code    string   `json:"code,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	Score   *int64   `json:"score,omitempty"`
	// Printable are texts that a reason has between what cannot be printed.
	Printable []string `json:"printable,omitempty"`
	// Key is in hex.
	Key *string `json:"key,omitempty"`
}

type directiveDoc struct {
	Kind   string `json:"kind"`
	First  string `json:"first,omitempty"`
	Second string `json:"second,omitempty"`
	// SecondSize is the length of a second text of x, Times how often it is there.
	SecondSize int `json:"secondSize,omitempty"`
	Times      int `json:"times,omitempty"`
}

// expand returns the cases that a case stands for.
func (k *caseDoc) expand() ([]caseDoc, error) {
	if len(k.Each) == 0 {
		return []caseDoc{*k}, nil
	}
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	points := k.Each
	if slices.Equal(points, []string{"all"}) {
		points = nil
		for _, p := range abi.Points() {
			if name := wire.PointName(p); name != "" && p != abi.AddPod && p != abi.RemovePod {
				points = append(points, name)
			}
		}
	}
	var out []caseDoc
	for _, point := range points {
		var one caseDoc
		if err := strictly([]byte(strings.ReplaceAll(string(text), "$point", point)), &one); err != nil {
			return nil, err
		}
		one.Each = nil
		one.Name += " (" + point + ")"
		out = append(out, one)
	}
	return out, nil
}

// plugins are the plugins of a case.
func (k *caseDoc) plugins() []setupDoc {
	if k.Plugin != nil {
		return []setupDoc{*k.Plugin}
	}
	return k.Plugins
}

// cycles are the cycles of a case.
func (k *caseDoc) cycles() []cycleDoc {
	if len(k.Cycles) == 0 && len(k.Calls) > 0 {
		return []cycleDoc{{Cluster: k.Cluster, Pod: k.Pod, Calls: k.Calls}}
	}
	return k.Cycles
}

// pointOf returns a point by the name that manifests give it.
func pointOf(name string) (abi.Point, error) {
	for _, p := range abi.Points() {
		if wire.PointName(p) == name && name != "" {
			return p, nil
		}
	}
	return 0, fmt.Errorf("conformance: there is no point %q", name)
}

// codeOf returns a code by its name; the empty name is Success.
func codeOf(name string) (abi.Code, error) {
	for code := abi.Code(0); code < abi.NumCodes; code++ {
		if code.String() == name || name == "" && code == abi.Success {
			return code, nil
		}
	}
	return 0, fmt.Errorf("conformance: there is no status code %q", name)
}

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

// caseDoc is one case. A case with Each stands for one case per point, whose name replaces
// $point.
type caseDoc struct {
	Name  string   `json:"name"`
	Cites []string `json:"cites"`
	// Optional is the number of a sentence that says may; a host that omits it skips the case.
	Optional string   `json:"optional,omitempty"`
	Each     []string `json:"each,omitempty"`

	// Plugin is the only plugin of the case; otherwise Plugins are all.
	Plugin  *setupDoc  `json:"plugin,omitempty"`
	Plugins []setupDoc `json:"plugins,omitempty"`
	// Refused is set if Load must refuse the plugins.
	Refused *refusalDoc `json:"refused,omitempty"`

	// Cycles follow each other. If there is only one, Cluster, Pod and Calls belong to it.
	Cycles  []cycleDoc      `json:"cycles,omitempty"`
	Cluster json.RawMessage `json:"cluster,omitempty"`
	Pod     json.RawMessage `json:"pod,omitempty"`
	Calls   []stepDoc       `json:"calls,omitempty"`
}

// setupDoc is a plugin of a case.
type setupDoc struct {
	// Name is "guest" by default.
	Name  string `json:"name,omitempty"`
	Guest string `json:"guest"`
	// Hex is the module, instead of a guest.
	Hex string `json:"hex,omitempty"`
	// Manifest replaces fields of the generated manifest, in which the points are what the guest
	// exports and the host functions are what it imports.
	Manifest map[string]json.RawMessage `json:"manifest,omitempty"`
	// Manifests is how many times the manifest is in the module; once by default.
	Manifests  *int                     `json:"manifests,omitempty"`
	Config     json.RawMessage          `json:"config,omitempty"`
	Namespaces []string                 `json:"namespaces,omitempty"`
	Grants     *wire.ManifestDirectives `json:"grants,omitempty"`
	Verify     bool                     `json:"verify,omitempty"`
	// Padding is the number of bytes added to the manifest.
	Padding int `json:"padding,omitempty"`
}

// refusalDoc is an expected refusal.
type refusalDoc struct {
	// Says is part of the message.
	Says string `json:"says,omitempty"`
	// OrFault also accepts a plugin that loads and faults in its first call.
	OrFault bool `json:"orFault,omitempty"`
}

// cycleDoc is one pod's cycle.
type cycleDoc struct {
	// Cluster and Pod are objects, or names in objects.json.
	Cluster json.RawMessage `json:"cluster,omitempty"`
	Pod     json.RawMessage `json:"pod,omitempty"`
	Calls   []stepDoc       `json:"calls"`
}

// stepDoc is a call and its expected result.
type stepDoc struct {
	Plugin string `json:"plugin,omitempty"`
	Point  string `json:"point"`
	// By default Nodes are all nodes, Node is the first one, and Verdicts are Unschedulable.
	Nodes    []string `json:"nodes,omitempty"`
	Node     string   `json:"node,omitempty"`
	Verdicts []string `json:"verdicts,omitempty"`
	// Scores are normalize's input, by Nodes; by default what score answered before.
	Scores []int64 `json:"scores,omitempty"`
	WhatIf *WhatIf `json:"whatIf,omitempty"`
	// Pods are objects or names in objects.json; by default "web" and "batch", or Copies of a
	// pod.
	Pods   []json.RawMessage `json:"pods,omitempty"`
	Copies int               `json:"copies,omitempty"`
	Queue  []struct {
		Time     int64  `json:"time"`
		Attempts uint32 `json:"attempts"`
	} `json:"queue,omitempty"`
	Event *Event  `json:"event,omitempty"`
	Want  wantDoc `json:"want"`
}

// wantDoc is the expected result of a call.
type wantDoc struct {
	// Code is Success by default.
	Code    string   `json:"code,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	// Fault are the accepted kinds of a fault; by default there must be none.
	Fault []Fault `json:"fault,omitempty"`
	// MayFault also accepts a fault where SPEC.md says nothing.
	MayFault bool `json:"mayFault,omitempty"`
	// Output must be part of what the guest wrote to stdout; NotOutput must not.
	Output    string `json:"output,omitempty"`
	NotOutput string `json:"notOutput,omitempty"`
	// All is the answer for every node or pod, Each the answers by name.
	All  *rowDoc           `json:"all,omitempty"`
	Each map[string]rowDoc `json:"each,omitempty"`
	// Rows is pre_filter's row set, by name; by default there must be none.
	Rows *[]string `json:"rows,omitempty"`
	// Directives are the ones that the host carries out; none by default.
	Directives []directiveDoc `json:"directives,omitempty"`
	// WaitMS is permit's wait in milliseconds.
	WaitMS int64 `json:"waitMS,omitempty"`
	// RetryAfterMS is that of pre_filter, reserve and permit in milliseconds.
	RetryAfterMS int64 `json:"retryAfterMS,omitempty"`
	// Log is everything that the plugin logged, as hear.go decodes it. A line that ends in * is
	// a prefix.
	Log []string `json:"log,omitempty"`
	// See checks the memory dump of each call of the guest against the cluster.
	See bool `json:"see,omitempty"`
	// Points are the points of a what-if's dumps, in order.
	Points []string `json:"points,omitempty"`
	// Seed checks that the seeds of the case's cycles differ.
	Seed bool `json:"seed,omitempty"`
	// Inert checks the stubs of WASI (ABI-1.4). Config checks that the guest was given the
	// case's configuration.
	Inert  bool `json:"inert,omitempty"`
	Config bool `json:"config,omitempty"`
	// Blocks is the maximum number of rows in one call of the guest.
	Blocks uint32 `json:"blocks,omitempty"`
	// Object is "pod" or the name of a node, whose protobuf the guest was given.
	Object string `json:"object,omitempty"`
}

// rowDoc is the answer for a node or a pod.
type rowDoc struct {
	Code    string   `json:"code,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	Score   *int64   `json:"score,omitempty"`
	// Printable are the texts that a reason has between unprintable characters.
	Printable []string `json:"printable,omitempty"`
	// RetryAfterMS is that of pre_enqueue for a pod, in milliseconds.
	RetryAfterMS int64 `json:"retryAfterMS,omitempty"`
	// Key is in hexadecimal.
	Key *string `json:"key,omitempty"`
}

type directiveDoc struct {
	Kind   string `json:"kind"`
	First  string `json:"first,omitempty"`
	Second string `json:"second,omitempty"`
	// SecondSize is the length of a second text, of x, and Times is how often it occurs.
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

// plugins returns the plugins of a case.
func (k *caseDoc) plugins() []setupDoc {
	if k.Plugin != nil {
		return []setupDoc{*k.Plugin}
	}
	return k.Plugins
}

// cycles returns the cycles of a case.
func (k *caseDoc) cycles() []cycleDoc {
	if len(k.Cycles) == 0 && len(k.Calls) > 0 {
		return []cycleDoc{{Cluster: k.Cluster, Pod: k.Pod, Calls: k.Calls}}
	}
	return k.Cycles
}

// pointOf returns a point by its name in manifests.
func pointOf(name string) (abi.Point, error) {
	for _, p := range abi.Points() {
		if wire.PointName(p) == name && name != "" {
			return p, nil
		}
	}
	return 0, fmt.Errorf("conformance: unknown point %q", name)
}

// codeOf returns a code by its name; the empty name is Success.
func codeOf(name string) (abi.Code, error) {
	for code := abi.Code(0); code < abi.NumCodes; code++ {
		if code.String() == name || name == "" && code == abi.Success {
			return code, nil
		}
	}
	return 0, fmt.Errorf("conformance: unknown status code %q", name)
}

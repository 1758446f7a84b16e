package v1alpha1

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/nearest"
)

// KindWasmPluginArgs is the kind of WasmPluginArgs.
const KindWasmPluginArgs = "WasmPluginArgs"

// PluginSpec says how a plugin runs and what it may do. It means the same wherever it is written.
type PluginSpec struct {
	// Config is the plugin's configuration, which the schema in the module's manifest checks.
	Config *Config `json:"config,omitempty"`
	// Namespaces are those whose pods the plugin applies to; none means all.
	Namespaces    []Namespace     `json:"namespaces,omitempty"`
	FailurePolicy FailurePolicies `json:"failurePolicy,omitzero"`
	// Grants are what the plugin may do besides answering calls; nothing if left out.
	Grants *Directives `json:"grants,omitempty"`
	Limits *Limits     `json:"limits,omitempty"`
	// Mode is Enforce, Shadow or Disabled; Enforce if left out.
	Mode Mode `json:"mode,omitempty"`
	// Replaces is, with Shadow, the plugin whose place it takes.
	Replaces string `json:"replaces,omitempty"`
}

// WasmPluginArgs are the args of a WASM plugin in a KubeSchedulerConfiguration, pluginConfig[].args:
//
//	apiVersion: berth.dev/v1alpha1
//	kind: WasmPluginArgs
//	module:
//	  path: /plugins/tenant-pool.wasm   # or url: https://…, or image: REGISTRY/REPOSITORY:TAG
//	  digest: sha256:…        # another module is refused; a url needs it
//	config: {pools: {…}}      # checked against the module's schema
//	namespaces: [team-a]      # whose pods it applies to; none means all
//	failurePolicy: Fail       # or by point: {filter: Fail, score: Ignore}
//	grants:                   # what it may do beyond answering; nothing if left out
//	  annotations: [example.com/]
//	  waiting: true
//	limits: {fuelPerRow: 5000, deadline: 2s, memory: 64Mi}   # the defaults if left out
//	mode: Shadow              # or Disabled; Enforce if left out
//	replaces: tenant-pool     # with Shadow: the plugin whose place it takes
type WasmPluginArgs struct {
	metav1.TypeMeta `json:",inline"`
	Module          FileModule `json:"module"`
	PluginSpec      `json:",inline"`
}

// FileModule is a ModuleSource, or a file.
type FileModule struct {
	// Path is the file as written, relative to the working directory of the process.
	Path         string `json:"path,omitempty"`
	ModuleSource `json:",inline"`
}

// FolderPlugin is NAME.yaml beside the module NAME.wasm in a plugin folder.
type FolderPlugin struct {
	// Name is the plugin's name in profiles; empty means the manifest's.
	Name string `json:"name,omitempty"`
	// Weight is the weight of the score, from 1; 0 if it is left out.
	Weight     *int32 `json:"weight,omitempty"`
	PluginSpec `json:",inline"`
}

// FailurePolicies are the failure policies of a plugin's points: in JSON one word for all points, or an object by point.
type FailurePolicies struct {
	// All applies to points that are not in Points; empty for the default.
	All FailurePolicy `json:"-"`
	// Points is by the manifest's names of points; may be nil.
	Points map[string]FailurePolicy `json:"-"`
}

// For returns the policy of a point: the configured one, or the default. The default is Ignore
// for scoring and for points that run too late to fail the pod, and Fail for all others.
func (p FailurePolicies) For(point abi.Point) FailurePolicy {
	if policy, ok := p.Points[wire.PointName(point)]; ok {
		return policy
	}
	switch {
	case p.All != "":
		return p.All
	case point == abi.PreScore, point == abi.Score, point == abi.Normalize, point == abi.Unreserve, point == abi.PostBind:
		return Ignore
	}
	return Fail
}

// IsZero reports whether all points have their defaults.
func (p FailurePolicies) IsZero() bool { return p.All == "" && len(p.Points) == 0 }

// MarshalJSON implements json.Marshaler.
func (p FailurePolicies) MarshalJSON() ([]byte, error) {
	if p.All != "" {
		return json.Marshal(p.All)
	}
	return json.Marshal(p.Points)
}

// UnmarshalJSON implements json.Unmarshaler.
//
// # Errors
//
// It is neither a policy nor an object of policies, or names a point that there is not.
func (p *FailurePolicies) UnmarshalJSON(text []byte) error {
	*p = FailurePolicies{}
	if text[0] != '{' {
		var all string
		if err := json.Unmarshal(text, &all); err != nil {
			return fmt.Errorf("%s is not a policy; %s, or one of them for each point", text, fix)
		}
		return p.Set(all)
	}
	var points map[string]json.RawMessage
	if err := json.Unmarshal(text, &points); err != nil {
		return err
	}
	p.Points = make(map[string]FailurePolicy, len(points))
	for name, value := range points {
		var policy FailurePolicy
		switch err := json.Unmarshal(value, &policy); {
		case !isPoint(name):
			return fmt.Errorf("%s: unknown point; %s", name, nearest.DidYouMean(name, pointNames()))
		case err != nil || !policy.valid():
			return fmt.Errorf("%s: %s is not a policy; %s", name, value, fix)
		}
		p.Points[name] = policy
	}
	return nil
}

const fix = "write Fail or Ignore"

// Set gives all points one policy.
func (p *FailurePolicies) Set(policy string) error {
	if *p = (FailurePolicies{All: FailurePolicy(policy)}); !p.All.valid() {
		return fmt.Errorf("%q is not a policy; %s", policy, fix)
	}
	return nil
}

func (p FailurePolicy) valid() bool { return p == Fail || p == Ignore }

// pointNames are the points that can have a policy.
func pointNames() (out []string) {
	for _, point := range abi.Points() {
		if name := wire.PointName(point); name != "" {
			out = append(out, name)
		}
	}
	return out
}

func isPoint(name string) bool { return slices.Contains(pointNames(), name) }

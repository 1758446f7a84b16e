// Package scenario is a case of the oracle as data: a cluster that changes from step to step,
// and the calls of a plugin at each step. It consists of API objects only, from which both
// sides build what they need, and is a YAML file that can be read, kept and run again.
package scenario

import (
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Scenario is one case.
type Scenario struct {
	// Plugin is the plugin that is compared; empty for whole decisions.
	Plugin string `json:"plugin,omitempty"`
	// Found (optional) describes what differed when the case was found.
	Found []string `json:"found,omitempty"`
	// Config (optional) is a KubeSchedulerConfiguration, which both sides load.
	Config json.RawMessage `json:"config,omitempty"`
	Steps  []Step          `json:"steps"`
}

// Step changes the cluster and then makes calls.
type Step struct {
	// Set holds objects that are created or updated, Delete those that are deleted.
	Set    Objects `json:"set,omitempty"`
	Delete []Ref   `json:"delete,omitempty"`
	Ask    []Query `json:"ask,omitempty"`
}

// Query is a pod to be scheduled, and the calls for it.
type Query struct {
	Pod *v1.Pod `json:"pod"`
	// Feasible is the nodes that are scored; nil means those that the plugin itself accepts.
	Feasible []string `json:"feasible,omitempty"`
	// WhatIf (optional) is a hypothetical node.
	WhatIf *WhatIf `json:"whatIf,omitempty"`
	// Events are evaluated as if the plugin had rejected the pod.
	Events []Event `json:"events,omitempty"`
	// Against (optional) is another pod of the queue.
	Against *Queued `json:"against,omitempty"`
	// Nominated (optional) is nominated pods (status.nominatedNodeName).
	Nominated []*v1.Pod `json:"nominated,omitempty"`
	// Place keeps the pod on the node that it gets, in whole decisions.
	Place bool `json:"place,omitempty"`
}

// WhatIf is a node without some of its pods and with others.
type WhatIf struct {
	Node   string    `json:"node"`
	Remove []Ref     `json:"remove,omitempty"`
	Add    []*v1.Pod `json:"add,omitempty"`
}

// Queued is a pod in the queue. Its time and that of the query are relative to each other.
type Queued struct {
	Pod   *v1.Pod       `json:"pod"`
	After time.Duration `json:"after,omitempty"`
}

// Event is a change of an object: Old is empty for a creation, New for a deletion.
type Event struct {
	// Resource and Action are names of k8s.io/kube-scheduler/framework.
	Resource string  `json:"resource"`
	Action   string  `json:"action"`
	Old      Objects `json:"old,omitempty"`
	New      Objects `json:"new,omitempty"`
}

// Parse reads a scenario file.
func Parse(data []byte) (*Scenario, error) {
	s := &Scenario{}
	return s, yaml.UnmarshalStrict(data, s)
}

// Tree returns the scenario as maps, lists and scalars, without the empty fields that the API
// types write.
func (s *Scenario) Tree() (map[string]any, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	strip(tree)
	return tree, nil
}

// FromTree is the reverse of Tree. Unknown fields are errors.
func FromTree(tree map[string]any) (*Scenario, error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	s := &Scenario{}
	if err := yaml.UnmarshalStrict(data, s); err != nil {
		return nil, err
	}
	return s, nil
}

// strip removes empty values that have no meaning. An empty selector stays: it selects
// everything.
func strip(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			strip(child)
			switch key {
			case "creationTimestamp":
				if child == nil {
					delete(v, key)
				}
			case "status", "spec", "resources", "nodeInfo", "daemonEndpoints", "kubeletEndpoint", "set", "old", "new":
				if empty(child) {
					delete(v, key)
				}
			case "Port":
				if child == 0.0 {
					delete(v, key)
				}
			}
		}
	case []any:
		for _, child := range v {
			strip(child)
		}
	}
}

func empty(value any) bool {
	tree, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for _, child := range tree {
		if text, ok := child.(string); !ok || text != "" {
			return false
		}
	}
	return true
}

// Package scenario is a case of the oracle as data: a cluster that changes from
// step to step, and what is asked of a plugin at each. It is made of the API's
// objects only, so that both sides build what they need of it, and it is a YAML
// file that can be read, kept and run again.
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
	// Found (optional) says what differed when the case was found.
	Found []string `json:"found,omitempty"`
	// Config (optional) is a KubeSchedulerConfiguration, which both sides load.
	Config json.RawMessage `json:"config,omitempty"`
	Steps  []Step          `json:"steps"`
}

// Step changes the cluster and then asks.
type Step struct {
	// Set is objects that come or change, Delete those that go.
	Set    Objects `json:"set,omitempty"`
	Delete []Ref   `json:"delete,omitempty"`
	Ask    []Query `json:"ask,omitempty"`
}

// Query is a pod to be placed, and questions about it.
type Query struct {
	Pod *v1.Pod `json:"pod"`
	// Feasible is the nodes that are scored; nil means those that the plugin itself
	// lets pass.
	Feasible []string `json:"feasible,omitempty"`
	// WhatIf (optional) is a hypothetical node.
	WhatIf *WhatIf `json:"whatIf,omitempty"`
	// Events are asked about as if the plugin had rejected the pod.
	Events []Event `json:"events,omitempty"`
	// Against (optional) is another pod of the queue.
	Against *Queued `json:"against,omitempty"`
	// Nominated (optional) is pods with a promise (status.nominatedNodeName).
	Nominated []*v1.Pod `json:"nominated,omitempty"`
	// Place says that the pod stays on the node that it gets, in whole decisions.
	Place bool `json:"place,omitempty"`
}

// WhatIf is a node without some of its pods and with others.
type WhatIf struct {
	Node   string    `json:"node"`
	Remove []Ref     `json:"remove,omitempty"`
	Add    []*v1.Pod `json:"add,omitempty"`
}

// Queued is a pod in the queue. Its own and that of the query are how long after
// each other they came.
type Queued struct {
	Pod   *v1.Pod       `json:"pod"`
	After time.Duration `json:"after,omitempty"`
}

// Event is a change of an object: Old empty for one that came, New for one that
// went.
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

// Tree returns the scenario as maps, lists and scalars, without the fields that
// the API's types write although they are empty.
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

// FromTree is the reverse of Tree. Fields that the types do not know are errors.
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

// strip removes what is empty and means nothing. An empty selector is not among
// it: it selects everything.
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

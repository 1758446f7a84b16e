package wire_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
)

// TestWarnings: what is not so is not warned of, and names that no node can have are.
func TestWarnings(t *testing.T) {
	for _, c := range []struct{ points, reads, want string }{
		{`"filter": {"scope": "node"}`, `{"node": ["allocatable"], "resources": ["cpu", "hugepages-2Mi", "example.com/gpu"]}`, ""},
		{`"filter": {"scope": "node"}`, `{"node": ["allocatable"], "resources": ["cpus"]}`, `example.com/gpu; did you mean "cpu"?`},
		{`"filter": {"scope": "node"}`, `{"node": ["allocatable"], "resources": ["ephemeral_storage"]}`, `did you mean "ephemeral-storage"?`},
		{`"filter": {"scope": "node"}`, `{"node": ["allocatable"], "resources": ["gpu"]}`, `resources: "gpu" is neither`},
		{`"filter": {"scope": "node"}`, `{"pod": ["containers"], "resources": ["cpu"]}`, ""},
		{`"filter": {"scope": "node"}`, `{"pod": ["namespace"], "resources": ["cpu"]}`, "resources are listed, but none of these is read"},
		{`"filter": {}`, `{}`, "scope"},
		{`"filter": {"scope": "cluster"}`, `{}`, ""},
		{`"filter": {"scope": "node"}`, `{"podAnnotations": ["a"]}`, "podAnnotations are listed, but neither pod: annotations nor node: pods"},
		{`"filter": {"scope": "node"}`, `{"podAnnotations": ["a"], "pod": ["annotations"]}`, ""},
		{`"filter": {"scope": "node"}`, `{"podLabels": ["a"]}`, "columns of pods are read"},
		{`"preEnqueue": {}`, `{"nodeLabels": ["a"]}`, "no declared point sees nodes"},
		{`"preEnqueue": {}, "hint": {}`, `{"nodeLabels": ["a"]}`, ""},
		{`"preEnqueue": {}, "hint": {}`, `{"node": ["pods"], "pods": ["name"]}`, "without pods"},
		{`"reserve": {}`, `{"node": ["pods"], "pods": ["name"]}`, ""},
		{`"reserve": {}`, `{"namespaces": ["name"]}`, "namespaces are read"},
		{`"postFilter": {}`, `{"namespaces": ["name"]}`, ""},
		{`"preFilter": {}, "filter": {"scope": "cluster"}`, `{"node": ["pods"], "pods": ["labels"]}`, "preFilter keeps state, and may count pods"},
		{`"preFilter": {}, "filter": {"scope": "cluster"}`, `{"node": ["pods"], "pods": ["name"]}`, ""},
		{`"preFilter": {}, "filter": {"scope": "cluster"}, "addPod": {}, "removePod": {}`, `{"node": ["pods"], "pods": ["labels"]}`, ""},
		{`"filter": {"scope": "node"}`, `{"namespaceLabels": ["a"]}`, "namespaces are read"},
		{`"preFilter": {}, "filter": {"scope": "node"}`, `{"namespaces": ["name"]}`, "namespaces are read"},
		{`"filter": {"scope": "node"}, "preFilter": {}, "score": {"scope": "cluster"}`, `{"namespaces": ["name"]}`, ""},
		{`"filter": {"scope": "node"}`, `{"node": ["generation"]}`, "node: generation is read"},
		{`"filter": {"scope": "node"}, "reserve": {}`, `{"node": ["generation"]}`, ""},
		{`"preEnqueue": {}, "hint": {}`, `{"node": ["requested"], "resources": ["cpu"]}`, "node: requested is read, but hint"},
		{`"filter": {"scope": "node"}, "hint": {}`, `{"node": ["requested"], "resources": ["cpu"]}`, ""},
		{`"filter": {"scope": "node"}`, `{"pod": ["nodeName"]}`, "pod: nodeName is read"},
		{`"filter": {"scope": "node"}, "hint": {}`, `{"pod": ["nodeName"]}`, ""},
		{`"permit": {}`, `{"pod": ["nodeName"]}`, ""},
		{`"filter": {"scope": "cluster"}`, `{"published": ["a/b"]}`, "host does not list published_get"},
		{`"filter": {"scope": "node"}`, `{"published": ["a/b"]}`, "no declared point may read them"},
	} {
		host := ""
		if strings.Contains(c.reads, `"pods": ["labels"]`) {
			host = `"host": ["state_get", "state_set"], `
		}
		man, err := wire.DecodeManifest([]byte(`{` + host + `"name": "x", "version": "1.0.0", "abi": "1.0", "publisher": "p", "license": "l", "description": "d",
			"points": {` + c.points + `}, "reads": ` + c.reads + `, "events": [{"resource": "Node", "actions": ["Add", "Update"]}, {"resource": "Pod", "actions": ["Delete"]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		got := wire.Warnings(&wire.Module{}, man)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, c.want) })) {
			t.Errorf("%s, reads %s: %q, want %q", c.points, c.reads, got, c.want)
		}
	}
}

// TestEventWarnings: what a filter reads and no event tells is warned of, unless a score may be what reads it.
func TestEventWarnings(t *testing.T) {
	const label, gone = "labels of nodes are read, but events do not list UpdateNodeLabel of Node: a rejected pod is not tried again after it",
		"what pods on nodes have is read, but events do not list Delete of Pod: a rejected pod is not tried again after it"
	for _, c := range []struct{ points, reads, events, want string }{
		{`"filter": {"scope": "node"}`, `{"nodeLabels": ["a"]}`, `{"resource": "Node", "actions": ["Add"]}`, label},
		{`"filter": {"scope": "node"}`, `{"node": ["zone"]}`, `{"resource": "Node", "actions": ["Add", "UpdateNodeTaint"]}`, label},
		{`"filter": {"scope": "node"}`, `{"nodeLabels": ["a"]}`, `{"resource": "Node", "actions": ["UpdateNodeLabel"]}`, ""},
		{`"filter": {"scope": "node"}`, `{"nodeLabels": ["a"]}`, `{"resource": "Node", "actions": ["Update"]}`, ""},
		{`"filter": {"scope": "node"}`, `{"nodeLabels": ["a"]}`, `{"resource": "Node", "actions": ["All"]}`, ""},
		{`"filter": {"scope": "node"}, "score": {"scope": "node"}`, `{"nodeLabels": ["a"]}`, `{"resource": "Node", "actions": ["Add"]}`, ""},
		{`"reserve": {}`, `{"nodeLabels": ["a"]}`, `{"resource": "Node", "actions": ["Add"]}`, ""},
		{`"filter": {"scope": "node"}`, `{"node": ["requested"], "resources": ["cpu"]}`, `{"resource": "Pod", "actions": ["Update"]}`, gone},
		{`"filter": {"scope": "node"}`, `{"node": ["requested"], "resources": ["cpu"]}`, `{"resource": "Pod", "actions": ["Delete"]}`, ""},
	} {
		man, err := wire.DecodeManifest([]byte(`{"name": "x", "version": "1.0.0", "abi": "1.0", "publisher": "p", "license": "l", "description": "d",
			"points": {` + c.points + `}, "reads": ` + c.reads + `, "events": [` + c.events + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(wire.Warnings(&wire.Module{}, man), "; "); got != c.want {
			t.Errorf("%s, reads %s, %s: %q, want %q", c.points, c.reads, c.events, got, c.want)
		}
	}
}

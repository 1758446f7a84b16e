package berthtest_test

import (
	"bytes"
	"testing"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

// zoned rejects nodes whose object lacks what PreFilter kept of the pod.
type zoned struct {
	berth.Base
	zone berth.PodAnnotation
	no   berth.Reason
}

const zonedManifest = `{
	"name": "zoned", "version": "1.0.0", "abi": "1.0", "points": {"preFilter": {}, "filter": {"scope": "SCOPE"}},
	"reads": {"pod": ["annotations"], "podAnnotations": ["zone"]}, "host": ["state_get", "state_set", "node_object"]
}`

func newZoned(manifest []byte) func() *zoned {
	return func() *zoned {
		b := berth.Load(manifest)
		return &zoned{b, b.PodAnnotation("zone"), b.Reason("another zone")}
	}
}

// PreFilter skips pods without a zone.
func (p *zoned) PreFilter(pod berth.Pod, _ berth.Nodes) (*berth.Rows, berth.Status) {
	zone := p.Text(pod.Annotation(p.zone))
	if zone == "" {
		return nil, berth.Skip
	}
	if !p.StateSet("zone", []byte(zone)) {
		return nil, berth.Error(p.no)
	}
	return nil, berth.Success
}

// Filter looks at the whole object.
func (p *zoned) Filter(_ berth.Pod, node berth.Node) berth.Status {
	zone, ok := p.StateGet("zone")
	object, known := p.NodeObject(node)
	if !ok || !known {
		return berth.Error(p.no)
	}
	if !bytes.Contains(object, zone) {
		return berth.Unschedulable(p.no)
	}
	return berth.Success
}

// TestCaller: the call that is measured has the state that PreFilter left, and whole objects, and is not made for pods that a host
// asks about no node for.
func TestCaller(t *testing.T) {
	for _, scope := range []string{"node", "cluster"} {
		manifest := bytes.Replace([]byte(zonedManifest), []byte("SCOPE"), []byte(scope), 1)
		trial := berthtest.New(t, manifest, berthtest.Native(newZoned(manifest)), "")
		trial.Nodes = []berthtest.Node{{Name: "a", Labels: map[string]string{"z": "east"}}, {Name: "b", Labels: map[string]string{"z": "west"}}}
		in := func(zone string) berthtest.Pod {
			return berthtest.Pod{Namespace: "default", Name: zone, Annotations: map[string]string{"zone": zone}}
		}
		call := trial.Caller([]berthtest.Pod{in("east"), in("west"), {Namespace: "default", Name: "any"}})
		for range 2 {
			for i, want := range [][]byte{{0, 2}, {2, 0}, nil} {
				if got := call(i); !bytes.Equal(got, want) || got == nil != (want == nil) {
					t.Errorf("%s: pod %d: got %v, want %v", scope, i, got, want)
				}
			}
		}
	}
}

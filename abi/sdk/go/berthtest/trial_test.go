package berthtest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

func manifest() []byte {
	return []byte(`{"name":"guilty","version":"1.0.0","abi":"1.0","points":{"filter":{"scope":"node"}},"reads":{"node":["name","taints"],"pod":["name"]}}`)
}

// guilty breaks the rule in the pod's name.
type guilty struct {
	berth.Base
	calls int
	no    berth.Reason
}

func newGuilty() *guilty {
	b := berth.Load(manifest())
	return &guilty{Base: b, no: b.Reason("no")}
}

func (p *guilty) Filter(pod berth.Pod, node berth.Node) berth.Status {
	p.calls++
	bad := false
	switch pod.Name() {
	case "keeps state":
		bad = p.calls%3 == 0
	case "looks at row numbers":
		bad = node.Row() == 1
	case "looks at the order of taints":
		bad = len(node.Taints()) > 0 && p.Text(node.Taints()[0].Key) == "a"
	case "looks at ids":
		bad = len(node.Taints()) > 0 && node.Taints()[0].Key%2 == 0
	}
	if bad {
		return berth.Unschedulable(p.no)
	}
	return berth.Success
}

// recorder is a testing.TB that keeps the report.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// TestGuiltyPluginsAreCaught: Place finds answers that depend on what they must not depend on,
// and nothing wrong with an innocent plugin.
func TestGuiltyPluginsAreCaught(t *testing.T) {
	for _, name := range []string{"nothing", "keeps state", "looks at row numbers", "looks at the order of taints", "looks at ids"} {
		r := &recorder{TB: t}
		trial := berthtest.New(r, manifest(), berthtest.Native(newGuilty), "")
		for i := range 5 {
			trial.Nodes = append(trial.Nodes, berthtest.Node{Name: fmt.Sprintf("node-%d", i), Taints: []berthtest.Taint{{Key: "a"}, {Key: "b"}, {Key: "c"}}})
		}
		trial.Place(berthtest.Pod{Name: name})
		if caught := len(r.errors) > 0; caught != (name != "nothing") {
			t.Errorf("a plugin that %s: %s", name, strings.Join(r.errors, "\n"))
		}
	}
}

package assembly

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
)

// tenth rejects every tenth pod, so that hints are called.
const tenth = `(global.set $asked (i32.add (global.get $asked) (i32.const 1)))
	(select (i32.const 0) (i32.const 2) (i32.rem_u (global.get $asked) (i32.const 10)))`

// points are the functions of a plugin at every point: the body of each when it works, and its
// number of parameters besides the call.
var points = []struct {
	point  abi.Point
	export string
	ranged bool
	works  string
}{
	{abi.PreEnqueue, "pre_enqueue", true, "(i32.const 0)"},
	{abi.QueueSort, "queue_key", true, "(i32.const 0)"},
	{abi.Hint, "hint", true, "(i32.const 0)"},
	{abi.PreFilter, "pre_filter", false, tenth},
	{abi.AddPod, "add_pod", true, "(i32.const 0)"},
	{abi.RemovePod, "remove_pod", true, "(i32.const 0)"},
	{abi.Filter, "filter", true, "(i32.const 0)"},
	{abi.PostFilter, "post_filter", true, "(i32.const 2)"}, // Unschedulable: other plugins may find a node
	{abi.PreScore, "pre_score", true, "(i32.const 0)"},
	{abi.Score, "score", true, "(i32.const 0)"},
	{abi.Normalize, "normalize", true, "(i32.const 0)"},
	{abi.Reserve, "reserve", false, "(i32.const 0)"},
	{abi.Unreserve, "unreserve", false, "(i32.const 0)"},
	{abi.Permit, "permit", false, "(i32.const 0)"},
	{abi.PreBind, "pre_bind", false, "(i32.const 0)"},
	{abi.Bind, "bind", false, "(i32.const 5)"}, // Skip
	{abi.PostBind, "post_bind", false, "(i32.const 0)"},
}

// failures are bodies that functions have instead from time to time.
var failures = map[string]string{
	"traps":        "unreachable",
	"spins":        "(loop $again (br $again))",
	"nonsense":     "(return (i32.const 99))",
	"out of reach": "(i32.store (i32.const -4) (i32.const 0))",
	"hoards":       "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable",
}

// everywhere writes a plugin that is at every point, at QueueSort only if sorts is true. At one
// of its points it runs body instead of its work in every every-th call.
func everywhere(t *testing.T, sorts bool, broken abi.Point, body string, every int) string {
	t.Helper()
	var functions strings.Builder
	for _, p := range points {
		if p.point == abi.QueueSort && !sorts {
			continue
		}
		parameters, instead := "(param i32)", ""
		if p.ranged {
			parameters = "(param i32 i32 i32)"
		}
		if p.point == broken && body != "" {
			instead = fmt.Sprintf(`(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
				(if (i32.eqz (i32.rem_u (global.get $calls) (i32.const %d))) (then %s))`, every, body)
		}
		fmt.Fprintf(&functions, "(func (export \"berth_%s\") %s (result i32) %s %s)\n", p.export, parameters, instead, p.works)
	}
	queueSort := ""
	if sorts {
		queueSort = `"queueSort": {},`
	}
	module := wat.Compile(t, `(module
		(memory (export "memory") 40)
		(global $calls (mut i32) (i32.const 0))
		(global $asked (mut i32) (i32.const 0))
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		`+functions.String()+`)`,
		`{"name": "everywhere", "version": "1.0.0", "abi": "1.0", "points": {`+queueSort+`
			"preEnqueue": {}, "hint": {}, "preFilter": {}, "addPod": {}, "removePod": {}, "filter": {}, "postFilter": {}, "preScore": {},
			"score": {}, "normalize": {}, "reserve": {}, "unreserve": {}, "permit": {}, "preBind": {}, "bind": {}, "postBind": {}},
		  "reads": {"node": ["generation"]}, "directives": {"nominate": true, "bind": true},
		  "events": [{"resource": "Node", "actions": ["Add"]}, {"resource": "Pod", "actions": ["Delete"]}]}`)
	file := filepath.Join(t.TempDir(), "everywhere.wasm")
	if err := os.WriteFile(file, module, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

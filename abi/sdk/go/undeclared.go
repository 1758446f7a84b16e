package berth

import (
	"runtime"
	"strings"
)

// explain panics with what the manifest does not list, if the call panics in a reader of a column that is not there. It is deferred
// because readers have no check of their own but Go's of the index: one more would keep the plugin's functions that call them from being
// inlined, which doubled the fuel of a plugin.
func (c *core) explain() {
	if c.answered {
		return
	}
	const own = "github.com/berth-scheduler/berth/abi/sdk/go."
	stack := make([]uintptr, 16)
	frames := runtime.CallersFrames(stack[:runtime.Callers(2, stack)])
	for {
		frame, more := frames.Next()
		reader, ok := strings.CutPrefix(frame.Function, own)
		if !ok && !strings.HasPrefix(frame.Function, "runtime.") {
			return
		}
		if reader == "Namespaces.Find" {
			reader = "Namespace.Name"
		}
		if what := c.columns.undeclared(reader); what != "" {
			panic("berth: manifest.json: reads." + what)
		}
		if !more {
			return
		}
	}
}

// all reports whether there is a column for each declared key.
func all[T any](columns [][]T) bool {
	for _, column := range columns {
		if column == nil {
			return false
		}
	}
	return len(columns) > 0
}

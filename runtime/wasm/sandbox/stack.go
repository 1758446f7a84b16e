package sandbox

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// A function that the host calls has a stack on Go's heap, which grows to twice of what it
// needs, and which wazero keeps as long as the function. So a call begins with few frames. To
// get all of them, it waits for the plugin's one place for a large instance, like a memory
// that grows. After a call, a function with a large stack is looked up again.

const (
	// shallowDepth is how many frames a call has without the place.
	shallowDepth = 1_000
	// keptStack is how large a stack may be that is kept, in bytes.
	keptStack = 32 << 10
)

// stackBytes returns what the stack of a call with so many frames takes at most.
func stackBytes(frames uint32) uint64 { return 2 * uint64(frames) * meter.FrameBytes }

// native returns what an instance takes beside its memory, in bytes: tables, the elements of
// segments, stacks that are kept, and that of a call with few frames.
func (c *compiled) native() uint64 {
	if c.info == nil {
		return 0
	}
	elements := uint64(c.info.References)
	for _, t := range c.info.Tables {
		elements += uint64(t.Max)
	}
	functions := uint64(0)
	for _, s := range signatures() {
		if _, ok := c.module.ExportedFunctions()[s.name]; ok {
			functions++
		}
	}
	return 8*elements + functions*keptStack + stackBytes(min(c.info.MaxDepth, shallowDepth))
}

// deep returns what a call with all of its frames takes beyond that, in bytes.
func (c *compiled) deep() uint64 {
	if c.info == nil {
		return 0
	}
	return stackBytes(c.info.MaxDepth) - stackBytes(min(c.info.MaxDepth, shallowDepth))
}

// stacks knows where functions of wazero have their stack, which no method tells.
type stacks struct {
	function reflect.Type // the type of functions
	field    int
}

// stacksOf returns what it knows of functions like f; nothing if they have no such field.
func stacksOf(f api.Function) (s stacks) {
	t := reflect.TypeOf(f)
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return s
	}
	if field, ok := t.Elem().FieldByName("stack"); ok && len(field.Index) == 1 && field.Type.Kind() == reflect.Slice {
		s = stacks{t, field.Index[0]}
	}
	return s
}

// size returns the size of a function's stack; 0 if it is not known.
func (s *stacks) size(f api.Function) int {
	if s.function == nil || reflect.TypeOf(f) != s.function {
		return 0
	}
	return reflect.ValueOf(f).Elem().Field(s.field).Len()
}

// shrink looks a function up again if its stack has grown.
func (g *instance) shrink(f *api.Function) {
	if g.stacks.size(*f) > keptStack {
		*f = g.module.ExportedFunction((*f).Definition().ExportNames()[0])
	}
}

// deepen gives the guest all of its frames, if it yields because it has none left.
func (e *Env) deepen() {
	if g := e.gauges; g.lacksFrames() && e.frames < g.info.MaxDepth {
		if e.memory != nil {
			e.memory.Deepen()
		}
		g.addFrames(g.info.MaxDepth - e.frames)
		e.frames = g.info.MaxDepth
	}
}

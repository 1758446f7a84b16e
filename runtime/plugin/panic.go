package plugin

import (
	"fmt"
	"runtime/debug"
)

// Place is where a panic was stopped.
type Place string

// The places, which are values of a metric's label.
const (
	InPlugin     Place = "plugin"     // a call of a plugin
	InHint       Place = "hint"       // a queueing hint, or an order, of a plugin
	InAttempt    Place = "attempt"    // a scheduling cycle
	InBinding    Place = "binding"    // a binding cycle
	InEviction   Place = "eviction"   // an eviction
	InConversion Place = "conversion" // an object of the API becomes one of the scheduler
	InWrite      Place = "write"      // a report or a write of what was decided
	InQuestion   Place = "question"   // an explanation, a what-if
	InShadow     Place = "shadow"     // a plugin on trial
	InLoop       Place = "loop"       // the queue, the cache, and all else that the loop owns: it cannot go on
)

// Places returns all places.
func Places() []Place {
	return []Place{InPlugin, InHint, InAttempt, InBinding, InEviction, InConversion, InWrite, InQuestion, InShadow, InLoop}
}

// Panic is a panic that was stopped: it is the failure of what was being done, and of nothing else.
type Panic struct {
	Place Place
	// What names the plugin and its point, or the object that was being handled.
	What string
	// Value is what was passed to panic, and Stack the stack there.
	Value string
	Stack []byte
}

// Error implements error. It has no address and no stack, so that the same events give the same messages.
func (p *Panic) Error() string {
	return fmt.Sprintf("a panic in %s: %s; please report this with the stack in the log", p.What, p.Value)
}

// Stopped returns the panic of what recover returned. One that comes from another goroutine keeps its stack.
func Stopped(place Place, what string, recovered any) *Panic {
	if p, ok := recovered.(*Panic); ok {
		return p
	}
	return &Panic{Place: place, What: what, Value: fmt.Sprint(recovered), Stack: debug.Stack()}
}

// Guard calls a function. If it panics, Guard tells of the panic, unless tell is nil, and returns it.
func Guard(place Place, what string, tell func(*Panic), call func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			p := Stopped(place, what, r)
			if tell != nil {
				tell(p)
			}
			err = p
		}
	}()
	call()
	return nil
}

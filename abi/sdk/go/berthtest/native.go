package berthtest

import (
	"fmt"
	"runtime/debug"
	"strings"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// Native returns a Factory for a plugin as native code; plugin is its constructor. A plugin that panics traps, as its module would.
func Native[P berth.Plugin](plugin func() P) Factory {
	return func(host berth.Host) Guest {
		defer panicTraps()
		return native{berth.NewNative(plugin(), host)}
	}
}

// native is an instance of a plugin as native code.
type native struct{ *berth.Native }

// Configure implements Guest.
func (n native) Configure(address, length uint32) int32 {
	defer panicTraps()
	return n.Native.Configure(address, length)
}

// Call implements Guest.
func (n native) Call(export string, call, lo, hi uint32) int32 {
	defer panicTraps()
	return n.Native.Call(export, call, lo, hi)
}

// panicTraps makes a Trap of a panic, with the plugin's own part of the stack.
func panicTraps() {
	switch r := recover().(type) {
	case nil:
	case *Trap:
		panic(r)
	default:
		panic(&Trap{fmt.Errorf("panic: %v\n%s", r, ownFrames(string(debug.Stack())))})
	}
}

// ownFrames returns the part of a stack between the last panic and the SDK's call of the plugin.
func ownFrames(stack string) string {
	lines := strings.SplitAfter(stack, "\n")
	var own strings.Builder
	panicked := false
	for i := 1; i+1 < len(lines); i += 2 { // after the name of the goroutine, two for each function
		switch function := lines[i]; {
		case strings.HasPrefix(function, "panic("):
			panicked = true
			own.Reset()
		case !panicked || strings.HasPrefix(function, "runtime."):
		case strings.HasPrefix(function, "github.com/berth-scheduler/berth/abi/sdk/go.Serve"), strings.Contains(function, "/berthtest."):
			return own.String()
		default:
			own.WriteString(function + lines[i+1])
		}
	}
	return own.String()
}

package attack

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds that docs/sandbox.md promises, with default settings.
const (
	// PluginMemory is a plugin's budget, in bytes.
	PluginMemory = 256 << 20
	// SlackMemory is what the scheduler's process may use beyond the budgets, in bytes.
	SlackMemory = 64 << 20
	// ProcessMemory is the budget of all plugins, in bytes.
	ProcessMemory = 1 << 30
	// FaultLog is what may be logged per fault, in bytes; the same again is allowed for messages
	// that appear once.
	FaultLog = 64 << 10
	// PodResult is what `berth simulate` may print about a pod that stays pending, in bytes: a
	// message of 4 KiB, wrapped.
	PodResult = 8 << 10
	// PodLog is what a plugin may log for a pod, in bytes.
	PodLog = 32 << 10
)

// MemoryBound is what an attack may use beyond the same run without plugins, in bytes.
func (a *Attack) MemoryBound() int64 { return memoryBound(len(a.Plugins)) }

func memoryBound(plugins int) int64 {
	return min(int64(plugins)*PluginMemory, ProcessMemory) + SlackMemory
}

// deadline is how a call that timed out is reported.
var deadline = regexp.MustCompile(`deadline at |the call took longer than`)

// unprintable returns the first control character in a text that a terminal may act upon.
func unprintable(text []byte) error {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			return fmt.Errorf("byte %#02x at %d is not UTF-8: %.60q", text[i], i, around(text, i))
		case r == '\n', r == '\t', r == ' ':
		case !unicode.IsPrint(r) && !unicode.IsSpace(r), unicode.Is(unicode.Bidi_Control, r), r == '\r', r == '\u2028', r == '\u2029', r == '\v', r == '\f', r == '\u0085':
			return fmt.Errorf("%U at %d: %.60q", r, i, around(text, i))
		}
		i += size
	}
	return nil
}

func around(text []byte, i int) []byte { return text[max(0, i-20):min(len(text), i+40)] }

// faults returns the number of faults in the table of plugins of `berth simulate`. The column is
// missing if there were none.
func faults(out []byte) (n int64) {
	at := -1
	for line := range strings.Lines(string(out)) {
		cells := strings.Fields(line)
		if len(cells) > 0 && cells[0] == "PLUGIN" {
			at = slices.Index(cells, "FAULTS")
		}
		if at < 0 || len(cells) <= at || !strings.HasPrefix(cells[0], "guest") {
			continue
		}
		if one, err := strconv.ParseInt(cells[at], 10, 64); err == nil {
			n += one
		}
	}
	return n
}

// stack is what Go prints when a program crashes.
func stack(text []byte) bool {
	return bytes.Contains(text, []byte("goroutine ")) && bytes.Contains(text, []byte(".go:")) || bytes.Contains(text, []byte("nil pointer dereference"))
}

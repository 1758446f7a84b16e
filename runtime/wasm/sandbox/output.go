package sandbox

import (
	"strings"

	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// output is what a guest writes to its standard streams.
type output struct{ env *Env }

// Write implements io.Writer. WASI calls it once for each entry of a list.
func (o output) Write(p []byte) (int, error) {
	o.env.Charge(priceOfOutput(min(len(p), tailSize)))
	return o.env.output.Write(p)
}

// tailSize is how much of a guest's output is kept, in bytes: as much as a fault shows.
const tailSize = fault.MaxOutput

// tail keeps the end of what was written to it.
type tail struct{ data []byte }

// Write implements io.Writer for stdout and stderr, which come in pieces.
func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p[max(0, len(p)-tailSize):]...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// line adds a text on a line of its own.
func (t *tail) line(text string) {
	if len(t.data) > 0 && t.data[len(t.data)-1] != '\n' {
		t.data = append(t.data, '\n')
	}
	_, _ = t.Write(append([]byte(text), '\n'))
}

func (t *tail) String() string { return strings.TrimSuffix(string(t.data), "\n") }

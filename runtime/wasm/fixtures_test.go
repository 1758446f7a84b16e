package wasm_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/internal/hostile"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// fixture is a .wat file of testdata.
type fixture struct {
	*hostile.Guest
	policies map[abi.Point]fault.Policy
}

// readFixture reads a fixture.
func readFixture(t testing.TB, path string) *fixture {
	t.Helper()
	g, err := hostile.ReadGuest(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Guest: g, policies: map[abi.Point]fault.Policy{}}
	for _, point := range abi.Points() {
		if policy, ok := g.Policies[point.String()]; ok {
			f.policies[point] = map[string]fault.Policy{"Fail": fault.Fail, "Ignore": fault.Ignore}[policy]
		}
	}
	return f
}

func (f *fixture) module(t testing.TB) []byte {
	return wat.Compile(t, f.Source, manifestJSON(f.Points, f.Reads, f.Host))
}

// guest loads a fixture as a factory.
func guest(t testing.TB, runtime *sandbox.Runtime, name string) (*sandbox.Module, *wire.Manifest) {
	t.Helper()
	f := readFixture(t, filepath.Join("testdata", name+".wat"))
	m, err := runtime.Load(context.Background(), f.module(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return m, manifest(t, f.Points, f.Reads, f.Host)
}

func newRuntime(t testing.TB, c sandbox.RuntimeConfig) *sandbox.Runtime {
	t.Helper()
	r, err := sandbox.NewRuntime(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// TestFixtures: each broken guest is refused when it is loaded, or causes a fault for the pod
// for which it misbehaves (its priority is 1), for no other pod and no other plugin. The
// results are in testdata/fixtures.golden, and are the same for compiled and interpreted
// modules.
func TestFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.wat")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	var out [2]bytes.Buffer
	for i, interpreter := range []bool{false, true} {
		r := newRuntime(t, sandbox.RuntimeConfig{Interpreter: interpreter})
		module, man := guest(t, r, "good")
		other := newPlugin(t, wasm.Config{Name: "other"}, module, man)
		for _, path := range files {
			f := readFixture(t, path)
			fmt.Fprintf(&out[i], "%s: %s\n", f.Name, f.About)
			f.run(t, r, other, &out[i])
		}
	}
	if compiled, interpreted := out[0].String(), out[1].String(); compiled != interpreted {
		a, b := strings.Split(compiled, "\n"), strings.Split(interpreted, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("compiled and interpreted differ in line %d:\n%s\n%s", i+1, a[i], b[i])
			}
		}
	}
	golden.Check(t, "testdata/fixtures.golden", out[0].Bytes())
}

// run writes the results of a fixture.
func (f *fixture) run(t *testing.T, r *sandbox.Runtime, other *wasm.Plugin, out *bytes.Buffer) {
	ctx := context.Background()
	say := func(format string, args ...any) {
		fmt.Fprintf(out, "  "+format+"\n", args...)
	}
	data := f.module(t)
	if parsed, err := wire.ReadModule(data); err != nil {
		say("check: %v", err)
	} else if err := wire.Check(parsed, manifest(t, f.Points, f.Reads, f.Host), ""); err != nil {
		say("check: %s", oneLine(err))
	}
	module, err := r.Load(ctx, data)
	if err != nil {
		say("load: %s", oneLine(err))
		return
	}
	defer module.Close(ctx)
	watched := &spy{Factory: module}
	p, err := wasm.New(ctx, wasm.Config{Name: "guest", VerifyEvery: f.Verify, Policies: f.policies, Limits: sandbox.Limits{OwnMemory: 1 << 20, Depth: 500, FuelBase: 5_000, FuelPerRow: 500, FuelStart: 20_000}},
		wasm.Deps{Factory: watched, Manifest: manifest(t, f.Points, f.Reads, f.Host)})
	if err != nil {
		say("new: %s", oneLine(err))
		return
	}
	defer p.Close(ctx)
	w := newWorld(3)
	for i, priority := range []int32{0, 1, 0} {
		c := w.cycle(incoming("default", "pod", priority))
		said := f.points1(t, p, c, w.rows())
		if i == 0 || i == 2 && said != f.want() {
			say("pod %d: %s", i, said)
		} else if i == 1 {
			say("bad pod: %s", said)
		}
		c = w.again(incoming("default", "another", 0))
		if verdict := verdicts(filter(other, c, w.rows())); verdict != "Success Unschedulable Success" {
			t.Errorf("%s: another plugin says %s", f.Name, verdict)
		}
	}
	say("faults %d, instances %d", p.Faults(), len(watched.guests)-1)
}

// want is the answer of a good guest.
func (f *fixture) want() string {
	var out []string
	if strings.Contains(f.Points, "preFilter") {
		out = append(out, "PreFilter: Success all rows")
	}
	if strings.Contains(f.Points, "filter") {
		out = append(out, "Filter: Success Unschedulable Success")
	}
	if strings.Contains(f.Points, "max") {
		out = append(out, "Score: Success [0 1 2] normalized [0 50 100]")
	} else if strings.Contains(f.Points, "score") {
		out = append(out, "Score: Success [0 1 2] normalized [0 1 2]")
	}
	return strings.Join(out, "; ")
}

// points1 calls all points for one pod.
func (f *fixture) points1(t *testing.T, p *wasm.Plugin, c *plugin.Cycle, rows []uint32) string {
	var out []string
	for _, point := range p.Points() {
		text := point.String() + ": "
		switch point {
		case abi.PreFilter:
			set, status := p.PreFilter(c)
			text += describe(t, f, point, status)
			if set == nil {
				text += " all rows"
			} else {
				text += fmt.Sprintf(" rows %v", set)
			}
		case abi.Filter:
			text += verdicts(filter(p, c, rows))
		case abi.Score:
			scores := make([]int64, len(rows))
			text += describe(t, f, point, p.Score(c, rows, scores))
			text += fmt.Sprint(" ", scores)
			if status := p.Normalize(c, rows, scores); !status.Success() {
				text += " " + describe(t, f, point, status)
			}
			text += fmt.Sprint(" normalized ", scores)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func describe(t *testing.T, f *fixture, point abi.Point, status *plugin.Status) string {
	if got, ok := fault.As(status.AsError()); ok {
		if got.Plugin != "guest" || got.Point != point || got.Kind == "" || got.Kind == fault.Trap && !strings.Contains(got.Trace, "function ") {
			t.Errorf("%s: the fault names plugin %q, point %s, kind %q, trace %q", f.Name, got.Plugin, got.Point, got.Kind, got.Trace)
		}
	}
	if status.Success() {
		return "Success"
	}
	return fmt.Sprintf("%s %q", status.CodeOf(), scrub(status.Message()))
}

// verdicts returns codes and reasons as text.
func verdicts(v *plugin.Verdicts) string {
	var out []string
	for i, code := range v.Codes {
		text := code.String()
		if texts := v.Texts(i); texts != nil {
			text += fmt.Sprintf(" %q", scrub(strings.Join(texts, ", ")))
		}
		if i > 0 && text == out[len(out)-1] && code == abi.Error {
			continue
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

var digests = regexp.MustCompile(`sha256:[0-9a-f]+`)

// scrub removes what changes with every edit of a fixture.
func scrub(text string) string { return digests.ReplaceAllString(text, "sha256:…") }

func oneLine(err error) string { return strings.ReplaceAll(scrub(err.Error()), "\n", " | ") }

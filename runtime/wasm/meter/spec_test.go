package meter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// specScript is a file of WebAssembly's specification tests, as wast2json makes it.
type specScript struct {
	Commands []specCommand `json:"commands"`
}

type specCommand struct {
	Type, Name, Filename, As string
	Line                     int
	ModuleType               string `json:"module_type"`
	Action                   struct {
		Type, Field, Module string
		Args                []specValue
	}
}

type specValue struct {
	Type, LaneType string
	Value          json.RawMessage
}

// UnmarshalJSON knows lane_type beside Go's names.
func (v *specValue) UnmarshalJSON(data []byte) error {
	var raw struct {
		Type     string          `json:"type"`
		LaneType string          `json:"lane_type"`
		Value    json.RawMessage `json:"value"`
	}
	err := json.Unmarshal(data, &raw)
	*v = specValue{Type: raw.Type, LaneType: raw.LaneType, Value: raw.Value}
	return err
}

// bits returns the value as wazero takes it.
func (v specValue) bits(t *testing.T) []uint64 {
	parse := func(s string, bits int) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			signed, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			n = uint64(signed)
		}
		return n & (math.MaxUint64 >> (64 - bits))
	}
	if v.Type == "v128" {
		var lanes []string
		if err := json.Unmarshal(v.Value, &lanes); err != nil {
			t.Fatal(err)
		}
		out, width := make([]uint64, 2), 128/len(lanes)
		for i, lane := range lanes {
			out[i*width/64] |= parse(lane, width) << (i * width % 64)
		}
		return out
	}
	var s string
	if err := json.Unmarshal(v.Value, &s); err != nil {
		t.Fatal(err)
	}
	switch {
	case s == "null":
		return []uint64{0}
	case v.Type == "i32" || v.Type == "f32":
		return []uint64{parse(s, 32)}
	case v.Type == "externref":
		return []uint64{parse(s, 64) + 1} // 0 is null
	}
	return []uint64{parse(s, 64)}
}

// specFolder is that of the specification tests which wazero comes with.
func specFolder(t *testing.T) string {
	t.Helper()
	// Of the package: of the module, go list asks the proxy when its version was made.
	out, err := exec.Command("go", "list", "-f", "{{.Module.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
}

// TestSpecification runs WebAssembly's own tests on originals and rewritten
// modules side by side: all results and traps are the same, what is invalid stays
// invalid, and what overflows the stack is too deep.
func TestSpecification(t *testing.T)     { specification(t) }
func TestRestSpecification(t *testing.T) { specification(t) }

func specification(t *testing.T) {
	t.Helper()
	folder := specFolder(t)
	for _, e := range engines() {
		t.Run(string(e), func(t *testing.T) {
			total, cache := specCounts{}, kept(t)
			for _, version := range []string{"v1", "v2"} {
				files, err := filepath.Glob(filepath.Join(folder, version, "testdata", "*.json"))
				if err != nil || len(files) == 0 {
					t.Fatalf("no specification tests in %s: %v", folder, err)
				}
				for i, file := range files {
					if !testrest.In(t) && i%8 != 0 {
						continue // slow: there are some 220 files, each a script of many modules
					}
					s := &spec{t: t, engine: e, cache: cache, file: file, spectest: filepath.Join(folder, "testdata", "spectest.wasm")}
					s.run()
					total.add(s.specCounts)
				}
			}
			t.Logf("%+v", total)
			if testrest.In(t) && (total.Modules < 1500 || total.Calls < 40_000 || total.TooDeep == 0 || total.Invalid < 500) {
				t.Errorf("too little was tested: %+v", total)
			}
		})
	}
}

// refusals are reasons for which valid modules of the specification's tests are
// refused: they import more than functions, begin with too much memory, or write an
// opcode longer than it has to be.
func refusals() []string {
	return []string{"is imported", "are allowed", "the opcode after 0xfc has 2 bytes"}
}

// specCounts is what a script came to: modules that were rewritten, and refused
// (because of what they import), calls, those of them that were too deep, and
// invalid modules.
type specCounts struct{ Modules, Refused, Calls, TooDeep, Invalid int }

func (c *specCounts) add(d specCounts) {
	c.Modules += d.Modules
	c.Refused += d.Refused
	c.Calls += d.Calls
	c.TooDeep += d.TooDeep
	c.Invalid += d.Invalid
}

// spec is the run of a script: originals in one host, rewritten modules in another.
type spec struct {
	specCounts
	t              *testing.T
	engine         engine
	cache          wazero.CompilationCache
	file, spectest string
	hosts          [2]*host
	last           *[2]*guest // nil if it was refused
	named          map[string]*[2]*guest
	script         specScript
}

func (s *spec) run() {
	data, err := os.ReadFile(s.file)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &s.script); err != nil {
		s.t.Fatalf("%s: %v", s.file, err)
	}
	s.named = map[string]*[2]*guest{}
	imported := s.read(s.spectest)
	for i := range s.hosts {
		s.hosts[i] = newCachedHost(s.t, s.engine, s.cache)
		_, err := s.hosts[i].runtime.InstantiateWithConfig(context.Background(), imported, wazero.NewModuleConfig().WithName("spectest"))
		if err != nil {
			s.t.Fatal(err)
		}
	}
	for i := range s.script.Commands {
		s.command(i)
	}
	for _, h := range s.hosts {
		_ = h.runtime.Close(context.Background())
	}
}

func (s *spec) errorf(c *specCommand, format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s:%d: %s", filepath.Base(s.file), c.Line, fmt.Sprintf(format, args...))
}

func (s *spec) read(file string) []byte {
	data, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

func (s *spec) command(i int) {
	c := &s.script.Commands[i]
	switch c.Type {
	case "module":
		s.last = s.module(c, s.registered(i))
		if c.Name != "" {
			s.named[c.Name] = s.last
		}
	case "action", "assert_return", "assert_trap", "assert_exhaustion":
		s.call(c)
	case "assert_invalid", "assert_malformed":
		if c.ModuleType == "binary" {
			s.invalid(c)
		}
	}
}

// registered returns the name under which later modules import the module.
func (s *spec) registered(i int) string {
	name := s.script.Commands[i].Name
	for _, c := range s.script.Commands[i+1:] {
		if c.Type == "register" && (c.Name == name || c.Name == "") {
			return c.As
		}
		if c.Type == "module" && name == "" {
			return ""
		}
	}
	return ""
}

func (s *spec) config() meter.Config {
	// wazero's interpreter has a ceiling of 2,000 frames of its own.
	return meter.Config{MemoryMaxPages: pages, TableMaxElements: 1 << 20, Slice: 64, MaxDepth: 1000}
}

// module makes both instances; of one that is refused none.
func (s *spec) module(c *specCommand, as string) *[2]*guest {
	data := s.read(filepath.Join(filepath.Dir(s.file), c.Filename))
	rewritten, info, err := meter.Rewrite(data, s.config())
	if err != nil {
		if err := offsetOf(err, len(data)); err != nil {
			s.errorf(c, "%v", err)
		}
		if !slices.ContainsFunc(refusals(), func(text string) bool { return strings.Contains(err.Error(), text) }) {
			s.errorf(c, "refused: %v", err)
		}
		s.Refused++
		return nil
	}
	var pair [2]*guest
	var errs [2]error
	pair[0], errs[0] = s.instantiate(s.hosts[0], data, nil, as)
	pair[1], errs[1] = s.instantiate(s.hosts[1], rewritten, info, as)
	if (errs[0] == nil) != (errs[1] == nil) {
		if !strings.Contains(fmt.Sprint(errs[1]), "not instantiated") { // imports what was refused
			s.errorf(c, "original: %v\nrewritten: %v", errs[0], errs[1])
		}
		return nil
	}
	if errs[0] != nil {
		return nil
	}
	s.Modules++
	return &pair
}

func (s *spec) instantiate(h *host, module []byte, info *meter.Info, as string) (*guest, error) {
	ctx := context.Background()
	compiled, err := h.runtime.CompileModule(ctx, module)
	if err != nil {
		return nil, err
	}
	m, err := h.runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(as).WithStartFunctions())
	if err != nil {
		return nil, err
	}
	g := &guest{Module: m, info: info, host: h}
	g.grant(1 << 40)
	if info != nil && info.Start {
		if _, trap := g.call(meter.StartExport); trap != "" {
			return nil, fmt.Errorf("start: %s", trap)
		}
	}
	return g, nil
}

// call calls both and compares.
func (s *spec) call(c *specCommand) {
	pair := s.last
	if c.Action.Module != "" {
		pair = s.named[c.Action.Module]
	}
	if pair == nil || c.Action.Type != "invoke" {
		return
	}
	var args []uint64
	for _, a := range c.Action.Args {
		args = append(args, a.bits(s.t)...)
	}
	s.Calls++
	got, trap := pair[1].call(c.Action.Field, args...)
	if c.Type == "assert_exhaustion" {
		if pair[1].status() != meter.TooDeep {
			s.errorf(c, "%s: status %s, trap %q; want too deep", c.Action.Field, pair[1].status(), trap)
		}
		s.TooDeep++
		pair[1].set(meter.DepthExport, uint64(pair[1].info.MaxDepth))
		pair[1].set(meter.StatusExport, 0)
		return
	}
	want, trapped := pair[0].call(c.Action.Field, args...)
	if fmt.Sprint(got) != fmt.Sprint(want) || trap != trapped {
		s.errorf(c, "%s(%x): got %x %s, want %x %s", c.Action.Field, args, got, trap, want, trapped)
	}
	// Frames in other modules are not given back after a trap.
	if depth := pair[1].depth(); trap == "" && filepath.Base(s.file) != "linking.json" && depth != int32(pair[1].info.MaxDepth) {
		s.errorf(c, "%s: %d frames are left of %d", c.Action.Field, depth, pair[1].info.MaxDepth)
	}
	pair[1].set(meter.DepthExport, uint64(pair[1].info.MaxDepth)) // not given back after a trap
}

// invalid checks that rewriting makes nothing valid.
func (s *spec) invalid(c *specCommand) {
	data := s.read(filepath.Join(filepath.Dir(s.file), c.Filename))
	ctx := context.Background()
	if m, err := s.hosts[0].runtime.CompileModule(ctx, data); err == nil {
		_ = m.Close(ctx)
		return // wazero does not mind
	}
	s.Invalid++
	out, _, err := meter.Rewrite(data, s.config())
	if err != nil {
		if err := offsetOf(err, len(data)); err != nil {
			s.errorf(c, "%v", err)
		}
		return
	}
	if m, err := s.hosts[1].runtime.CompileModule(ctx, out); err == nil {
		_ = m.Close(ctx)
		s.errorf(c, "an invalid module became valid")
	}
}

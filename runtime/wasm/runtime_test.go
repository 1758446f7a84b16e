package wasm_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// files returns the files below a folder with their contents.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCacheDir: a module is compiled once for all runs. Damaged files are logged and do no harm.
func TestCacheDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	works := func(log *bytes.Buffer) {
		t.Helper()
		r := newRuntime(t, sandbox.RuntimeConfig{CacheDir: dir, Log: slog.New(slog.NewTextHandler(log, nil))})
		module, man := guest(t, r, "good")
		p := newPlugin(t, wasm.Config{}, module, man)
		w := newWorld(3)
		if got := verdicts(filter(p, w.cycle(incoming("a", "p", 0)), w.rows())); got != "Success Unschedulable Success" {
			t.Errorf("got %s", got)
		}
	}
	var log bytes.Buffer
	works(&log)
	first := files(t, dir)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if len(first) == 0 {
		t.Fatal("nothing is kept")
	}
	var when time.Time
	for path := range first {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		when = info.ModTime()
	}
	works(&log)
	for path := range files(t, dir) {
		if info, err := os.Stat(path); err != nil || first[path] == "" || !info.ModTime().Equal(when) && len(first) == 1 {
			t.Errorf("%s was written again (%v)", path, err)
		}
	}
	if log.Len() > 0 {
		t.Errorf("log: %s", log.String())
	}
	for _, damage := range []func(string) string{
		func(s string) string { return s[:len(s)/2] },
		func(s string) string { return s[:len(s)-20] + "x" + s[len(s)-19:] },
		func(string) string { return "" },
		func(string) string { return "nonsense that is longer than the head of such a file, and more" },
	} {
		for path, text := range first {
			if err := os.WriteFile(path, []byte(damage(text)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		log.Reset()
		works(&log)
		if !strings.Contains(log.String(), "cache of compiled modules is damaged") {
			t.Errorf("log: %q", log.String())
		}
	}
}

// TestCacheDirOfOthers: a folder that others may write to is refused.
func TestCacheDirOfOthers(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: dir}); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("got %v", err)
	}
	// One that is optional is not used, until it is mended.
	r := newRuntime(t, sandbox.RuntimeConfig{CacheDir: dir, CacheOptional: true})
	guest(t, r, "good")
	if kept := files(t, dir); len(kept) > 0 {
		t.Errorf("%v is kept in a folder of others", kept)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	guest(t, r, "good")
	if len(files(t, dir)) == 0 {
		t.Error("nothing is kept in a folder that was mended")
	}
}

// TestSameBytesTwice: closing a module does not break another one with the same bytes (wazero
// issue 2336).
func TestSameBytesTwice(t *testing.T) {
	r := newRuntime(t, sandbox.RuntimeConfig{})
	f := readFixture(t, "testdata/good.wat")
	ctx := context.Background()
	one, err := r.Load(ctx, f.module(t))
	if err != nil {
		t.Fatal(err)
	}
	two, man := guest(t, r, "good")
	p := newPlugin(t, wasm.Config{}, two, man)
	w := newWorld(3)
	for range 2 {
		if got := verdicts(filter(p, w.cycle(incoming("a", "p", 0)), w.rows())); got != "Success Unschedulable Success" {
			t.Errorf("got %s", got)
		}
		if err := one.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if one.Digest() != two.Digest() || !strings.HasPrefix(one.Digest(), "sha256:") {
		t.Errorf("digests %s and %s", one.Digest(), two.Digest())
	}
}

// TestMemoryLimit: a guest that takes all of its memory has none for its region. Other guests keep
// theirs.
func TestMemoryLimit(t *testing.T) {
	r := newRuntime(t, sandbox.RuntimeConfig{})
	module, man := guest(t, r, "guests/hungry")
	watched := &spy{Factory: module}
	p := newPlugin(t, wasm.Config{Limits: sandbox.Limits{OwnMemory: 4 << 20}}, watched, man)
	good, man := guest(t, r, "good")
	other := newPlugin(t, wasm.Config{Name: "other"}, good, man)
	w := newWorld(3)
	for range 2 {
		c := w.cycle(incoming("a", "p", 0))
		if got := verdicts(filter(p, c, w.rows())); !strings.Contains(got, "no-memory: berth_alloc has no room for a region of") {
			t.Errorf("got %s", got)
		}
		if got := verdicts(filter(other, c, w.rows())); got != "Success Unschedulable Success" {
			t.Errorf("got %s", got)
		}
	}
	if n := len(watched.alive()); n != 0 {
		t.Errorf("%d instances are alive", n)
	}
}

// TestCannotGrow: the fault of a plugin that cannot grow with the cluster names the largest
// columns. It works again when the cluster is small.
func TestCannotGrow(t *testing.T) {
	watched := &spy{Factory: sandbox.NewNativeFactory(func(env *sandbox.Env) sandbox.NativePlugin {
		return &tiny{exports: []string{abi.ExportFilter}, limit: 200000}
	})}
	p := newPlugin(t, wasm.Config{}, watched, &wire.Manifest{
		Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}, Reads: wire.ManifestReads{Node: []string{"labels", "taints"}},
	})
	w := newWorld(10)
	if got := verdicts(filter(p, w.cycle(incoming("a", "p", 0)), w.rows()[:1])); got != "Success" {
		t.Fatal(got)
	}
	for i := 10; i < 3000; i++ {
		w.cache.AddNode(newWorldNode(i))
	}
	got := verdicts(filter(p, w.cycle(incoming("a", "p", 0)), w.rows()[:1]))
	if !strings.Contains(got, "no-memory") || !strings.Contains(got, "the largest columns are node: labels (") {
		t.Error(got)
	}
	for i := 10; i < 3000; i++ {
		w.cache.RemoveNode(nodeName(i))
	}
	if got := verdicts(filter(p, w.cycle(incoming("a", "p", 0)), w.rows()[:1])); got != "Success" {
		t.Error(got)
	}
	if n := len(watched.alive()); n != 1 {
		t.Errorf("%d instances are alive", n)
	}
}

// TestConcurrentCalls: like a pipeline, workers call one plugin with separate blocks, beside
// another plugin, while instances are faulted and revived, and the plugin is closed. It is for
// the race detector.
func TestConcurrentCalls(t *testing.T) {
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "trap_unreachable")
	man.Points.Filter.Scope = "node"
	good, goodMan := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "good")
	goodMan.Points.Filter.Scope = "node" // filters of scope cluster run alone
	for _, shards := range []int{1, 2, 5} {
		p := newPlugin(t, wasm.Config{Shards: shards, VerifyEvery: 3}, module, man)
		other := newPlugin(t, wasm.Config{Name: "other"}, good, goodMan)
		w := newWorld(4500)
		for i := range 6 {
			w.place(t, podObject("a", nodeName(i), nodeName(i*700)))
			priority := int32(0)
			if i%3 == 2 {
				priority = 1 // a trap in every call
			}
			c := w.cycle(incoming("a", "p", priority))
			rows := w.rows()
			blocks := make(chan []uint32, 8)
			var workers sync.WaitGroup
			for range 3 {
				workers.Go(func() {
					for block := range blocks {
						v := filter(p, c, block)
						for j, row := range block {
							want := []abi.Code{abi.Success, abi.Unschedulable}[row%2]
							if priority == 1 {
								want = abi.Error
							}
							if v.Codes[j] != want {
								t.Errorf("row %d: %s, want %s", row, v.Codes[j], want)
								break
							}
						}
					}
				})
			}
			for at := 0; at < len(rows); at += 1024 {
				blocks <- rows[at:min(at+1024, len(rows))]
			}
			if got := filter(other, c, rows[:3]); priority == 0 && got.Codes[1] != abi.Unschedulable {
				t.Error(got.Codes)
			}
			close(blocks)
			if i == 5 { // while calls run
				if err := p.Close(c.Context); err != nil {
					t.Error(err)
				}
				p.BytesWritten()
			}
			workers.Wait()
		}
	}
}

// TestTwoCyclesAtOnce: cycles of two profiles that share a plugin do not mix.
func TestTwoCyclesAtOnce(t *testing.T) {
	p := newPlugin(t, wasm.Config{}, native(func(g *tiny, _ string, call, lo, hi uint32) int32 {
		snap, err := wire.DecodeSnapshot(g.memory, g.u32(call))
		if err != nil {
			panic(err)
		}
		record, err := wire.DecodePod(g.memory[g.u32(call+abi.CallPod):][:g.u32(call+abi.CallPodSize)])
		if err != nil {
			panic(err)
		}
		text, err := record.Text(snap)
		if err != nil {
			panic(err)
		}
		row, err := snap.Row(abi.TableNodes, 0)
		if err != nil || row["1.0"] != `"n0"` || text["128.0"] != `"one"` && text["128.0"] != `"two"` {
			panic(row["1.0"] + text["128.0"])
		}
		if text["128.0"] == `"two"` {
			g.memory[g.u32(call+abi.CallCodes)] = byte(abi.Unschedulable)
		}
		return 0
	}, abi.ExportFilter), &wire.Manifest{
		Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}, Reads: wire.ManifestReads{Node: []string{"name"}, Pod: []string{"name"}},
	})
	var group sync.WaitGroup
	for name, want := range map[string]string{"one": "Success", "two": "Unschedulable"} {
		w := newWorld(3)
		group.Go(func() {
			for range 200 {
				if got := verdicts(filter(p, w.cycle(incoming("a", name, 0)), w.rows()[:1])); got != want {
					t.Errorf("%s: %s", name, got)
				}
			}
		})
	}
	group.Wait()
}

// TestGuestsOfThisTest: the sources of all guests assemble.
func TestGuestsOfThisTest(t *testing.T) {
	paths, err := filepath.Glob("testdata/guests/*.wat")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, len(paths))
	}
	for _, path := range paths {
		f := readFixture(t, path)
		m, err := wire.ReadModule(wat.Compile(t, f.Source, ""))
		if err == nil {
			err = wire.Check(m, manifest(t, f.Points, f.Reads, f.Host), path)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

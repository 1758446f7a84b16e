//go:build !wasip1

package hosttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/testcache"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// built is what all tests of the package share: modules, each built and compiled once, when
// first needed.
var built struct {
	dir     string
	cache   string // of testcache
	runtime *sandbox.Runtime

	mu      sync.Mutex
	files   map[string]string
	modules map[string]*sandbox.Module
}

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	var err error
	if built.dir, err = os.MkdirTemp("", "hosttest"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(built.dir)
	if built.cache, err = testcache.Dir(filepath.Join("..", "..", ".."), ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if built.runtime, err = sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: cacheDir()}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	built.files, built.modules = make(map[string]string), make(map[string]*sandbox.Module)
	status := m.Run()
	for _, module := range built.modules {
		if err := module.Close(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	if err := built.runtime.Close(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return status
}

// cacheDir stores compiled modules for all runtimes, and for the next run.
func cacheDir() string { return filepath.Join(built.cache, "wazero") }

// file returns the file of an example's module. Tests of make test have two of them, because each takes
// seconds to build and to compile.
func file(t testing.TB, e *wasmexamples.Example) string {
	t.Helper()
	if e.Name != "zone-cost" && e.Name != "everypoint" {
		testrest.Only(t)
	}
	built.mu.Lock()
	defer built.mu.Unlock()
	if path, ok := built.files[e.Name]; ok {
		return path
	}
	top := filepath.Join("..", "..", "..")
	sources := []string{filepath.Join(top, "abi"), filepath.Join(top, "internal", "plain"), filepath.Join(top, "wasm-examples")}
	key, err := testcache.Key(sources, []string{".go", ".json"}, e.Name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := testcache.File(built.cache, key+".wasm", func() ([]byte, error) {
		path, err := e.Build(built.dir)
		if err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(built.dir, e.Name+".wasm")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	built.files[e.Name] = path
	return path
}

// module returns an example's module as a factory.
func module(t testing.TB, e *wasmexamples.Example) sandbox.Factory {
	t.Helper()
	return load(t, e.Name, file(t, e))
}

// load returns the module in a file, under a name, as a factory.
func load(t testing.TB, name, path string) sandbox.Factory {
	t.Helper()
	built.mu.Lock()
	defer built.mu.Unlock()
	if m, ok := built.modules[name]; ok {
		return m
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := built.runtime.Load(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	built.modules[name] = m
	return m
}

// native returns the example as a factory of native code: the module's twin.
func native(_ testing.TB, e *wasmexamples.Example) sandbox.Factory {
	return sandbox.NewNativeFactory(func(env *sandbox.Env) sandbox.NativePlugin { return berth.NewNative(e.New(), env) })
}

func manifest(t testing.TB, e *wasmexamples.Example) *wire.Manifest {
	t.Helper()
	m, err := wire.DecodeManifest(e.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// newPlugin makes a plugin; the caller closes it.
func newPlugin(t testing.TB, e *wasmexamples.Example, f sandbox.Factory, c wasm.Config) (*wasm.Plugin, error) {
	t.Helper()
	c.Name, c.CrashOnBug = e.Name, true
	if c.Config == nil {
		c.Config = e.Config
	}
	return wasm.New(context.Background(), c, wasm.Deps{Factory: f, Manifest: manifest(t, e), Binder: noBinder{}})
}

// noBinder is for plugins that must not bind.
type noBinder struct{}

func (noBinder) Bind(context.Context, objects.Binding) error { panic("a plugin was asked to bind") }

// example returns the example with a name.
func example(t testing.TB, name string) *wasmexamples.Example {
	t.Helper()
	for _, e := range wasmexamples.All() {
		if e.Name == name {
			return &e
		}
	}
	t.Fatalf("unknown example %s", name)
	return nil
}

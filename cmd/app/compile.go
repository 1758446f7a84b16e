package app

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/wasm/child"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// compileOptions holds the flags about compiling modules.
type compileOptions struct {
	cache         string
	cacheSize     string
	timeLimit     time.Duration
	compileMemory string
	cacheOptional bool // go without the folder of --module-cache for as long as it cannot be used
}

func (o *compileOptions) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.cache, "module-cache", "", "`DIR` for compiled modules, or none; berth/modules in the user's cache folder if not given")
	f.StringVar(&o.cacheSize, "module-cache-size", "768Mi", "maximum size of the compiled and fetched modules in that folder, as a `QUANTITY`; the least recently used are removed")
	f.DurationVar(&o.timeLimit, "compile-time", time.Minute, "time `LIMIT` for compiling one module in a separate process; 0 compiles in this process, without limits")
	f.StringVar(&o.compileMemory, "compile-memory", "2Gi", "memory limit of that process, as a `QUANTITY`")
}

// noCache as the folder keeps compiled modules in memory only.
const noCache = "none"

// cacheDir returns the folder for compiled modules, empty for none, and reports whether
// the command can go on without it.
func (o *compileOptions) cacheDir() (dir string, optional bool, err error) {
	switch o.cache {
	case noCache:
		return "", false, nil
	case "":
		// Without a writable home folder, modules are compiled each time.
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", false, nil
		}
		return filepath.Join(dir, "berth", "modules"), true, nil
	}
	if o.cacheOptional {
		return o.cache, true, nil
	}
	if err := os.MkdirAll(o.cache, 0o700); err != nil {
		return "", false, fmt.Errorf("--module-cache: %w (name a folder that can be created, or none)", err)
	}
	return o.cache, false, nil
}

// leastCacheSize is room for some modules.
const leastCacheSize = 16 << 20

// size returns the maximum size of the cache, in bytes.
func (o *compileOptions) size() (int64, error) {
	size, err := resource.ParseQuantity(o.cacheSize)
	if err != nil || size.Value() < leastCacheSize {
		return 0, fmt.Errorf("--module-cache-size: %q is not a size of at least 16Mi; write for example 768Mi", o.cacheSize)
	}
	return size.Value(), nil
}

// leastCompileMemory is a little more than the process needs before it compiles anything.
const leastCompileMemory = 128 << 20

// smallPart is the part of --compile-memory that may be taken beside it for a small module, if that is enough for one.
const (
	smallPart        = 4
	leastSmallMemory = 192 << 20
)

// compilers returns the compiler of modules, and that of small ones beside it: this program, started again. Nil compiles
// in this process, or nothing beside.
func (o *compileOptions) compilers() (all, small sandbox.Compiler, err error) {
	memory, err := resource.ParseQuantity(o.compileMemory)
	switch {
	case o.timeLimit < 0:
		return nil, nil, fmt.Errorf("--compile-time: %v is less than 0", o.timeLimit)
	case err != nil || memory.Value() < leastCompileMemory:
		return nil, nil, fmt.Errorf("--compile-memory: %q is not a size of at least 128Mi; write for example 2Gi", o.compileMemory)
	case o.timeLimit == 0:
		return nil, nil, nil
	}
	path, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find the executable of this program, which compiles modules: %w "+
			"(--compile-time 0 compiles in this process)", err)
	}
	c := &child.Child{
		Path: path, Args: []string{"berth", compileCommand}, Time: o.timeLimit, Memory: uint64(memory.Value()),
		TimeSetting: "--compile-time", MemorySetting: "--compile-memory",
	}
	if part := c.Memory / smallPart; part >= leastSmallMemory {
		beside := *c
		beside.Memory = part
		small = beside.Compile
	}
	return c.Compile, small, nil
}

// runtime returns the settings for compiling modules.
func (o *compileOptions) runtime() (*sandbox.Runtime, error) {
	dir, optional, err := o.cacheDir()
	if err != nil {
		return nil, err
	}
	size, err := o.size()
	if err != nil {
		return nil, err
	}
	c := sandbox.RuntimeConfig{CacheDir: dir, CacheOptional: optional, CacheSize: assembly.CompiledSize(size)}
	if c.Compiler, _, err = o.compilers(); err != nil {
		return nil, err
	}
	r, err := sandbox.NewRuntime(c)
	if err != nil {
		return nil, &failure{err}
	}
	return r, nil
}

// compileCommand is the subcommand of the compiling process.
const compileCommand = "compile-job"

// newCompile returns a hidden command, which only berth itself starts.
func newCompile() *cobra.Command {
	return &cobra.Command{
		Use: compileCommand, Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if status := child.Serve(cmd.Context(), args, cmd.InOrStdin(), cmd.ErrOrStderr()); status != 0 {
				return &failure{errSilent}
			}
			return nil
		},
	}
}

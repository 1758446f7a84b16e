// Package clang builds plugins written in C: it finds a clang that compiles to wasm32, with its
// linker, and runs it. The same sources give the same bytes in any folder.
package clang

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/internal/procgroup"
)

// Target is the target of plugins: WebAssembly without an operating system.
const Target = "wasm32"

// Install says how a toolchain is installed.
const Install = "on Debian and Ubuntu apt-get install clang lld, on Fedora dnf install clang lld, with Homebrew brew install llvm lld"

// ErrNoToolchain is wrapped by the error of Find if there is no toolchain.
var ErrNoToolchain = errors.New("no C toolchain for " + Target)

// Toolchain is a clang that has the target and finds wasm-ld.
type Toolchain struct {
	// Clang is its path.
	Clang string
	// Names keeps the names of functions in modules, for traces. The code is the same.
	Names bool
	// Checked makes modules that trap at a wrong index of an array, an overflow of a signed number, and other undefined behaviour.
	Checked bool
	// Warnings gets what clang says of a module that it makes; nil for nowhere.
	Warnings io.Writer
}

// Find returns the toolchain in $CLANG, or else clang in $PATH, or Homebrew's, which is not in
// $PATH.
//
// # Errors
//
// ErrNoToolchain, wrapped with what was tried and how to install it.
func Find(ctx context.Context) (*Toolchain, error) {
	if named := os.Getenv("CLANG"); named != "" {
		return FindIn(ctx, named)
	}
	return FindIn(ctx, "clang", "/opt/homebrew/opt/llvm/bin/clang", "/usr/local/opt/llvm/bin/clang")
}

// FindIn returns the first of some compilers that has the target and a linker for it. A name
// without a folder is looked up in $PATH.
//
// # Errors
//
// Those of Find.
func FindIn(ctx context.Context, names ...string) (*Toolchain, error) {
	var seen []string
	for i, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			if i == 0 {
				seen = append(seen, "there is no "+name)
			}
			continue
		}
		t := &Toolchain{Clang: path}
		if err = t.check(ctx); err == nil {
			return t, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		seen = append(seen, err.Error())
	}
	return nil, fmt.Errorf("%w: %s; install one: %s", ErrNoToolchain, strings.Join(seen, "; "), Install)
}

// check checks the target and the linker.
func (t *Toolchain) check(ctx context.Context) error {
	targets, err := exec.CommandContext(ctx, t.Clang, "--print-targets").Output()
	if err != nil {
		return fmt.Errorf("%s does not run: %w", t.Clang, err)
	}
	if !slices.Contains(strings.Fields(string(targets)), Target) {
		return fmt.Errorf("%s does not have the target", t.Clang)
	}
	linker, err := exec.CommandContext(ctx, t.Clang, "--target="+Target, "--print-prog-name=wasm-ld").Output()
	if err == nil {
		_, err = exec.LookPath(strings.TrimSpace(string(linker)))
	}
	if err != nil {
		return fmt.Errorf("%s does not find wasm-ld", t.Clang)
	}
	return nil
}

// Files returns the names of the C files of a plugin in a folder: all except those that end in
// _test.c.
func Files(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(escape(dir), "*.c"))
	var names []string
	for _, path := range paths {
		if name := filepath.Base(path); !strings.HasSuffix(name, "_test.c") {
			names = append(names, name)
		}
	}
	return names, err
}

// escape returns a pattern that matches only the path.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// Flags returns the flags by which the C of plugins differs from that of other programs, for editors too.
func Flags() []string {
	return []string{
		"--target=" + Target, "-std=gnu17", "-Wall", "-Werror=return-type", "-Werror=implicit-function-declaration",
		"-Werror=incompatible-function-pointer-types", "-Werror=int-conversion", "-ffreestanding", "-ffp-contract=off", "-mbulk-memory", "-msign-ext",
		"-mnontrapping-fptoint",
	}
}

// Build compiles the C files in dir and returns the module's bytes, including the manifest that
// BERTH_PLUGIN names. Included files and the manifest are looked up in dir and the folder
// above. More is appended to the flags.
//
// # Errors
//
// The output of clang, with a hint if it is about C but the mistake is about plugins.
func (t *Toolchain) Build(ctx context.Context, dir string, more ...string) ([]byte, error) {
	files, err := Files(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there are no C files", dir)
	}
	temp, err := os.MkdirTemp("", "berth-clang-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a folder for temporary files
	module := filepath.Join(temp, "plugin.wasm")
	strip := "--strip-all"
	if t.Names {
		strip = "--strip-debug"
	}
	if t.Checked {
		const checks = "-fsanitize=bounds,signed-integer-overflow,shift,integer-divide-by-zero,unreachable,return"
		more = append([]string{checks, "-fsanitize-trap=all"}, more...)
	}
	args := slices.Concat(Flags(), []string{
		"-O2", "-nostdlib", "-I.", "-I..",
		// The stack is below the data, so that an overflow traps instead of overwriting data.
		"-Wl,--no-entry," + strip + ",--stack-first,-z,stack-size=131072",
	}, more, []string{"-o", module}, files)
	cmd := procgroup.Set(exec.CommandContext(ctx, t.Clang, args...))
	cmd.Dir = dir
	// These variables change the meaning of flags.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"CPATH", "C_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS"}, name)
	})
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		text := strings.TrimSpace(said.String())
		return nil, fmt.Errorf("%s in %s: %w\n%s%s", filepath.Base(t.Clang), dir, err, text, hint(text))
	}
	if t.Warnings != nil && said.Len() > 0 {
		if _, err := said.WriteTo(t.Warnings); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(module)
}

// libraryHeader is in the error about a header of a C library, or of a system, that is not there.
var libraryHeader = regexp.MustCompile(`'(?:assert|ctype|errno|fcntl|inttypes|locale|math|pthread|setjmp|signal|stdio|stdlib|string|unistd|wchar|sys/\w+)\.h' file not found`)

// hint returns a remedy for an error of clang.
func hint(said string) string {
	switch {
	case strings.Contains(said, "berth.h' file not found"):
		return "\ncopy abi/sdk/c/berth.h into the folder of the plugin"
	case strings.Contains(said, "time.h' file not found"):
		return "\na plugin has no clock and no C library: list now in reads.pod of the manifest, and take the time from berth_pod_now"
	case libraryHeader.MatchString(said):
		return "\na plugin is compiled without a C library: berth.h has what it needs, memcpy, memmove and memset too"
	case strings.Contains(said, "Could not find incbin file"):
		return "\nBERTH_PLUGIN names the manifest relative to the folder of the plugin, or to the one above"
	case strings.Contains(said, "undefined symbol: berth__"):
		return "\none of the files needs BERTH_PLUGIN(\"manifest.json\", setup)"
	case strings.Contains(said, "undefined symbol: __"):
		return "\nclang has a function of its own library for this, and a plugin is linked without it: divisions of 128 bits, for example"
	case strings.Contains(said, "undefined symbol:"):
		return "\na plugin is linked without a C library; berth.h has what it needs"
	}
	return ""
}

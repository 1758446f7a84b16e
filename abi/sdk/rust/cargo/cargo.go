// Package cargo builds plugins written in Rust: it finds a toolchain that compiles to
// wasm32-unknown-unknown, and runs it. The same sources give the same bytes in any folder.
package cargo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/internal/procgroup"
)

// Target is the target of plugins: WebAssembly without an operating system.
const Target = "wasm32-unknown-unknown"

// Install says how a toolchain is installed.
const Install = "on Debian and Ubuntu apt-get install rustc cargo libstd-rust-dev-wasm32 lld, or with rustup (https://rustup.rs) " +
	"rustup target add " + Target

// ErrNoToolchain is wrapped by the error of Find if there is no toolchain.
var ErrNoToolchain = errors.New("no Rust toolchain for " + Target)

// Toolchain is a cargo and a rustc.
type Toolchain struct {
	// Cargo and Rustc are paths.
	Cargo, Rustc string
	// Names keeps the names of functions in modules, for traces. The code is the same.
	Names bool
	// Instead says why no other toolchain was taken that was looked for before this one; empty for the first.
	Instead string
}

// Find returns a toolchain that has the target: the one in $CARGO and $RUSTC, in $PATH, or the
// distribution's in /usr/bin, which rustup's may hide.
//
// # Errors
//
// ErrNoToolchain, wrapped with what was tried and how to install it.
func Find(ctx context.Context) (*Toolchain, error) {
	path, distribution := Toolchain{Cargo: "cargo", Rustc: "rustc"}, Toolchain{Cargo: "/usr/bin/cargo", Rustc: "/usr/bin/rustc"}
	named := Toolchain{Cargo: os.Getenv("CARGO"), Rustc: os.Getenv("RUSTC")}
	if named == (Toolchain{}) {
		return FindIn(ctx, path, distribution)
	}
	return FindIn(ctx, named, path, distribution)
}

// FindIn returns the first of some toolchains that has the target. A name without a folder is
// looked up in $PATH, and an empty one means cargo or rustc.
//
// # Errors
//
// Those of Find.
func FindIn(ctx context.Context, candidates ...Toolchain) (*Toolchain, error) {
	var seen []string
	for _, c := range candidates {
		t, err := c.resolve()
		if err == nil {
			err = t.hasTarget(ctx)
		}
		if err == nil {
			t.Instead = strings.Join(seen, "; ")
			return t, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !slices.Contains(seen, err.Error()) {
			seen = append(seen, err.Error())
		}
	}
	return nil, fmt.Errorf("%w: %s; install one: %s", ErrNoToolchain, strings.Join(seen, "; "), Install)
}

// resolve returns the toolchain with paths.
func (t Toolchain) resolve() (*Toolchain, error) {
	for _, tool := range []struct {
		path *string
		name string
	}{{&t.Cargo, "cargo"}, {&t.Rustc, "rustc"}} {
		if *tool.path == "" {
			*tool.path = tool.name
		}
		found, err := exec.LookPath(*tool.path)
		if err != nil {
			return nil, fmt.Errorf("there is no %s", *tool.path)
		}
		*tool.path = found
	}
	return &t, nil
}

// hasTarget checks that the target's core library is installed.
func (t *Toolchain) hasTarget(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, t.Rustc, "--print", "target-libdir", "--target", Target).Output()
	if err != nil {
		return fmt.Errorf("%s does not run: %w", t.Rustc, err)
	}
	libs, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "libcore-*.rlib"))
	if err != nil || len(libs) == 0 {
		return fmt.Errorf("%s does not have the target %s", t.Rustc, Target)
	}
	return nil
}

// Command returns a command that runs cargo in a folder, with the tools of this toolchain.
func (t *Toolchain) Command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := procgroup.Set(exec.CommandContext(ctx, t.Cargo, args...))
	cmd.Dir = dir
	path := filepath.Dir(t.Cargo) + string(filepath.ListSeparator) + os.Getenv("PATH") // for rustdoc, rustfmt, clippy
	cmd.Env = append(os.Environ(), "RUSTC="+t.Rustc, "PATH="+path)
	return cmd
}

// Build builds the crate in dir and returns the module's bytes. Cargo keeps its output in
// target, so reusing a folder makes the next build faster.
//
// # Errors
//
// The output of cargo, with a hint if it is about Rust but the mistake is about plugins.
func (t *Toolchain) Build(ctx context.Context, dir, target string) ([]byte, error) {
	flags, err := t.flags(ctx, dir)
	if err != nil {
		return nil, err
	}
	strip := "true"
	if t.Names {
		strip = "debuginfo"
	}
	cmd := t.Command(ctx, dir, "build", "--release", "--lib", "--target", Target, "--message-format=json-render-diagnostics")
	cmd.Env = append(cmd.Env, "CARGO_TARGET_DIR="+target, "CARGO_ENCODED_RUSTFLAGS="+strings.Join(flags, "\x1f"),
		// Options for a small module, so that Cargo.toml needs no section for them.
		"CARGO_PROFILE_RELEASE_LTO=true", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1",
		"CARGO_PROFILE_RELEASE_PANIC=abort", "CARGO_PROFILE_RELEASE_STRIP="+strip)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, t.failed(ctx, cmd, err, stderr.String())
	}
	file := artifact(stdout.Bytes())
	if file == "" {
		return nil, fmt.Errorf("%s: cargo made no module: Cargo.toml needs [lib] with crate-type = [\"cdylib\"]", dir)
	}
	return os.ReadFile(file)
}

// Tests builds the tests of the crate in dir for this machine, and returns the programs.
//
// # Errors
//
// The output of cargo.
func (t *Toolchain) Tests(ctx context.Context, dir string) ([]string, error) {
	cmd := t.Command(ctx, dir, "test", "--no-run", "--message-format=json-render-diagnostics")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, t.failed(ctx, cmd, err, stderr.String())
	}
	var programs []string
	for line := range bytes.Lines(stdout.Bytes()) {
		var m struct{ Executable string }
		if json.Unmarshal(line, &m) == nil && m.Executable != "" {
			programs = append(programs, m.Executable)
		}
	}
	return programs, nil
}

// failed returns the error of a failed cargo command.
func (t *Toolchain) failed(ctx context.Context, cmd *exec.Cmd, err error, said string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	said = strings.TrimSpace(said)
	return fmt.Errorf("%s %s in %s: %w\n%s%s%s", filepath.Base(t.Cargo), cmd.Args[1], cmd.Dir, err, said, hint(said), t.used(ctx))
}

// used says which toolchain was used, and why, if another would have been looked for first.
func (t *Toolchain) used(ctx context.Context) string {
	if t.Instead == "" {
		return ""
	}
	version, _ := exec.CommandContext(ctx, t.Rustc, "--version").Output() // without, the path says which
	return fmt.Sprintf("\nthe compiler was %s (%s), because %s; rustup target add %s adds it to a toolchain of rustup",
		t.Rustc, strings.TrimSpace(string(version)), t.Instead, Target)
}

// hint returns a remedy for an error of cargo.
func hint(said string) string {
	switch {
	case strings.Contains(said, "linker `rust-lld` not found"):
		return "\ninstall the linker: on Debian and Ubuntu apt-get install lld"
	case strings.Contains(said, "can't find crate for `core`"), strings.Contains(said, "can't find crate for `std`"):
		return "\ninstall the target: " + Install
	case strings.Contains(said, "no library targets found"):
		return "\nthe plugin must be a library: src/lib.rs, and [lib] with crate-type = [\"cdylib\"] in Cargo.toml"
	case strings.Contains(said, "alloc_error_handler"):
		return "\na heap without std needs rustc 1.68: use berth's feature std, which is the default"
	}
	return ""
}

// crate is a package in cargo metadata.
type crate struct {
	Name, Version string
	Manifest      string `json:"manifest_path"`
}

// flags returns flags for rustc: panics name files of other crates as crate-version/src/…,
// not by the folders of this machine, and 128 KiB of stack are enough for a plugin.
func (t *Toolchain) flags(ctx context.Context, dir string) ([]string, error) {
	cmd := t.Command(ctx, dir, "metadata", "--format-version=1", "--filter-platform", Target)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, t.failed(ctx, cmd, err, stderr.String())
	}
	var meta struct {
		Packages []crate
		Root     string `json:"workspace_root"`
	}
	if err := json.Unmarshal(out, &meta); err != nil {
		return nil, fmt.Errorf("cargo metadata in %s: %w", dir, err)
	}
	flags := []string{"-Clink-arg=-zstack-size=131072"}
	// If two match, rustc uses the last: folders come before their subfolders.
	slices.SortFunc(meta.Packages, func(a, b crate) int { return strings.Compare(a.Manifest, b.Manifest) })
	for _, p := range meta.Packages {
		if strings.HasPrefix(p.Manifest, meta.Root+string(filepath.Separator)) {
			continue // already relative to the workspace; and other crates need not be rebuilt for it
		}
		flags = append(flags, "--remap-path-prefix="+filepath.Dir(p.Manifest)+"="+p.Name+"-"+p.Version)
	}
	return flags, nil
}

// artifact returns the module among cargo's messages; the last one belongs to the crate itself.
func artifact(messages []byte) string {
	file := ""
	for line := range bytes.Lines(messages) {
		var m struct {
			Reason    string
			Filenames []string
		}
		if json.Unmarshal(line, &m) != nil || m.Reason != "compiler-artifact" {
			continue
		}
		for _, name := range m.Filenames {
			if filepath.Ext(name) == ".wasm" {
				file = name
			}
		}
	}
	return file
}

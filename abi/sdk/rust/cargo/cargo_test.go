package cargo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo"
	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
)

// script writes an executable and returns its path.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// target makes a folder that looks like the target's libraries.
func target(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "libcore-0.rlib"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFindIn: it returns the first toolchain that has the target; otherwise the error says what
// was tried and how to install one.
func TestFindIn(t *testing.T) {
	cargoPath := script(t, "cargo", "")
	without := cargo.Toolchain{Cargo: cargoPath, Rustc: script(t, "rustc", "echo "+t.TempDir())}
	broken := cargo.Toolchain{Cargo: cargoPath, Rustc: script(t, "rustc", "exit 1")}
	absent := cargo.Toolchain{Cargo: "/nowhere/cargo", Rustc: "/nowhere/rustc"}
	with := cargo.Toolchain{Cargo: cargoPath, Rustc: script(t, "rustc", "echo "+target(t))}

	got, err := cargo.FindIn(context.Background(), without, absent, with)
	with.Instead = without.Rustc + " does not have the target " + cargo.Target + "; there is no /nowhere/cargo"
	if err != nil || *got != with {
		t.Errorf("got %v, %v; want %v", got, err, with)
	}
	_, err = cargo.FindIn(context.Background(), without, absent, broken, absent)
	if !errors.Is(err, cargo.ErrNoToolchain) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		without.Rustc + " does not have the target", "there is no /nowhere/cargo", broken.Rustc + " does not run", cargo.Install,
	} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("%v, want %q in it, once", err, want)
		}
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := cargo.FindIn(stopped, with); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// TestNamesToolchain: a mistake says which compiler was used, and why, if it is not the one that was looked for first.
func TestNamesToolchain(t *testing.T) {
	const cargoSays = "echo 'error: let…else is unstable' >&2; exit 1"
	for instead, want := range map[string]string{"": "", "/a/rustc does not have the target x": "\nthe compiler was RUSTC (rustc 1.63.0), " +
		"because /a/rustc does not have the target x; rustup target add " + cargo.Target + " adds it to a toolchain of rustup"} {
		tools := &cargo.Toolchain{Cargo: script(t, "cargo", cargoSays), Rustc: script(t, "rustc", "echo rustc 1.63.0"), Instead: instead}
		_, err := tools.Tests(t.Context(), t.TempDir())
		_, after, ok := strings.Cut(fmt.Sprint(err), "is unstable")
		if want = strings.Replace(want, "RUSTC", tools.Rustc, 1); !ok || after != want {
			t.Errorf("%v, want it to end with %q", err, want)
		}
	}
}

// crate writes a crate.
func crate(t *testing.T, manifest, source string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"Cargo.toml":                   "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n" + manifest,
		filepath.Join("src", "lib.rs"): source,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const library = "[lib]\ncrate-type = [\"cdylib\"]\n"

// TestRestBuild: the same sources give the same module, panics do not contain the folder, and
// mistakes are reported with a remedy.
func TestRestBuild(t *testing.T) {
	toolchain := cargotest.Toolchain(t)
	const source = "#[no_mangle]\npub extern \"C\" fn f(v: &[u8], i: usize) -> u8 {\n    v[i]\n}\n"
	first, err := toolchain.Build(context.Background(), crate(t, library, source), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	second, err := toolchain.Build(context.Background(), crate(t, library, source), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Error("two builds differ")
	}
	const most = 64 << 10
	if len(first) > most {
		t.Errorf("a function has %d bytes, more than %d", len(first), most)
	}
	if text := string(first); !strings.HasPrefix(text, "\x00asm") || !strings.Contains(text, "src/lib.rs") || strings.Contains(text, os.TempDir()) {
		t.Error("the result is not a module, or it contains the build folder")
	}
	for name, c := range map[string]struct{ dir, want string }{
		"no cdylib":      {crate(t, "", source), `Cargo.toml needs [lib] with crate-type = ["cdylib"]`},
		"does not build": {crate(t, library, "fn f() -> u8 {}"), "cargo build in "},
		"no crate":       {t.TempDir(), "cargo metadata in "},
	} {
		if _, err := toolchain.Build(context.Background(), c.dir, t.TempDir()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

package app

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/procgroup"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/sbom"
	"github.com/berth-scheduler/berth/runtime/module"
)

func newPluginSBOM() *cobra.Command {
	var out, version string
	cmd := &cobra.Command{
		Use:   "sbom DIR|PROGRAM",
		Short: "Write what a plugin or a program was built from, as CycloneDX JSON",
		Long: `Sbom builds the plugin in a folder and lists the modules, crates or packages that it was
built from, with their digests where the toolchain's lock file has them, and for C the SDK's
berth.h. push attaches the same list to the image. For a program in Go, such as berth itself,
sbom lists the modules that the program names.

The list has neither a time nor a random number, so that the same sources give the same list.`,
		Example: `  berth plugin sbom ./rack-aware
  berth plugin sbom berth-linux-amd64 --version 1.0.0 -o berth-linux-amd64.cdx.json`,
		Args:    oneArgument("folder or program", "DIR|PROGRAM"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := describeParts(cmd.Context(), args[0], version, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if out != "" {
				return writing(replaceFile(out, text))
			}
			_, err = cmd.OutOrStdout().Write(text)
			return writing(err)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&out, "output", "o", "", "`FILE` to write; standard output if not given")
	f.StringVar(&version, "version", "", "`VERSION` of a program that does not name its own")
	return cmd
}

func describeParts(ctx context.Context, path, version string, stderr io.Writer) ([]byte, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return programParts(ctx, path, version)
	}
	target, err := findTarget(ctx, path, stderr)
	if err != nil {
		return nil, err
	}
	defer target.remove()
	l, err := module.Read(target.ref.Path)
	if err != nil {
		return nil, target.inWords(err)
	}
	text, err := pluginParts(ctx, path, l)
	if err == nil && text == nil {
		err = fmt.Errorf("%s: there is no lock file, or for C no berth.h, so nothing tells what it was built from", path)
	}
	return text, err
}

// programParts lists what a program in Go was built from.
func programParts(ctx context.Context, file, version string) ([]byte, error) {
	data, err := bounded.File(ctx, file, bounded.Program)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: name a program in Go, or the folder of a plugin", file, err)
	}
	if version == "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	return sbom.Text(whole(filepath.Base(file), version, module.Digest(data)), sbom.Go(info.GoVersion, info.Deps))
}

// pluginParts lists what a plugin in a folder was built from; nil if there is no lock file, or for C no
// berth.h. The plugin has been built, so what the toolchain locks is locked.
func pluginParts(ctx context.Context, dir string, l *module.Loaded) ([]byte, error) {
	var parts []cdx.Component
	var err error
	switch languageOf(dir) {
	case "go":
		parts, err = goParts(ctx, dir)
	case "rust":
		parts, err = lockedParts(dir, l.Manifest.Name, sbom.Cargo, "Cargo.lock")
	case "assemblyscript":
		parts, err = lockedParts(dir, l.Manifest.Name, sbom.NPM, "package-lock.json", filepath.Join("berth", "package-lock.json"))
	case "c":
		parts, err = headerParts(dir)
	default:
		return nil, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return sbom.Text(whole(l.Manifest.Name, l.Manifest.Version, l.Digest), parts)
}

func whole(name, version, digest string) *cdx.Component {
	return &cdx.Component{
		Type: cdx.ComponentTypeApplication, Name: name, Version: version,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: strings.TrimPrefix(digest, "sha256:")}},
	}
}

// lockedParts reads the first lock file that is in a folder or above it: a workspace has
// one for all its crates.
func lockedParts(dir, own string, read func(lock []byte, own string) ([]cdx.Component, error), names ...string) ([]cdx.Component, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for {
		for _, name := range names {
			data, err := bounded.Regular(filepath.Join(at, name), oci.MaxAttachment)
			if err == nil {
				return read(data, own)
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		if at == filepath.Dir(at) {
			return nil, fs.ErrNotExist
		}
		at = filepath.Dir(at)
	}
}

// headerParts reads berth.h where clang.Build finds it: in the folder, or in the one above.
func headerParts(dir string) ([]cdx.Component, error) {
	data, err := bounded.Regular(filepath.Join(dir, "berth.h"), oci.MaxAttachment)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = bounded.Regular(filepath.Join(dir, "..", "berth.h"), oci.MaxAttachment)
	}
	if err != nil {
		return nil, err
	}
	return sbom.C(data), nil
}

// goParts lists the modules whose packages are in a plugin.
func goParts(ctx context.Context, dir string) ([]cdx.Component, error) {
	cmd := goCommand(ctx, "go", guestFolder(dir), "list", "-deps", "-json=Module", ".")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", cmd.Dir, err, strings.TrimSpace(stderr.String()))
	}
	version, err := goCommand(ctx, "go", cmd.Dir, "env", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("go env in %s: %w", cmd.Dir, err)
	}
	seen := map[string]bool{}
	var modules []*debug.Module
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Module *struct {
				debug.Module
				Main bool
			}
		}
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return sbom.Go(strings.TrimSpace(string(version)), modules), nil
		}
		if err != nil {
			return nil, fmt.Errorf("go list in %s: %w", cmd.Dir, err)
		}
		if m := p.Module; m != nil && !m.Main && !seen[m.Path] {
			seen[m.Path] = true
			modules = append(modules, &m.Module)
		}
	}
}

// goCommand returns a command of the Go toolchain for a plugin.
func goCommand(ctx context.Context, compiler, dir string, args ...string) *exec.Cmd {
	cmd := procgroup.Set(exec.CommandContext(ctx, compiler, args...))
	cmd.Dir = dir
	// GOWASM and GOEXPERIMENT change the code, so they must not differ between builds.
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWASM=", "GOEXPERIMENT=")
	return cmd
}

// guestFolder returns the folder of the main package of a plugin in Go.
func guestFolder(dir string) string {
	guest := filepath.Join(dir, "guest")
	if info, err := os.Stat(guest); err == nil && info.IsDir() {
		return guest
	}
	return dir
}

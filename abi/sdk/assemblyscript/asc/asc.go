// Package asc builds plugins written in AssemblyScript: it finds Node.js and the SDK that a
// plugin's folder depends on, and runs the SDK's berth-asc. The same sources give the same
// bytes in any folder.
package asc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/internal/procgroup"
)

// Package is the SDK's name.
const Package = "@berth-scheduler/sdk"

// leastNode is the oldest major version of Node.js that the compiler runs on.
const leastNode = 18

// Install says how Node.js is installed.
const Install = "Node.js 18 or newer with npm: on Debian and Ubuntu apt-get install nodejs npm, or from https://nodejs.org"

// ErrNoToolchain is wrapped by the error of Find if there is no toolchain.
var ErrNoToolchain = errors.New("no AssemblyScript toolchain")

// Toolchain is a Node.js and an SDK.
type Toolchain struct {
	// Node is the path of a program, SDK the path of a folder.
	Node, SDK string
}

// Find returns the toolchain for the plugin in a folder: the node in $NODE, or else in $PATH;
// and the SDK in node_modules of the folder or one above, or else the one in package.json as
// `file:FOLDER`.
//
// # Errors
//
// ErrNoToolchain, wrapped with what is missing and how to install it.
func Find(ctx context.Context, dir string) (*Toolchain, error) {
	name := os.Getenv("NODE")
	if name == "" {
		name = "node"
	}
	node, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%w: there is no %s; install %s", ErrNoToolchain, name, Install)
	}
	out, err := exec.CommandContext(ctx, node, "--version").Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	version := strings.TrimSpace(string(out))
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, numberErr := strconv.Atoi(major); err != nil || numberErr != nil || n < leastNode {
		return nil, fmt.Errorf("%w: %s is %q; install %s", ErrNoToolchain, node, version, Install)
	}
	sdk, err := findSDK(dir)
	if err != nil {
		return nil, err
	}
	t := &Toolchain{Node: node, SDK: sdk}
	if out, err := t.command(ctx, "--version").CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		said, _, _ := strings.Cut(string(bytes.TrimSpace(out)), ": run npm") // the message below has it, with the folder
		return nil, fmt.Errorf("%w: %s; install the compiler: npm ci --prefix %s", ErrNoToolchain, said, sdk)
	}
	return t, nil
}

// findSDK returns the folder of the SDK that a folder depends on.
func findSDK(dir string) (string, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := whole; ; at = filepath.Dir(at) {
		sdk := filepath.Join(at, "node_modules", filepath.FromSlash(Package))
		if isSDK(sdk) {
			return sdk, nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	data, err := os.ReadFile(filepath.Join(whole, "package.json"))
	if err != nil {
		return "", fmt.Errorf("%w: %s has no node_modules/%s: run npm install %s there", ErrNoToolchain, dir, Package, Package)
	}
	var p struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal(data, &p); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Join(dir, "package.json"), err)
	}
	for _, wanted := range []string{p.Dependencies[Package], p.DevDependencies[Package]} {
		if path, ok := strings.CutPrefix(wanted, "file:"); ok {
			if !filepath.IsAbs(path) {
				path = filepath.Join(whole, filepath.FromSlash(path))
			}
			if isSDK(path) {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%w: %s has no node_modules/%s: run npm install there", ErrNoToolchain, dir, Package)
}

func isSDK(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "bin", "berth-asc.mjs"))
	return err == nil
}

func (t *Toolchain) command(ctx context.Context, args ...string) *exec.Cmd {
	return procgroup.Set(exec.CommandContext(ctx, t.Node, append([]string{filepath.Join(t.SDK, "bin", "berth-asc.mjs")}, args...)...))
}

// Is reports whether a folder contains a plugin in AssemblyScript.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "assembly", "index.ts"))
	return err == nil
}

// Build builds the plugin in dir with a manifest file; empty means manifest.json in the folder
// or the one above. It returns the module's bytes, including the manifest. More is appended to
// the compiler's flags.
//
// # Errors
//
// The output of the compiler.
func (t *Toolchain) Build(ctx context.Context, dir, manifest string, more ...string) ([]byte, error) {
	temp, err := os.MkdirTemp("", "berth-asc-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a folder for temporary files
	module := filepath.Join(temp, "plugin.wasm")
	args := []string{dir, "-o", module}
	if manifest != "" {
		args = append(args, "--manifest", manifest)
	}
	if len(more) > 0 {
		args = append(append(args, "--"), more...)
	}
	if out, err := t.command(ctx, args...).CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("berth-asc in %s: %w\n%s", dir, err, bytes.TrimSpace(out))
	}
	return os.ReadFile(module)
}

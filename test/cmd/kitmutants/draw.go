package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/test/internal/mutate"
)

// sources returns patterns of the files in which mistakes of a subject are drawn, and parts
// of names that are left out: what is not in a module, or is not about the ABI. The readers of JSON in
// Go and Rust are held against abi/vectors by tests of their own; in C and AssemblyScript a guest does it.
func sources(subject string) (patterns, without []string) {
	switch subject {
	case plugins:
		return []string{
			"wasm-examples/*/c/*.[ch]", "wasm-examples/internal/everypoint/c/*.[ch]", "wasm-examples/internal/reference/c/*.h", "wasm-examples/internal/reference/c/csr/*.c",
			"wasm-examples/fgd/bestfit/c/*.c", "wasm-examples/fgd/gpushare/*.h",
		}, nil
	case golang:
		return []string{"abi/sdk/go/*.go", "abi/sdk/go/config/*.go", "abi/sdk/go/internal/guest/*.go"}, []string{"_test.go", "native"}
	case rust:
		return []string{"abi/sdk/rust/src/*.rs"}, []string{"fixtures.rs", "scan.rs"}
	case inC:
		return []string{"abi/sdk/c/berth.h"}, nil
	case assemblyscript:
		return []string{"abi/sdk/assemblyscript/assembly/*.ts"}, nil
	}
	return []string{"runtime/wasm/*.go", "runtime/wasm/mirror/*.go", "runtime/wasm/sandbox/*.go", "runtime/wasm/encoding/*.go"},
		[]string{"_test.go", "fuel", "fault.go", "log.go", "status.go", "gauges.go", "compile.go", "limits.go", "allowance.go", "prices.go", "runtime.go", "native.go", "measure.go", "share.go", "doc.go"}
}

// draw prints a list of n mistakes of each subject. Those that do not compile, or that change
// no module, are not in it.
func (w *work) draw(ctx context.Context, names []string, n int, seed uint64, stdout io.Writer) error {
	fmt.Fprintf(stdout, "# Mistakes drawn by operators: kitmutants -draw %d -seed %d.\n", n, seed)
	for _, subject := range names {
		patterns, without := sources(subject)
		var files []string
		for _, pattern := range patterns {
			paths, err := filepath.Glob(filepath.Join(w.top, filepath.FromSlash(pattern)))
			if err != nil {
				return err
			}
		next:
			for _, path := range paths {
				for _, part := range without {
					if strings.Contains(filepath.Base(path), part) {
						continue next
					}
				}
				rel, err := filepath.Rel(w.top, path)
				if err != nil {
					return err
				}
				files = append(files, filepath.ToSlash(rel))
			}
		}
		all, err := mutate.Draw(w.top, subject, files, seed)
		if err != nil {
			return err
		}
		for found := 0; found < n && len(all) > 0; all = all[1:] {
			outcome, err := w.find(ctx, &all[0])
			if err != nil && !errors.Is(err, errBuild) {
				return err
			}
			if err != nil || !outcome.changed {
				continue
			}
			found++
			text, err := yaml.Marshal([]mutate.Change{all[0]})
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(stdout, "# %s\n%s", escape(outcome.String()), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// differs reports whether a guest's module is another one with the mistake. A sample has no time to build the right ones, but
// in C, where building is quicker than checking.
func (w *work) differs(ctx context.Context, language string, g *guest, env []string) (bool, error) {
	if w.budget > 0 && language != inC {
		return true, w.build(ctx, language, g, w.root(language), env)
	}
	right, err := w.rightOne(ctx, language, g)
	if err != nil {
		return false, err
	}
	if err := w.build(ctx, language, g, w.root(language), env); err != nil {
		return false, err
	}
	code, err := os.ReadFile(w.module())
	return !bytes.Equal(code, right), err
}

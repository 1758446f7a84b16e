// Command amalgamate writes berth.h: the parts in src, in the order in which all.h
// names them, as one file that an author can copy.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

//go:generate go run . -src ../src -out ../berth.h

const head = `// Code generated from src by go generate ./abi/sdk/c/...; DO NOT EDIT.

// Berth's C SDK: this one file, for clang and wasm-ld, without a library. README.md tells how to use
// it, abi/SPEC.md what goes over the wire. Names that begin with berth__ or BERTH__ are the SDK's own.
//
// SPDX-License-Identifier: Apache-2.0

`

var include = regexp.MustCompile(`(?m)^#include "([^"]+)"\n`)

func main() {
	src := flag.String("src", "src", "`folder` of the parts")
	out := flag.String("out", "berth.h", "`file` to write")
	flag.Parse()
	text, err := amalgamate(*src)
	if err == nil {
		err = os.WriteFile(*out, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "amalgamate:", err)
		os.Exit(1)
	}
}

// amalgamate returns all.h with the parts in it.
func amalgamate(src string) ([]byte, error) {
	all, err := os.ReadFile(filepath.Join(src, "all.h"))
	if err != nil {
		return nil, err
	}
	var missing error
	all = include.ReplaceAllFunc(all, func(line []byte) []byte {
		name := string(include.FindSubmatch(line)[1])
		part, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			missing = err
		}
		return bytes.Join([][]byte{[]byte("// ---- " + name + "\n"), part, nil}, []byte("\n"))
	})
	return append([]byte(head), all...), missing
}

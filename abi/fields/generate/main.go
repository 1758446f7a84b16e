// Command generate writes what is generated from the table of package fields: the ids of package abi, the tables of abi/SPEC.md, and
// the constants of the SDKs in other languages. It runs in the folder of package fields.
package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	for _, f := range files() {
		path := filepath.Join("..", f.path)
		before, err := os.ReadFile(path)
		if err == nil {
			var after string
			if after, err = f.renewed(string(before)); err == nil && after != string(before) {
				err = os.WriteFile(path, []byte(after), 0o644)
			}
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "generate %s: %v\n", f.path, err)
			os.Exit(1)
		}
	}
}

// file is a file below abi with parts that are generated.
type file struct {
	path  string
	parts []part
}

// part is the text between two others of a file. The first of these occurs once; if the second is empty, the text ends the file.
type part struct{ after, until, text string }

// renewed returns the file with its parts replaced.
func (f *file) renewed(content string) (string, error) {
	for _, p := range f.parts {
		before, rest, ok := strings.Cut(content, p.after)
		_, end, found := strings.Cut(rest, p.until)
		if p.until == "" {
			end = ""
		}
		if !ok || !found || strings.Contains(rest, p.after) {
			return "", fmt.Errorf("it does not have %q once, followed by %q", p.after, p.until)
		}
		content = before + p.after + p.text + p.until + end
	}
	if filepath.Ext(f.path) == ".go" {
		formatted, err := format.Source([]byte(content))
		return string(formatted), err
	}
	return content, nil
}

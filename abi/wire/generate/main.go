// Command generate writes the reference of manifests, docs/manifest.md, and their JSON Schema, from the tables of package fields and
// the structure that package wire reads. It runs in its own folder.
package main

//go:generate go run .

import (
	"fmt"
	"os"
)

func main() {
	for path, text := range map[string]string{
		"../../sdk/manifest.schema.json": manifestSchema(),
		"../../../docs/manifest.md":      page(),
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "generate: %v\n", err)
			os.Exit(1)
		}
	}
}

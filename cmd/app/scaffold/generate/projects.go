package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/berth-scheduler/berth/abi/sdk/c/clang"
	"github.com/berth-scheduler/berth/cmd/app/scaffold"
)

// block is a file that is the n-th block of a kind in a tutorial.
type block struct {
	path string
	kind string
	n    int
	// from is the SDK whose tutorial has it; the project's own if it is empty.
	from string
	// named are the places where the plugin's name is, with what stands there instead.
	named []string
}

// text returns the block, with the words for names.
func (b *block) text(dir string) (string, error) {
	if b.from != "" {
		dir = b.from
	}
	readme, err := os.ReadFile(filepath.Join(top, "abi", "sdk", dir, "README.md"))
	if err != nil {
		return "", err
	}
	all := regexp.MustCompile("(?ms)^```"+b.kind+"\n(.*?)^```$").FindAllSubmatch(readme, -1)
	if b.n >= len(all) {
		return "", fmt.Errorf("the tutorial has %d blocks of %q", len(all), b.kind)
	}
	text := string(all[b.n][1])
	for i := 0; i < len(b.named); i += 2 {
		if !strings.Contains(text, b.named[i]) {
			return "", fmt.Errorf("block %d of %q does not have %q", b.n, b.kind, b.named[i])
		}
		text = strings.ReplaceAll(text, b.named[i], b.named[i+1])
	}
	return text, nil
}

// manifestName is the name in a manifest, before which a project has the schema for editors.
func manifestName() []string {
	return []string{`"name": "maintenance"`, `"$schema": "./manifest.schema.json",` + "\n  " + `"name": "@NAME@"`}
}

// rustTest is a test that any plugin passes.
const rustTest = `//! Tests of the plugin as native code, for cargo test. What it decides is in testdata, for berth plugin test.

use @IDENT@::Maintenance;
use berth::testing::{Native, TestHost};
use std::rc::Rc;

#[test]
fn starts() {
    Native::<Maintenance>::new(Rc::new(TestHost::default())); // panics if the manifest lacks a name that it looks up
}
`

// tsconfig has editors know the types of AssemblyScript, and find the SDK.
const tsconfig = `{
  "extends": "./berth/node_modules/assemblyscript/std/assembly.json",
  "compilerOptions": {"paths": {"@berth-scheduler/sdk": ["./berth/index.ts"]}},
  "include": ["./assembly/**/*.ts"]
}
`

// scenario is that of all tutorials.
func scenario() block {
	return block{path: "testdata/nodes.txt", kind: "text", from: "rust"}
}

func projects() []project {
	const goImport, goImports = `"example.com/maintenance"` + "\n", `"example.com/@NAME@"` + "\n"
	return []project{
		{
			language: "go", dir: "go", name: "Go",
			blocks: []block{
				{path: "manifest.json", kind: "json", named: manifestName()},
				{path: "@IDENT@.go", kind: "go", named: []string{"package maintenance", "package @IDENT@", "Package maintenance", "Package @IDENT@"}},
				{path: "@IDENT@_test.go", kind: "go", n: 1, named: []string{
					goImport, "@IDENT@ " + goImports, "package maintenance_test", "package @IDENT@_test", "maintenance.", "@IDENT@.",
				}},
				{path: "guest/main.go", kind: "go", n: 2, named: []string{goImport, "@IDENT@ " + goImports, "maintenance.", "@IDENT@."}},
				scenario(),
			},
			texts: map[string]string{
				".gitignore": "*.wasm\n",
				"go.mod": "module example.com/@NAME@\n\ngo 1.26.0\n\nrequire github.com/berth-scheduler/berth v" + scaffold.Version +
					"\n\nreplace github.com/berth-scheduler/berth => ./berth\n",
				"berth/go.mod": "module github.com/berth-scheduler/berth\n\ngo 1.26.0\n",
			},
			beside: []string{"abi/*.go", "abi/fieldpath/*.go", "abi/fields/*.go", "abi/internal/region/*.go", "abi/schema/*.go",
				"abi/wire/*.go", "internal/nearest/*.go", "internal/plain/*.go"},
			folder: "berth",
			files:  "| `@IDENT@.go` | the plugin |\n| `guest/main.go` | the module's exports |\n| `@IDENT@_test.go` | runs the scenarios natively |",
			test:   "go test ./...\nberth plugin test .", toolchain: "Go 1.26 or newer",
		},
		{
			language: "rust", dir: "rust", name: "Rust",
			blocks: []block{
				{path: "manifest.json", kind: "json", named: manifestName()},
				{path: "Cargo.toml", kind: "toml", named: []string{`name = "maintenance"`, `name = "@NAME@"`, `"../berth/abi/sdk/rust" }`,
					"\"berth\" }\n\n[dev-dependencies]\nberth = { path = \"berth\", features = [\"testing\"] }",
				}},
				{path: "src/lib.rs", kind: "rust"},
				scenario(),
			},
			texts:  map[string]string{".gitignore": "/target/\n*.wasm\n", "tests/plugin.rs": rustTest},
			folder: "berth",
			files:  "| `src/lib.rs` | the plugin |\n| `tests/plugin.rs` | a native test, for cargo test |",
			test:   "cargo test\nberth plugin test .",
			setup:  "      - run: rustup target add wasm32-unknown-unknown\n",
			toolchain: "a Rust toolchain for wasm32: on Debian and Ubuntu\n`apt-get install rustc cargo libstd-rust-dev-wasm32 lld`, " +
				"or with rustup `rustup target add wasm32-unknown-unknown`",
		},
		{
			language: "c", dir: "c", name: "C",
			blocks: []block{
				{path: "manifest.json", kind: "json", named: manifestName()},
				{path: "plugin.c", kind: "c"},
				scenario(),
			},
			texts: map[string]string{
				".gitignore":        "*.wasm\n",
				"compile_flags.txt": strings.Join(append(clang.Flags(), "-I.", "-I.."), "\n") + "\n",
				"Makefile": "# The plugin, and its test.\n\n@NAME@.wasm: plugin.c manifest.json berth.h\n\tberth plugin build . -o $@\n\n" +
					".PHONY: test\ntest:\n\tberth plugin test .\n",
			},
			files: "| `plugin.c` | the plugin |\n| `Makefile` | `make`, and `make test` |\n" +
				"| `compile_flags.txt` | with this, clangd understands the plugin |",
			setup: "      - run: sudo apt-get update && sudo apt-get install -y clang lld\n",
			test:  "berth plugin test .", toolchain: "clang and wasm-ld: on Debian and Ubuntu `apt-get install clang lld`",
		},
		{
			language: "assemblyscript", dir: "assemblyscript", name: "AssemblyScript",
			blocks: []block{
				{path: "package.json", kind: "json", named: []string{
					`"name": "maintenance"`, `"name": "@NAME@"`, "../berth/abi/sdk/assemblyscript", "./berth",
					`"private": true,`, "\"private\": true,\n  \"scripts\": {\"build\": \"berth plugin build .\", \"test\": \"berth plugin test .\"},",
				}},
				{path: "manifest.json", kind: "json", n: 1, named: manifestName()},
				{path: "assembly/index.ts", kind: "ts"},
				scenario(),
			},
			texts:  map[string]string{".gitignore": "node_modules/\n*.wasm\n", "tsconfig.json": tsconfig},
			folder: "berth",
			files:  "| `assembly/index.ts` | the plugin |\n| `tsconfig.json` | with this, editors understand the plugin |",
			setup:  "      - run: npm ci --prefix berth\n",
			test:   "npm ci --prefix berth\nberth plugin test .",
			toolchain: "Node.js 18 or newer with npm, on Debian and Ubuntu `apt-get install nodejs npm`, and\nthe compiler: " +
				"`npm ci --prefix berth`, once",
		},
	}
}

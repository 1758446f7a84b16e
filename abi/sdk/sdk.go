// Package sdk has the sources of the SDKs, which `berth plugin new` copies beside a new
// project, and the JSON Schema of manifests. They are embedded in place, so that there is no second copy to keep up to date; the
// folders below are packages and projects of their own.
package sdk

import "embed"

// Sources are the files of the SDKs, including tests of Go packages. Packages outside this
// folder are missing: abi, abi/wire and internal/plain.
//
//go:embed manifest.schema.json
//go:embed go/README.md c/README.md assemblyscript/README.md
//go:embed go/*.go go/berthtest/*.go go/config/*.go go/export/*/*.go go/internal/*/*.go
//go:embed rust/Cargo.toml rust/README.md rust/src/*.rs rust/src/json/*.rs rust/src/testing/*.rs
//go:embed c/berth.h
//go:embed assemblyscript/package.json assemblyscript/package-lock.json assemblyscript/index.ts
//go:embed assemblyscript/assembly/*.ts assemblyscript/bin/*.mjs
var Sources embed.FS

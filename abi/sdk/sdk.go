// Package sdk has the sources of the SDKs, which `berth plugin new` lays beside a
// new project. They are embedded from where they are, so that there is no copy to
// keep current; the folders below are packages and projects of their own.
package sdk

import "embed"

// Sources is the files of the SDKs, with tests of Go packages among them. What
// lies outside of this folder is missing: packages abi, abi/wire and internal/plain.
//
//go:embed go/*.go go/berthtest/*.go go/config/*.go go/export/*/*.go go/internal/guest/*.go
//go:embed rust/Cargo.toml rust/README.md rust/src/*.rs rust/src/json/*.rs rust/src/testing/*.rs
//go:embed c/berth.h
//go:embed assemblyscript/package.json assemblyscript/package-lock.json assemblyscript/index.ts
//go:embed assemblyscript/assembly/*.ts assemblyscript/bin/*.mjs
var Sources embed.FS

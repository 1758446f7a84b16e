// Package wasm runs plugins that are WebAssembly modules. A Plugin implements the extension
// points: it prepares instances for a cycle, calls them in batches, checks their answers, and
// turns whatever goes wrong in a guest into a fault of that plugin.
//
// Its subfolders have the parts that know no Plugin: package sandbox runs a module within
// limits, mirror keeps the declared columns of the snapshot up to date in guest memory,
// memory divides memory among plugins and instances, breaker stops calls of a plugin that
// fails too often, and fault says what went wrong.
//
// The layout of what guests see is in abi/SPEC.md; comments cite it as ABI-x.y.
package wasm

// Package wasm runs plugins that are WebAssembly modules: it loads and compiles
// a module, keeps the declared columns of the snapshot up to date in the memory
// of its instances, calls its points in batches, and turns whatever goes wrong
// in a guest into a Fault of that plugin.
//
// The layout of what guests see is abi/SPEC.md; comments cite it as ABI-x.y.
package wasm

// Package wasm runs plugins that are WebAssembly modules: it loads and compiles
// a module, calls its points in batches, checks what it answers, and turns
// whatever goes wrong in a guest into a Fault of that plugin. Package mirror
// keeps the declared columns of the snapshot up to date in the memory of its
// instances.
//
// The layout of what guests see is abi/SPEC.md; comments cite it as ABI-x.y.
package wasm

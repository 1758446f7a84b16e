// Package tck holds the host of this repository against the conformance kit of the
// ABI. It is apart from package wasm, which does not know the kit, and has tests
// only.
package tck

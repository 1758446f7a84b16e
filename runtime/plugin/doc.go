// Package plugin defines scheduling plugins: one small interface for each extension point, the
// statuses that plugins return, and the directives by which they act. A plugin implements the
// interfaces of its points; native and WASM plugins have the same form.
//
// Per-node points are batched: a call gets a set of rows of the snapshot and sets one answer
// per row. PerNodeFilter and PerNodeScore adapt a function that judges one node.
package plugin

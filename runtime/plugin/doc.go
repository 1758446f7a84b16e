// Package plugin defines what a scheduling plugin is: one small interface for
// each extension point, the statuses that plugins answer with, and the directives
// by which they act. A plugin implements the interfaces of the points that it
// takes part in; native and WASM plugins have the same shape.
//
// Per-node points are batched: a call gets a set of rows of the snapshot and
// fills one answer per row. PerNodeFilter and PerNodeScore adapt a function that
// judges one node.
package plugin

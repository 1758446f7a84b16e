// Package hosttest runs the conformance kit on Berth's scheduler as a whole and on the example
// plugins. It is separate, so that the kit depends on neither. runtime/wasm/tck runs the kit on
// package wasm alone.
package hosttest

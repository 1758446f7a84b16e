// Package hosttest runs the conformance kit against Berth's scheduler as a whole, and against
// the example plugins, apart from the kit, so that the kit depends on neither. What package
// wasm alone does is checked against it in runtime/wasm/tck.
package hosttest

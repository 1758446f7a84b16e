// Package berth is the Go SDK for plugins of the Berth scheduler. A plugin is a
// struct that embeds [Base] and has a method for each extension point that it
// takes part in, such as
//
//	Filter(pod berth.Pod, node berth.Node) berth.Status
//	Score(pod berth.Pod, node berth.Node) int64
//
// The same code runs in three places: as a WebAssembly module, built with the
// standard Go toolchain and the packages below export; natively in the author's
// tests, with package berthtest; and natively in the scheduler, as a [Native].
//
// Pods and nodes are views of columns in the memory that the host fills
// (abi/SPEC.md). Reading them does not allocate and copies nothing, so a view,
// and a string or slice that it returned, is valid until the call returns. A
// plugin must not keep anything from one call to the next that changes a result:
// the host may use a fresh instance for any call.
//
// What a plugin reads is listed in its manifest. Reading what the manifest does
// not list panics, which the host reports as a fault of the plugin.
package berth

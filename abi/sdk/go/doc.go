// Package berth is the Go SDK for plugins of the Berth scheduler. A plugin is a
// struct that embeds [Base] and has a method for each extension point that it
// takes part in, such as
//
//	Filter(pod berth.Pod, node berth.Node) berth.Status
//	Score(pod berth.Pod, node berth.Node) int64
//	Reserve(pod berth.Pod, node berth.Node) berth.Status
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
//
// # Directives
//
// What a plugin wants done it asks for by methods of Base, such as
// [Base.Annotate] and [Base.Allow]. The host does it after the call, if the call
// answers Success, or Wait from Permit. The manifest lists what a plugin asks for
// in `directives`, and the user grants it. Asking for anything else, or at a point
// that does not have the directive, is a fault of the plugin, and nothing of the
// call is carried out. The host may discard directives: a plugin may be run to see
// what it would do.
//
// These methods report false, and ask for nothing, where the host would not take
// it: more than 256 directives or 65,536 bytes of their texts in a call, a text
// that is not UTF-8, an invalid value of a label. A plugin that cannot do
// without answers Error then.
//
// The functions Serve… are called by the packages below export; a plugin does not
// need them.
package berth

// Package berth is the Go SDK for plugins of the Berth scheduler. A plugin is a struct that
// embeds [Base] and has a method for each of its extension points, such as
//
//	Filter(pod berth.Pod, node berth.Node) berth.Status
//	Score(pod berth.Pod, node berth.Node) int64
//	Reserve(pod berth.Pod, node berth.Node) berth.Status
//
// The same code runs in three places: as a WebAssembly module, built with the standard Go
// toolchain and the packages below export; natively in the author's tests, with package
// berthtest; and natively in the scheduler, as a [Native].
//
// Pods and nodes are views of columns in memory that the host fills (abi/SPEC.md). Reading them
// does not allocate or copy, so a view, and a string or slice from it, is valid only until the
// call returns. Results must not depend on earlier calls: the host may use a fresh instance for
// any call.
//
// The manifest lists what a plugin reads. Reading anything else panics, which the host reports
// as a fault of the plugin.
//
// # Directives
//
// A plugin requests effects with methods of Base, such as [Base.Annotate] and [Base.Allow]. The
// host carries them out after the call, if the call returns Success, or Wait from Permit. The
// manifest lists them in `directives`, and the user grants them. Any other directive, or one at
// a point that does not have it, is a fault of the plugin, and nothing of the call is carried
// out. The host may discard directives, for example in a dry run.
//
// These methods return false, and request nothing, if the host would not accept it: more than
// 256 directives or 65,536 bytes of their texts in a call, a text that is not UTF-8, an invalid
// label value. A plugin that cannot continue without the effect should then return Error.
//
// The functions Serve… are called by the packages below export; a plugin does not need them.
package berth

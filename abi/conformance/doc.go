// Package conformance reports whether a host or a guest does what SPEC.md says.
//
// Run plays cases against a Host: each loads modules, makes calls about a small cluster, and
// checks what the host made of the answers against what the sentences that it cites say. Check
// does the same for a guest: it takes the host's place, generates what the manifest declares to
// read, and calls every point over and over in instances that number things differently.
//
// Neither knows how the other side is made; both are reached through small interfaces. The
// cases and the modules of Run are files of testdata that tools in other languages can read.
package conformance

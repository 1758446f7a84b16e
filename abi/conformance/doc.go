// Package conformance checks whether a host or a guest does what SPEC.md says.
//
// Run plays cases against a Host: each case loads modules, makes calls about a small cluster,
// and compares what the host made of the answers with the sentences that the case cites. Check
// does the same for a guest: it acts as the host, generates what the manifest declares to read,
// and calls every point many times in instances that number things differently.
//
// Neither depends on the implementation of the other side; both sides are small interfaces. The
// cases and modules of Run are files in testdata that tools in other languages can read.
package conformance

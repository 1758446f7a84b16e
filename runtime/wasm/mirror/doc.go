// Package mirror keeps what a plugin declared of a snapshot in the memory of its
// instances: columns, strings and the record of the pod to be placed (ABI-3, ABI-4,
// ABI-6). It writes bytes at places of a layout; what runs in that memory, and what is
// read back from it, is package wasm's.
//
// A Projection says what a plugin sees. A Source is what several mirrors share: the
// plugin's dictionary, the pod's record, and how large regions have to be. A Mirror is the
// region of one instance: Sync writes the rows that changed.
package mirror

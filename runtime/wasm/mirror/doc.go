// Package mirror keeps what a plugin declared of a snapshot in the memory of its instances:
// columns, strings and the record of the pod to be placed (ABI-3, ABI-4, ABI-6). It writes
// bytes into a layout. Package wasm runs the guests and reads their answers.
//
// A Projection says what a plugin sees. A Source is what several mirrors share: the plugin's
// dictionary, the pod's record, and how large regions must be. A Mirror is the region of one
// instance; Sync writes the rows that changed.
package mirror

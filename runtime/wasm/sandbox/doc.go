// Package sandbox runs one module: it checks and compiles the code, makes instances of it,
// and calls their functions with fuel, a deadline and a bounded memory. The host functions
// that a guest calls are the caller's; the sandbox charges for them. It knows nothing of
// snapshots, pods and scheduling cycles.
package sandbox

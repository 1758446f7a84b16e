package conformance

import (
	"context"
)

// Guest is the plugin under Check. It makes instances.
type Guest interface {
	// New makes an instance: it calls _initialize if there is one, and gets the expected version
	// from berth_abi. f implements its host functions.
	New(ctx context.Context, f Functions) (Instance, error)
	// Exports reports whether the guest has a function.
	Exports(name string) bool
}

// Instance is a running instance of a plugin. It belongs to one goroutine, and is not called
// again after an error.
type Instance interface {
	// Memory returns the linear memory; it is invalid after the next call.
	Memory() []byte
	// Alloc calls berth_alloc.
	Alloc(ctx context.Context, size, align uint32) (uint32, error)
	// Configure calls berth_configure.
	Configure(ctx context.Context, address, length uint32) (int32, error)
	// Call calls the function of a point; lo and hi are ignored for a function with one
	// parameter. An error is a trap.
	Call(ctx context.Context, export string, call, lo, hi uint32) (int32, error)
	// Close frees the instance.
	Close(ctx context.Context) error
}

// Functions are the host functions of an instance (ABI-7), which the kit implements. Returned
// values must not be changed.
type Functions interface {
	Log(level int, text string)
	StateGet(key string) ([]byte, bool)
	StateSet(key string, value []byte) bool
	PublishedGet(index uint32) ([]byte, bool)
	PodObject(index uint32) ([]byte, bool)
	NodeObject(row uint32) ([]byte, bool)
}

// Options say what Check does beyond the manifest.
type Options struct {
	// Module is the module to check against the manifest; nil for native code.
	Module []byte
	// Config is the configuration as JSON; nil means {}.
	Config []byte
	// Namespaces are the ones that the plugin is attached to; empty means all.
	Namespaces []string
	// Seed is the seed for clusters and pods.
	Seed uint64
	// Cycles is how many pods are placed in each way; 0 means 60. From 60 on there
	// are three more, with up to 1,500 nodes.
	Cycles int
	// Hints are strings that are meaningful to the plugin, besides those in the configuration:
	// label values, names of namespaces. `key=value` is a value of the label or annotation key,
	// if the manifest declares to read it or all labels: pods in large clusters have only such annotations.
	Hints []string
	// Published has values of keys that the manifest lists in reads.published; a key without a
	// value is not published.
	Published map[string][]byte
}

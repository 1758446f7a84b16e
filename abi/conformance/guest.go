package conformance

import (
	"context"
)

// Guest is what Check tests: it makes instances of one plugin.
type Guest interface {
	// New makes an instance: it has called _initialize if there is one, and got the
	// version that it wants of berth_abi. f is what its host functions work on.
	New(ctx context.Context, f Functions) (Instance, error)
	// Exports reports whether the guest has a function.
	Exports(name string) bool
}

// Instance is a running copy of a plugin. It belongs to one goroutine, and is not
// called again after an error.
type Instance interface {
	// Memory returns the linear memory; a view is stale after the next call.
	Memory() []byte
	// Alloc is berth_alloc.
	Alloc(ctx context.Context, size, align uint32) (uint32, error)
	// Configure is berth_configure.
	Configure(ctx context.Context, address, length uint32) (int32, error)
	// Call calls the function of a point; lo and hi do not count where it has one
	// parameter. An error is a trap.
	Call(ctx context.Context, export string, call, lo, hi uint32) (int32, error)
	// Close frees the instance.
	Close(ctx context.Context) error
}

// Functions are the host functions of an instance (ABI-7), which the kit serves.
// Values that they return are read only.
type Functions interface {
	Log(level int, text string)
	StateGet(key string) ([]byte, bool)
	StateSet(key string, value []byte) bool
	PublishedGet(index uint32) ([]byte, bool)
	PodObject(index uint32) ([]byte, bool)
	NodeObject(row uint32) ([]byte, bool)
}

// Options are what Check does beyond what the manifest says.
type Options struct {
	// Module is the module, to be checked against the manifest; nil for native code.
	Module []byte
	// Config is the configuration as JSON; nil for {}.
	Config []byte
	// Namespaces are those that the plugin is attached to; none for all.
	Namespaces []string
	// Seed makes the clusters and pods; the same seed makes the same ones.
	Seed uint64
	// Cycles is how many pods are placed in each way; 0 means 60.
	Cycles int
	// Hints are strings that mean something to the plugin, beside those of the
	// configuration: values of labels, names of namespaces.
	Hints []string
	// Published are values of keys that the manifest lists in reads.published; a key
	// without one is not published.
	Published map[string][]byte
}

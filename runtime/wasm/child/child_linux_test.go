package child_test

import (
	"context"
	"errors"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/child"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestMemory: a module that takes more memory than it may is not used. Memory is bounded on
// Linux.
func TestMemory(t *testing.T) {
	large, err := wire.AppendCustomSection(wat.Compile(t, good, ""), "large", make([]byte, 15<<20))
	if err != nil {
		t.Fatal(err)
	}
	one := newChild(t)
	one.Memory = 28 << 20
	stopped(t.Context(), t, one, large, "took more than 28 MiB of memory and was stopped: do not use it")
	r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{Compiler: one.Compile})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	if _, err := r.Load(t.Context(), large); !errors.As(err, new(*child.MemoryError)) {
		t.Errorf("%v is no error of memory", err)
	}
}

// TestNoThread: a Go program that uses C says something else when there is no memory for
// another thread; that is the same mistake.
func TestNoThread(t *testing.T) {
	one := newChild(t)
	one.Path, one.Args = "/bin/sh", []string{"sh", "-c", "echo 'runtime/cgo: pthread_create failed: Resource temporarily unavailable' >&2; exit 2"}
	stopped(t.Context(), t, one, wat.Compile(t, good, ""), "took more than 1024 MiB of memory and was stopped: do not use it")
}

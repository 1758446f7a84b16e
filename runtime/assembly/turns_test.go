package assembly

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/runtime/wasm/child"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestSmallModuleWaitsForNoLargeOne: while a large module is compiled, a small one is, and no other.
func TestSmallModuleWaitsForNoLargeOne(t *testing.T) {
	begun, end := make(chan int, 10), make(chan struct{})
	compiler := func(_ context.Context, job *sandbox.CompileJob) error {
		begun <- len(job.Original)
		<-end
		return nil
	}
	compile := inTurn(compiler, compiler)
	done := make(chan error, 10)
	ask := func(size int) {
		go func() { done <- compile(t.Context(), &sandbox.CompileJob{Original: make([]byte, size)}) }()
	}
	ask(SmallModule + 1)
	<-begun
	ask(SmallModule + 1)
	ask(SmallModule)
	if size := <-begun; size != SmallModule {
		t.Errorf("compiles a module of %d bytes beside a large one", size)
	}
	ask(SmallModule)
	if len(begun) > 0 {
		t.Error("compiles three modules at once")
	}
	close(end)
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestSmallModuleThatNeedsMore: a small module that is not compiled with less memory is compiled with all.
func TestSmallModuleThatNeedsMore(t *testing.T) {
	var asked []string
	as := func(name string, err error) sandbox.Compiler {
		return func(context.Context, *sandbox.CompileJob) error {
			asked = append(asked, name)
			return err
		}
	}
	memory, invalid := fmt.Errorf("m: %w", &child.MemoryError{}), errors.New("invalid")
	for _, c := range []struct {
		small, all, want error
		asked            int
	}{
		{nil, invalid, nil, 1}, {invalid, nil, invalid, 1}, {memory, nil, nil, 2}, {memory, invalid, invalid, 2},
		{&sandbox.StoreError{Err: invalid}, nil, &sandbox.StoreError{Err: invalid}, 1},
	} {
		asked = nil
		err := inTurn(as("all", c.all), as("small", c.small))(t.Context(), &sandbox.CompileJob{})
		if (err == nil) != (c.want == nil) || err != nil && err.Error() != c.want.Error() || len(asked) != c.asked {
			t.Errorf("%v, after %q, want %v", err, asked, c.want)
		}
	}
	asked = nil // whether it is small is asked before it is rewritten, too, where nobody knows the result
	job := &sandbox.CompileJob{Original: make([]byte, SmallModule), Code: make([]byte, 3*SmallModule)}
	if err := inTurn(as("all", nil), as("small", nil))(t.Context(), job); err != nil || len(asked) != 1 || asked[0] != "small" {
		t.Errorf("%v, after %q", err, asked)
	}
	if inTurn(nil, nil) != nil {
		t.Error("there is a compiler of none")
	}
}

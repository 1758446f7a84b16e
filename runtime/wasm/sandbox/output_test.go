package sandbox

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero/sys"

	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// TestTail: the end of what was written is kept. Lines of the guest's log stay apart from
// pieces of its output.
func TestTail(t *testing.T) {
	var out tail
	out.line("one")
	out.line("two")
	if got := out.String(); got != "one\ntwo" {
		t.Errorf("got %q", got)
	}
	for _, piece := range []string{"pa", "nic: ", "x\n"} {
		_, _ = out.Write([]byte(piece))
	}
	out.line("three")
	if got := out.String(); got != "one\ntwo\npanic: x\nthree" {
		t.Errorf("got %q", got)
	}
	_, _ = out.Write(make([]byte, 1<<20))
	if len(out.data) > tailSize || cap(out.data) > 4*tailSize {
		t.Errorf("%d bytes are kept in %d", len(out.data), cap(out.data))
	}
}

// TestExitCodes: a guest that exits cannot make it look as if a context had ended, whatever the code.
func TestExitCodes(t *testing.T) {
	for _, code := range []uint32{0, 3, sys.ExitCodeContextCanceled, sys.ExitCodeDeadlineExceeded} {
		err := exited(fmt.Errorf("call: %w", sys.NewExitError(code)))
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%#x: %v", code, err)
		}
		kind, detail, _ := TrapOf(err)
		if want := fmt.Sprintf("module closed with exit_code(%d)", code); kind != fault.Trap || detail != want {
			t.Errorf("%#x: %s %q, want %q", code, kind, detail, want)
		}
	}
	if other := errors.New("unreachable"); !errors.Is(exited(other), other) || exited(nil) != nil {
		t.Error("another error is changed")
	}
}

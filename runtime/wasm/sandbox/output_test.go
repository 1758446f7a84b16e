package sandbox

import "testing"

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

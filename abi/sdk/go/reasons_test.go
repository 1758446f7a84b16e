package berth

import "testing"

// TestReasonOfHostMemory: a reason whose text is in the host's memory is forgotten after its
// call, although the host has written something else there by then.
func TestReasonOfHostMemory(t *testing.T) {
	r := reasons{}
	r.begin()
	memory := []byte("full")
	first := r.add([]string{str(memory)})
	copy(memory, "late")
	r.begin()
	if n := len(r.byText); n != 0 {
		t.Errorf("%d reasons are left of the last call", n)
	}
	if again := r.add([]string{"busy"}); again != first {
		t.Errorf("the first reason of a call has number %d, want %d", again, first)
	}
	if n := r.add([]string{"full"}); n != 2 || len(r.sets) != 2 {
		t.Errorf("the second reason has number %d of %d", n, len(r.sets))
	}
}

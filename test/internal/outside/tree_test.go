package outside

import (
	"strings"
	"testing"
)

// TestRename: the declaration of a function or method gets another name, nothing else does.
func TestRename(t *testing.T) {
	const src = "package p\n\nfunc Run() { Run() }\n\nfunc (s *S) Run() {}\n"
	for r, want := range map[rename]string{
		{from: "Run", to: "old"}:   "package p\n\nfunc old() { Run() }\n\nfunc (s *S) Run() {}\n",
		{from: "S.Run", to: "old"}: "package p\n\nfunc Run() { Run() }\n\nfunc (s *S) old() {}\n",
	} {
		if got, err := r.apply([]byte(src)); err != nil || string(got) != want {
			t.Errorf("%v: got %s, %v", r, got, err)
		}
	}
	if _, err := (rename{file: "p.go", from: "T.Run"}).apply([]byte(src)); err == nil || !strings.Contains(err.Error(), "k8s.io/kubernetes/p.go has no function T.Run") {
		t.Errorf("got %v", err)
	}
}

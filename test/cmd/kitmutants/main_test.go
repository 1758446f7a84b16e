package main

import (
	"path/filepath"
	"testing"

	"github.com/berth-scheduler/berth/test/internal/mutate"
)

// TestList: each mistake can still be made, once, and compiles, and there are enough of each subject.
func TestList(t *testing.T) {
	all, err := mutate.Read(list)
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for i := range all {
		if _, err := all[i].Apply(top); err != nil {
			t.Error(err)
		}
		of[all[i].Subject]++
	}
	if err := mutate.Compile(top, all); err != nil {
		t.Error(err)
	}
	for _, subject := range subjects() {
		if of[subject] < 20 {
			t.Errorf("%s has %d mistakes, want 20 at least", subject, of[subject])
		}
	}
}

package main

import (
	"path/filepath"
	"testing"

	"github.com/berth-scheduler/berth/test/internal/mutate"
)

// TestList: each mistake can still be made, once, and there are enough of each subject.
func TestList(t *testing.T) {
	all, err := mutate.Read(list)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for i := range all {
		if _, err := all[i].Apply(filepath.Join("..", "..", "..")); err != nil {
			t.Error(err)
		}
		of[all[i].Subject]++
	}
	for _, subject := range subjects() {
		if of[subject] < 20 {
			t.Errorf("%s has %d mistakes, want 20 at least", subject, of[subject])
		}
	}
}

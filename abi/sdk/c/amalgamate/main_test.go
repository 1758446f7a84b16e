package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCurrent: berth.h is up to date with src.
func TestCurrent(t *testing.T) {
	want, err := amalgamate("../src")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../berth.h")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("berth.h is out of date: run go generate ./abi/sdk/c/...")
	}
}

// TestParts: all parts are in all.h, and each is a short file.
func TestParts(t *testing.T) {
	all, err := os.ReadFile("../src/all.h")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob("../src/*.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range parts {
		name := filepath.Base(path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(all), `#include "`+name+`"`); n != 1 && name != "all.h" {
			t.Errorf("all.h includes %s %d times", name, n)
		}
		const most = 300
		if lines := bytes.Count(text, []byte("\n")); lines > most {
			t.Errorf("%s has %d lines, more than %d: split it", name, lines, most)
		}
		if bytes.Contains(text, []byte("\t")) || bytes.Contains(text, []byte(" \n")) {
			t.Errorf("%s has tabs, or spaces at the end of a line", name)
		}
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAgain: a test that passes alone is named and is no failure, and one that fails again is one, as are more than there may be.
func TestAgain(t *testing.T) {
	for name, c := range map[string]struct {
		again       int
		body        string
		fails       bool
		says, never string
	}{
		"passes alone": {again: 1, body: "once(t)", says: "uneven: . TestIt/inner failed, and passed when it ran", never: "failed: "},
		"fails again":  {again: 1, body: `t.Error("always")`, fails: true, says: "failed: . TestIt/inner: it_test.go", never: "uneven: "},
		"others did not run": {
			again: 1, body: "once(t); if t.Failed() { panic(1) }", fails: true, says: "failed: . TestIt/inner: ", never: "again, alone",
		},
		"not asked for": {body: "once(t)", fails: true, says: "failed: . TestIt/inner: ", never: "again, alone"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"go.mod": "module it\n\ngo 1.25\n", "it_test.go": `package it

import ("os"; "testing")

func TestIt(t *testing.T) { t.Run("inner", func(t *testing.T) { ` + c.body + ` }) }

func TestOther(*testing.T) {}

func once(t *testing.T) {
	if os.Mkdir("was", 0o755) == nil {
		t.Error("the first time")
	}
}
`} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			var out bytes.Buffer
			r := newReport(&out)
			err := run(r, limits{cpu: time.Hour, idle: time.Hour, again: c.again}, []string{"."}, "", []string{"-count=1", "-vet=off", "-run=."})
			if (err != nil) != c.fails || !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), c.never) {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}

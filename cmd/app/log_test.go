package app

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// TestNoPointers: no line of the log has an address of memory, whatever is logged.
func TestNoPointers(t *testing.T) {
	text := "as it is"
	for _, json := range []bool{false, true} {
		var out bytes.Buffer
		log, err := (&moduleOptions{log: "info", json: json}).logger(&out)
		if err != nil {
			t.Fatal(err)
		}
		log.Warn("reconciled", "differences", []cache.Difference{{Key: "k", Actual: &text}}, "pointer", &text, "map", map[string]*string{"a": &text},
			"function", func() {}, "channel", make(chan int), "list", []string{"a"}, "error", errors.New("no"), "nothing", nil)
		if line := out.String(); regexp.MustCompile(`0x[0-9a-f]+|0xc0`).MatchString(line) || strings.Count(line, text) != 3 || !strings.Contains(line, "no") {
			t.Errorf("json %v: %s", json, line)
		}
	}
}

// TestLogOfNames: a text of a type of its own is written once, without quotes of JSON in it.
func TestLogOfNames(t *testing.T) {
	for _, json := range []bool{false, true} {
		var out bytes.Buffer
		log, err := (&moduleOptions{log: "info", json: json}).logger(&out)
		if err != nil {
			t.Fatal(err)
		}
		log.Info("plugin fault", "kind", fault.OutOfFuel, "long", fault.Kind(strings.Repeat("\x1bx", 1<<20)))
		line := out.String()
		if want := map[bool]string{false: ` kind=out-of-fuel `, true: `"kind":"out-of-fuel"`}[json]; !strings.Contains(line, want) || len(line) > 3*maxAttr {
			t.Errorf("json %v: %d bytes: %.200s", json, len(line), line)
		}
	}
}

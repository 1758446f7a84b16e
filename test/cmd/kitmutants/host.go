package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/berth-scheduler/berth/test/internal/mutate"
)

// cases are tests of the host.
type cases struct {
	name string
	args []string
}

// all returns the cases: those that the kit has for every host, which cite SPEC.md, and those
// that Berth has for what is not in SPEC.md, such as what it keeps between calls.
func all() []cases {
	return []cases{
		{"host case", []string{"-run", "^TestHost$", "./runtime/wasm/tck"}},
		{"host case", []string{"-skip", "^TestExamples$", "./abi/conformance/internal/hosttest"}}, // a part of TestRestExamples
		{"test of runtime/wasm", []string{
			"-skip", "^TestRest(Incremental|LogOfEveryCall|MemoryTotal|Modules)$", "./runtime/wasm", "./runtime/wasm/mirror", "./runtime/wasm/encoding",
		}},
		{"test of runtime/assembly", []string{"-run", "^TestRequired", "./runtime/assembly"}},
	}
}

var failedTests = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

var failedCase = regexp.MustCompile(`(?m)^\s+--- FAIL: \w+/(\S+/\S+)`)

// natively returns what finds mistakes in the Go SDK without a module: what plugin test runs
// besides one, and what plugin conformance checks.
func natively() []cases {
	return []cases{
		{"plugin test", []string{
			"./wasm-examples/internal/everypoint", "./wasm-examples/internal/reference", "./wasm-examples/noisyneighbour", "./wasm-examples/tenantpool",
			"./wasm-examples/gang", "./wasm-examples/devices", "./wasm-examples/zonecost",
		}},
		{"plugin conformance", []string{"-run", "^TestCheckPassesGoodGuests$", "./abi/conformance"}},
	}
}

// byCases runs tests with a mistake in what they test, and returns which found it.
func (w *work) byCases(ctx context.Context, c *mutate.Change, all []cases) (outcome, error) {
	overlay, err := c.Overlay(w.top, w.folder)
	if err != nil {
		return outcome{}, err
	}
	for _, cases := range all {
		args := append([]string{"test", "-overlay", overlay, "-vet=off", "-ldflags=-w", "-failfast", "-timeout", "4m"}, cases.args...)
		out, failed, err := w.run(ctx, w.top, nil, "go", args...)
		switch {
		case err != nil:
			return outcome{}, err
		case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
			return outcome{}, fmt.Errorf("%w:\n%s", errBuild, out)
		case failed:
			says := "it panics, or does not end"
			if m := failedTests.FindStringSubmatch(out); m != nil {
				says = m[1]
			}
			if m := failedCase.FindStringSubmatch(out); m != nil {
				says = strings.ReplaceAll(m[1], "_", " ")
			}
			return outcome{changed: true, by: cases.name, says: says}, nil
		}
	}
	return outcome{changed: true}, nil
}

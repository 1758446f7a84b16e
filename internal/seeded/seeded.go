// Package seeded is how property tests draw: with the same seed each time, or with the one that the environment names.
package seeded

import (
	"flag"
	"fmt"
	"hash/maphash"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"pgregory.net/rapid"
)

// Variable names the seed: a number from 1, or "random" for a new one. Without it the seed is 1.
const Variable = "BERTH_TEST_SEED"

// Check is rapid.Check with the seed of Variable (-rapid.seed goes before it), without rapid's files of failures. When
// prop fails, the command that repeats it is in the log.
func Check(t rapid.TB, prop func(*rapid.T)) {
	t.Helper()
	seed, err := prepare()
	if err != nil {
		t.Fatalf("%v", err)
	}
	pc, _, _, _ := runtime.Caller(1)
	caller := runtime.FuncForPC(pc).Name()
	defer func() {
		if t.Failed() {
			t.Logf("to repeat it: %s", command(seed, caller, t.Name()))
		}
	}()
	rapid.Check(t, prop)
}

// prepare sets rapid's flags, once in a process, so that tests beside each other only read them.
var prepare = sync.OnceValues(func() (string, error) {
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		return "", err
	}
	given := flag.Lookup("rapid.seed").Value
	if given.String() != "0" {
		return given.String(), nil
	}
	seed, err := parse(os.Getenv(Variable))
	if err != nil {
		return "", err
	}
	return seed, given.Set(seed)
})

// parse returns the seed that a value of Variable stands for.
func parse(s string) (string, error) {
	switch s {
	case "":
		return "1", nil
	case "random":
		return strconv.FormatUint(new(maphash.Hash).Sum64()|1, 10), nil
	}
	if n, err := strconv.ParseUint(s, 10, 64); err != nil || n == 0 {
		return "", fmt.Errorf("%s=%q: want a number from 1 to 2^64-1, or random", Variable, s)
	}
	return s, nil
}

// command returns what repeats the test of that name, which the function caller is in.
func command(seed, caller, test string) string {
	slash := strings.LastIndex(caller, "/") + 1
	last, _, _ := strings.Cut(caller[slash:], ".")
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	s := fmt.Sprintf("%s=%s go test %s -count=1 -run '%s'", Variable, seed,
		caller[:slash]+strings.TrimSuffix(last, "_test"), strings.Join(parts, "/"))
	if f := flag.Lookup("rapid.checks"); f.Value.String() != f.DefValue {
		s += " -rapid.checks=" + f.Value.String()
	}
	return s
}

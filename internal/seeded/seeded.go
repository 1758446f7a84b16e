// Package seeded is how property tests draw: with the same seed each time, or with the one that the environment names.
package seeded

import (
	"flag"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

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

// Rand returns a source of random numbers with the seed that Check draws with. Goroutines may share it; the order in which
// they draw is then their own.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	text, err := prepare()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	pc, _, _, _ := runtime.Caller(1)
	caller := runtime.FuncForPC(pc).Name()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat it: %s", command(text, caller, t.Name()))
		}
	})
	return rand.New(&shared{source: rand.NewPCG(seed, 1)})
}

// Lacks says what no case was drawn of: an error with the seed that is always the same, which somebody can then choose
// other cases for, and a line in the log with any other, where it is chance.
func Lacks(t testing.TB, what string) {
	t.Helper()
	if seed, err := prepare(); err != nil || seed != first {
		t.Logf("nothing drawn: %s", what)
		return
	}
	t.Errorf("nothing drawn: %s: draw more cases, or others", what)
}

// first is the seed without Variable.
const first = "1"

// shared is a source for several goroutines.
type shared struct {
	mu     sync.Mutex
	source rand.Source
}

func (s *shared) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Uint64()
}

// prepare sets rapid's flags, once in a process, so that tests beside each other only read them.
//
//nolint:gochecknoglobals // rapid's flags are the process's
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
		return first, nil
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

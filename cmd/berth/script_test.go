package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var rewrite = flag.Bool("rewrite", false, "write the expected output of scripts instead of comparing with it")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"berth": main})
}

// TestScript runs testdata/script/*.txtar, whose commands besides testscript's
// own are those below. $DEMO is the demo's folder, $CLUSTER that of a small cluster.
//
//	berth ARG …          run berth in a process of its own
//	status N berth …     the same, with the exit status N
//	normalise FILE       write what was printed to FILE, without wall-clock times
//	placements FILE      write the placements of JSON that was printed to FILE
func TestScript(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *rewrite,
		Setup: func(env *testscript.Env) error {
			env.Setenv("DEMO", filepath.Join(here, "demo"))
			env.Setenv("CLUSTER", filepath.Join(here, "testdata", "cluster"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status, "normalise": normalise, "placements": placements,
		},
	})
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil {
		ts.Fatalf("usage: status N COMMAND ARG…")
	}
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status is %d, want %d", got, want)
	}
}

func normalise(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: normalise FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(normal(ts.ReadFile("stdout"))), 0o644))
}

// normal takes out what the wall clock decides: times and rates, and in the table
// of plugins the order, the share, and the widths of the columns.
func normal(out string) string {
	for pattern, with := range map[string]string{
		`(?m)^( *"(?:seconds|podsPerSecond)": )[0-9.e+-]+`: "${1}0",
		`in [0-9.]+ (?:s|ms|µs) \([0-9]+ pods/s\)`:         "in T (N pods/s)",
	} {
		out = regexp.MustCompile(pattern).ReplaceAllString(out, with)
	}
	lines := strings.Split(out, "\n")
	for first, line := range lines {
		if !strings.HasPrefix(line, "PLUGIN ") {
			continue
		}
		n := slices.Index(lines[first:], "")
		table := lines[first : first+n]
		for i, row := range table {
			f := strings.Fields(row)
			table[i] = strings.Join(f[:3], " ")
		}
		slices.Sort(table[1:])
	}
	return strings.Join(lines, "\n")
}

func placements(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: placements FILE")
	}
	var r struct {
		Placements []struct{ Namespace, Pod, Node string }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &r))
	var b strings.Builder
	for _, p := range r.Placements {
		b.WriteString(p.Namespace + "/" + p.Pod + " " + p.Node + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}

package attack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUnprintable: control characters for terminals are found, other text is not.
func TestUnprintable(t *testing.T) {
	for _, text := range []string{"", "a\tb\n", "0,25 µs → …", "日本"} {
		if err := unprintable([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"\x1b[2J", "a\rb", "\x00", "\u202e", "\u2066", "\u200f", "\u009b", "\xff", "\x7f", "\u2028"} {
		if unprintable([]byte(text)) == nil {
			t.Errorf("%q is printed", text)
		}
	}
}

func TestFaults(t *testing.T) {
	const table = "PLUGIN   CALLS  ROWS  REUSED  FAULTS  TIME\nguest-0  5  100  0  3  1 ms\nguest-1  2  40  20  1  1 ms\nNodeName  1  2  0  9  1 ms\n"
	if n := faults([]byte(table)); n != 4 {
		t.Errorf("%d faults", n)
	}
	if n := faults([]byte("PLUGIN   CALLS  ROWS  REUSED  TIME\nguest-0  5  100  0  3 ms\n")); n != 0 {
		t.Errorf("%d faults in a table without them", n)
	}
}

// program writes a fake Berth that runs the script does; for a simulation without plugins it
// does nothing.
func program(t *testing.T, does string) string {
	file := filepath.Join(t.TempDir(), "berth")
	text := "#!/usr/bin/env bash\n[ $# -gt 5 ] || [ \"$1\" = plugin ] || exit 0\n" + does + "\n"
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSimulatorFinds: each bound that is exceeded is found.
func TestSimulatorFinds(t *testing.T) {
	for _, test := range []struct{ name, does, want string }{
		{"nothing", "exit 0", ""},
		{"refused", "echo no >&2; exit 2", ""},
		{"log", "head -c 600000 /dev/zero | tr '\\0' x >&2", "wrote 600000 bytes"},
		{"escapes", `printf '\033[2J'`, "U+001B"},
		{"stack", `printf 'goroutine 1 [running]:\n\tmain.go:1\n'`, "a stack"},
		{"clock", `echo 'deadline at Filter: x'`, "ended by the clock"},
		{"status", "exit 3", "status 3"},
		{"forever", "exec sleep 60", "did not end"},
		{"memory", `x=$(head -c 200000000 /dev/zero | tr '\0' x); y=$x$x; sleep 0.1`, "MiB of memory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &Simulator{Berth: program(t, test.does), Dir: t.TempDir(), Patience: 10 * time.Minute}
			if test.name == "forever" {
				s.Patience = time.Second
			}
			o, err := s.Run(context.Background(), Attack{Name: "a/b", Plugins: []bool{false}, dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(o.Unbounded, "; ")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// TestBounded: it is sufficient that the ratio or the difference is within its bound; attempts, memory and log have to be.
func TestBounded(t *testing.T) {
	for _, test := range []struct {
		fastest, slowest time.Duration
		attempts         float64
		memory, log      int64
		want             bool
	}{
		{0, 0, 1, 0, 0, true},
		{1100 * time.Millisecond, time.Second, 2, 1, 2 * FaultLog, true},
		{3 * time.Millisecond, time.Millisecond, 1, 0, 0, true},
		{4 * time.Millisecond, time.Millisecond, 1, 0, 0, false},
		{1101 * time.Millisecond, time.Second, 1, 0, 0, false},
		{0, 0, 2.01, 0, 0, false},
		{0, 0, 1, 2, 0, false},
		{0, 0, 1, 0, 2*FaultLog + 1, false},
	} {
		b := &Beside{
			Fastest: test.fastest, Slowest: test.slowest, Attempts: test.attempts, Memory: test.memory, MemoryBound: 1,
			Log: test.log, LogBound: 2 * FaultLog,
		}
		if b.Bounded() != test.want {
			t.Errorf("%+v", test)
		}
	}
}

// TestLogBound: a plugin may log for each of its pods, in each second, and for each fault.
func TestLogBound(t *testing.T) {
	attacks := []Attack{{Plugins: []bool{false}}, {Plugins: []bool{true, false}}}
	if got, want := logBound(attacks, 4, 80, 2500*time.Millisecond), int64(5*FaultLog+3*(41+3)*PodLog); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// TestNarrow: attacks that are bounded together are done at once; otherwise the one that is not bounded is found.
func TestNarrow(t *testing.T) {
	var group []Attack
	for _, name := range []string{"1", "2", "refused", "4", "bad", "6", "7", "8"} {
		group = append(group, Attack{Name: name, Plugins: []bool{false}})
	}
	for bad, want := range map[string]string{
		"none": "refused; 1 beside 6; 2 beside 6; 4 beside 6; bad beside 6; 6 beside 6; 7 beside 6; 8 beside 6; 1 runs",
		"bad":  "refused; 1 beside 2; 2 beside 2; 4 beside 2; bad beside 0 NO; 6 beside 0; 7 beside 1; 8 beside 1; 7 runs",
	} {
		runs, got := 0, ""
		together := func(group []Attack) (r Beside, loaded []bool, err error) {
			runs++
			for _, a := range group {
				loaded = append(loaded, a.Name != "refused")
				if a.Name == bad {
					r.Fastest = time.Second
				}
			}
			return r, loaded, nil
		}
		err := narrow(group, together, func(r Beside) {
			switch got += r.Attack.Name; {
			case !r.Refused && r.Bounded():
				got += fmt.Sprint(" beside ", r.Beside)
			case !r.Refused:
				got += fmt.Sprintf(" beside %d NO", r.Beside)
			}
			got += "; "
		})
		if got += fmt.Sprint(runs, " runs"); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", bad, err, got, want)
		}
	}
}

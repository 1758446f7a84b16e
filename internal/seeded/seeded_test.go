package seeded_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
)

// child is set in the processes that TestSeed starts, so that TestChild draws and fails.
const child = "BERTH_TEST_SEED_CHILD"

func TestChild(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("TestSeed runs it in a process of its own")
	}
	t.Run("in a.b", func(t *testing.T) {
		seeded.Check(t, func(r *rapid.T) {
			fmt.Println("drew", rapid.Uint64().Draw(r, "n"))
			r.Fatal("as wanted")
		})
	})
	t.Run("lacks", func(t *testing.T) { seeded.Lacks(t, "an even one") })
}

// TestSeed: the same seed draws the same, another one does not, and what fails says how to repeat it.
func TestSeed(t *testing.T) {
	run := func(seed string, args ...string) (drew, out string) {
		t.Helper()
		cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestChild$"}, args...)...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), child+"=1", seeded.Variable+"="+seed)
		b, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("seed %q: want a failure, got\n%s", seed, b)
		}
		if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
			t.Errorf("seed %q: want no files, got %v, %v", seed, left, err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "drew ") {
				return line, string(b)
			}
		}
		return "", string(b)
	}
	first, firstOut := run("")
	const want = "BERTH_TEST_SEED=1 go test github.com/berth-scheduler/berth/internal/seeded -count=1 -run '^TestChild$/^in_a\\.b$'\n"
	if !strings.Contains(firstOut, want) {
		t.Errorf("want %q in\n%s", want, firstOut)
	}
	if again, _ := run("1"); again != first || first == "" {
		t.Errorf("no seed drew %q, seed 1 %q", first, again)
	}
	other, out := run("7", "-rapid.checks=3")
	if other == first || !strings.Contains(out, "BERTH_TEST_SEED=7 ") || !strings.Contains(out, " -rapid.checks=3\n") {
		t.Errorf("seed 7 drew %q, as seed 1, or says so wrongly:\n%s", other, out)
	}
	if failed, may := strings.Contains(firstOut, "--- FAIL: TestChild/lacks"), strings.Contains(out, "TestChild/lacks"); !failed || may {
		t.Errorf("what was not drawn fails with seed 1: %v, with seed 7: %v", failed, may)
	}
	if flagged, _ := run("9", "-rapid.seed=7", "-rapid.checks=3"); flagged != other {
		t.Errorf("-rapid.seed=7 drew %q, %s=7 %q", flagged, seeded.Variable, other)
	}
	_, a := run("random")
	if _, b := run("random"); !strings.Contains(a, "BERTH_TEST_SEED=") || strings.Contains(a, "BERTH_TEST_SEED=random") || a == b {
		t.Errorf("want two seeds, got\n%s\n%s", a, b)
	}
	for _, bad := range []string{"0", "-1", "x"} {
		if _, out := run(bad); !strings.Contains(out, "want a number from 1") {
			t.Errorf("seed %q: %s", bad, out)
		}
	}
}

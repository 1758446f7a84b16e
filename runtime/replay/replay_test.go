package replay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/stores"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/replay"
)

// small is a recording with preemption, a budget, volumes, a gate and pods that fit nowhere. It stays as
// it is: a change of Berth that does not repeat it changes decisions, or the format.
func small(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/small.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run replays a recording. Texts that are not the recorded ones are an error.
func run(ctx context.Context, t *testing.T, text string, c replay.Config) (*replay.Result, error) {
	t.Helper()
	r, err := reworded(ctx, t, text, c)
	if err == nil && r.Reworded > 0 {
		err = fmt.Errorf("%d decisions have other texts, first at event %d", r.Reworded, r.RewordedAt)
	}
	return r, err
}

func reworded(ctx context.Context, t *testing.T, text string, c replay.Config) (*replay.Result, error) {
	t.Helper()
	reader, err := record.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c.Modules = assembly.NewModules(assembly.ModulesConfig{Recorded: t.TempDir(), Memory: 64 << 30})
	defer func() { _ = c.Modules.Close(t.Context()) }()
	return replay.Run(ctx, reader, c)
}

func TestSmall(t *testing.T) {
	for _, workers := range []int{1, 8} {
		for _, kept := range []equivalence.Config{{}, equivalence.Default()} {
			decisions := 0
			r, err := run(t.Context(), t, small(t), replay.Config{Workers: workers, Reuse: &kept, Progress: func(n int) { decisions = n }})
			if err != nil || r.Cut || r.Decisions != strings.Count(small(t), "\ndecision ") || r.Placed == 0 || decisions != r.Decisions {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
}

// TestVersions: recordings of the versions that are read are repeated. Their files stay as the Berth of that time wrote them.
func TestVersions(t *testing.T) {
	files, err := filepath.Glob("testdata/version-*.berthrec")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		recording, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := run(t.Context(), t, string(recording), replay.Config{})
		if err != nil || r.Cut || r.Decisions == 0 || r.Placed == 0 {
			t.Errorf("%s: %+v, %v", file, r, err)
		}
	}
}

// TestDifferent: the first decision that is not the recorded one is named.
func TestDifferent(t *testing.T) {
	text := small(t)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "decision ") {
			continue
		}
		other := strings.Split(text, "\n")
		before, _, _ := strings.Cut(line, "hash=")
		other[i] = before + "hash=1"
		_, err := run(t.Context(), t, strings.Join(other, "\n"), replay.Config{Workers: 1})
		var d *replay.Difference
		if !errors.As(err, &d) || d.Event != i || d.Recorded == nil || d.Now == nil || d.Recorded.Pod != d.Now.Pod {
			t.Errorf("line %d: %v", i+1, err)
		}
		without := append(append([]string(nil), lines[:i]...), lines[i+1:]...)
		if _, err = run(t.Context(), t, strings.Join(without, "\n"), replay.Config{Workers: 1}); !errors.As(err, &d) || d.Recorded != nil || !strings.Contains(err.Error(), "recorded was no decision") {
			t.Errorf("without line %d: %v", i+1, err)
		}
		twice := append(append(append([]string(nil), lines[:i]...), line), lines[i:]...)
		if _, err = run(t.Context(), t, strings.Join(twice, "\n"), replay.Config{Workers: 1}); !errors.As(err, &d) || d.Now != nil || !strings.Contains(err.Error(), "now it is no decision") {
			t.Errorf("line %d twice: %v", i+1, err)
		}
	}
}

// TestPod: the replay stops after an attempt for a pod, and has all of it.
func TestPod(t *testing.T) {
	pod := types.NamespacedName{Namespace: "shop", Name: "web-1"}
	for try, placed := range map[int]bool{1: false, 2: true} {
		r, err := run(t.Context(), t, small(t), replay.Config{Workers: 1, Pod: pod, Try: try})
		if err != nil || r.Attempt == nil || r.Attempt.Try != try || (r.Attempt.Node != "") != placed {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if r, err := run(t.Context(), t, small(t), replay.Config{Workers: 1, Pod: pod, Try: 99}); err != nil || r.Attempt != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestCut: a recording of a process that was killed is repeated as far as it is known.
func TestCut(t *testing.T) {
	lines := strings.SplitAfter(small(t), "\n")
	most := 0
	for n := 2; n < len(lines)-2; n++ {
		r, err := run(t.Context(), t, strings.Join(lines[:n], ""), replay.Config{Workers: 1})
		if err != nil || !r.Cut || r.Decisions < most {
			t.Fatalf("%d lines: %+v, %v", n, r, err)
		}
		most = r.Decisions
	}
	if most == 0 {
		t.Error("nothing was decided")
	}
}

// TestUntil: the replay stops before a time, and shows the scheduler and its objects there.
func TestUntil(t *testing.T) {
	placed := func(until time.Time) (pods, decisions int) {
		t.Helper()
		r, err := run(t.Context(), t, small(t), replay.Config{Workers: 1, Until: until, Reached: func(a *assembly.Assembly, s *stores.Stores) error {
			pods = len(a.Scheduler.Contents().Placed)
			if budgets, err := s.Budgets.List(); err != nil || len(budgets) == 0 || len(s.Storage.All()) == 0 {
				t.Errorf("%v, %v", budgets, err)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return pods, r.Decisions
	}
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	pods, decisions := placed(start)
	if all, more := placed(time.Time{}); pods == 0 || decisions >= more || all == 0 {
		t.Errorf("%d pods after %d decisions, %d after %d", pods, decisions, all, more)
	}
	_, err := run(t.Context(), t, strings.Join(strings.SplitAfter(small(t), "\n")[:2], ""), replay.Config{
		Reached: func(*assembly.Assembly, *stores.Stores) error { return nil },
	})
	if err == nil || !strings.Contains(err.Error(), "there is no cluster") {
		t.Errorf("%v", err)
	}
	_, err = run(t.Context(), t, small(t), replay.Config{Workers: 1, Reached: func(*assembly.Assembly, *stores.Stores) error { panic("no such object") }})
	if err == nil || !strings.Contains(err.Error(), "no such object (if the recording is as it was written, please report this)") {
		t.Errorf("%v", err)
	}
}

// TestManyEarly: what a step without a decision took early is not copied again for each of its events.
func TestManyEarly(t *testing.T) {
	var text strings.Builder
	text.WriteString("# " + record.Header + strings.SplitAfter(small(t), "\n")[1] + "clock at=2000-01-01T00:00:00Z\nstep\n")
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&text, "object StorageClass early=true object=`{\"metadata\":{\"name\":\"s%d\"}}`\n", i)
	}
	text.WriteString("clock at=2000-01-01T00:00:01Z\nend\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := run(t.Context(), t, text.String(), replay.Config{Workers: 1})
	runtime.ReadMemStats(&after)
	if err != nil || r.Events != n+5 {
		t.Errorf("%+v, %v", r, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
		t.Errorf("%d bytes allocated for %d events", used, n)
	}
}

// TestUnusable: a recording that cannot be repeated says why.
func TestUnusable(t *testing.T) {
	header := "# " + record.Header
	settings := strings.SplitAfter(small(t), "\n")[1]
	for text, want := range map[string]string{
		header + "step\nend\n":                                                               "the recording does not begin with settings",
		header + settings + settings + "end\n":                                               "event 2: there are two settings",
		header + strings.TrimSuffix(settings, "\n") + " lacks=luck\nend\n":                   "the recording cannot be replayed: luck",
		header + settings + "module a.wasm sha256:00 bytes=AGFzbQ\nend\n":                    "event 2: module a.wasm does not have the digest sha256:00",
		header + settings + "clock at=2000-01-01T00:00:00Z\nbound attempt=7\nend\n":          "event 3 cannot be handled here: BUG: attempt 7 has no running binding cycle",
		header + settings + "clock at=2000-01-01T00:00:00Z\nstep\nbound attempt=7\nend\n":    "event 4 cannot be handled here",
		header + settings + "overrun a b Filter\nend\n":                                      "event 2 cannot be handled here: BUG: a *inbox.Overrun is not for the loop",
		header + "settings start=2000-01-01T00:00:00Z\nclock at=2000-01-01T00:00:00Z\nend\n": "the recorded configuration: the file is empty",
	} {
		if _, err := run(t.Context(), t, text, replay.Config{Workers: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := run(ended, t, small(t), replay.Config{Workers: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestReworded: other texts are told from another decision, and the replay goes on.
func TestReworded(t *testing.T) {
	recorded := strings.Replace(small(t), "settings ", "settings kubernetes=37 ", 1)
	var text strings.Builder
	for line := range strings.Lines(recorded) { // the decisions as they are now, with other texts
		if !strings.HasPrefix(line, "decision ") {
			text.WriteString(line)
			continue
		}
		var d *replay.Difference
		if _, err := reworded(t.Context(), t, text.String()+line, replay.Config{Workers: 1}); !errors.As(err, &d) || d.Now == nil || d.Now.Texts == 0 {
			t.Fatal(err)
		}
		before, _, _ := strings.Cut(line, "hash=")
		fmt.Fprintf(&text, "%shash=%d texts=1\n", before, d.Now.Hash)
	}
	r, err := reworded(t.Context(), t, text.String(), replay.Config{Workers: 1})
	if n := strings.Count(recorded, "\ndecision "); err != nil || r.Decisions != n || r.Reworded != n || r.RewordedAt == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOldBudgets: a recording that does not know budgets of namespaces is replayed without.
func TestOldBudgets(t *testing.T) {
	modules := assembly.NewModules(assembly.ModulesConfig{Recorded: t.TempDir(), Memory: 64 << 30})
	defer func() { _ = modules.Close(t.Context()) }()
	settings, _, _ := checkpointOf(small(t))
	if c, err := assembly.Replayed(parsed(t, settings).(*inbox.Settings), modules); err != nil || !c.NoNamespaceBudget {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestUnknownRelease: plugins of another Kubernetes are not repeated.
func TestUnknownRelease(t *testing.T) {
	for _, release := range []string{"35", "38"} {
		text := strings.Replace(small(t), "settings ", "settings kubernetes="+release+" ", 1)
		if _, err := run(t.Context(), t, text, replay.Config{}); err == nil || !strings.Contains(err.Error(), "are those of Kubernetes 1."+release) {
			t.Errorf("%v", err)
		}
	}
}

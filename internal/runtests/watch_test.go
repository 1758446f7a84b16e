package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWatch: a program ends when it and what it started use no CPU, or too much, however long that takes; others do not.
func TestWatch(t *testing.T) {
	const goTest, test, child = 10, 20, 30
	limits := limits{idle: 2 * time.Minute, cpu: 20 * time.Minute}
	idle, busy := int(limits.idle/interval), int(limits.cpu/interval)
	for name, one := range map[string]struct {
		cpu  func(look int) map[int]time.Duration // of the processes that there are
		want string
	}{
		"a test that waits": {want: "24: 20 quit, 25: 20 killed", cpu: func(int) map[int]time.Duration {
			return map[int]time.Duration{test: time.Second}
		}},
		"timers are not work": {want: "23: 20 quit, 24: 20 killed", cpu: func(look int) map[int]time.Duration {
			return map[int]time.Duration{test: time.Duration(look) * time.Millisecond}
		}},
		"a test that waits for what it started": {want: "24: 20 quit, 25: 20 killed, 25: 30 killed", cpu: func(int) map[int]time.Duration {
			return map[int]time.Duration{test: 0, child: time.Minute}
		}},
		"one among two hundred programs": {cpu: func(look int) map[int]time.Duration {
			return map[int]time.Duration{test: time.Duration(look) * 2 * interval / 200}
		}},
		"what it started works": {cpu: func(look int) map[int]time.Duration {
			return map[int]time.Duration{test: 0, child: time.Duration(look) * time.Second}
		}},
		"what it started works, and ends": {cpu: func(look int) map[int]time.Duration {
			if look%2 == 0 {
				return map[int]time.Duration{test: time.Second}
			}
			return map[int]time.Duration{test: time.Second, child: 2 * time.Second}
		}},
		"a test that works for ever": {want: "239: 20 quit, 240: 20 killed", cpu: func(look int) map[int]time.Duration {
			return map[int]time.Duration{test: time.Duration(look+1) * interval}
		}},
		"work on two processors": {want: "120: 20 quit, 121: 20 killed, 121: 30 killed", cpu: func(look int) map[int]time.Duration {
			cpu := time.Duration(look) * interval
			return map[int]time.Duration{test: cpu, child: cpu}
		}},
		"one program after the other": {cpu: func(look int) map[int]time.Duration {
			return map[int]time.Duration{100 + look/(idle-1): 0}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			var out strings.Builder
			w := newWatch(limits, goTest, &out)
			look := 0
			w.usage = func() (map[int]process, error) {
				all := map[int]process{1: {name: "init"}, goTest: {parent: 1, name: "go"}, 99: {parent: 1, name: "other"}}
				for pid, cpu := range one.cpu(look) {
					p := process{parent: goTest, name: fmt.Sprint(pid), cpu: cpu}
					if pid == child {
						p.parent = test
					}
					all[pid] = p
				}
				return all, nil
			}
			w.signal = func(pid int, sig syscall.Signal) {
				got = append(got, fmt.Sprintf("%d: %d %s", look, pid, map[syscall.Signal]string{syscall.SIGQUIT: "quit", syscall.SIGKILL: "killed"}[sig]))
			}
			for look = 0; look <= busy && len(got) < 2; look++ {
				if err := w.look(); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(got)
			if got := strings.Join(got, ", "); got != one.want {
				t.Errorf("got %s, want %s", got, one.want)
			}
			if said := strings.Contains(out.String(), "is ended"); said != (one.want != "") {
				t.Errorf("printed %q", out.String())
			}
		})
	}
}

// TestUsage: this process is there, under its parent, and its CPU time grows with work.
func TestUsage(t *testing.T) {
	self, parent := syscall.Getpid(), syscall.Getppid()
	first, err := usage()
	if err != nil {
		t.Fatal(err)
	}
	if p := first[self]; p.parent != parent || !strings.HasPrefix(p.name, "runtests") {
		t.Fatalf("%d of %d is %+v", self, parent, p)
	}
	for n := 0; ; n++ {
		if next, err := usage(); err != nil {
			t.Fatal(err)
		} else if next[self].cpu > first[self].cpu {
			break
		}
	}
}

// TestUsageFormats: lines of both sources; names have spaces and parentheses.
func TestUsageFormats(t *testing.T) {
	pid, p, err := fromStat("7 (a) b (c)) S 5 7 7 0 -1 4194560 11 12 0 0 100 20 3000 400 20 0 1 0 99\n")
	if want := (process{parent: 5, name: "a) b (c)", cpu: 35200 * time.Millisecond}); pid != 7 || p != want || err != nil {
		t.Errorf("%d %+v %v", pid, p, err)
	}
	for _, wrong := range []string{"", "7 S 5", "7 (a) S", "x (a) S 5 7 7 0 -1 4194560 11 12 0 0 1 2 3 4 5", "7 (a) S 5 7 7 0 -1 4194560 11 12 0 0 1 2 3 x 5"} {
		if pid, p, err := fromStat(wrong); err == nil {
			t.Errorf("%q is %d %+v", wrong, pid, p)
		}
	}
	all, err := fromPS([]byte("    1     0   1:02.50 /sbin/launchd\n  20   1 01:00:03 /a folder/x.test\n 21 1 2-00:00:01 go\n"))
	want := map[int]process{
		1:  {parent: 0, name: "launchd", cpu: 62500 * time.Millisecond},
		20: {parent: 1, name: "x.test", cpu: time.Hour + 3*time.Second},
		21: {parent: 1, name: "go", cpu: 48*time.Hour + time.Second},
	}
	if err != nil || !maps.Equal(all, want) {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := fromPS([]byte("1 0 noon /sbin/launchd\n")); err == nil {
		t.Errorf("%+v", all)
	}
}

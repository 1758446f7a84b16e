package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// recorded has a scheduler record what it does.
func (b *bench) recorded(s cluster.Scheduler) cluster.Scheduler {
	if b.recordings == "" {
		b.recordings = b.TempDir()
		b.Cleanup(b.replay) // once the schedulers have ended
	}
	s.Flags = append([]string{"--record=" + b.recordings, "--record-size=16Mi"}, s.Flags...)
	return s
}

// replay repeats the recordings of a test, whose schedulers have ended or were killed: each segment alone, on 1
// and 8 workers.
func (b *bench) replay() {
	files, err := filepath.Glob(filepath.Join(b.recordings, "*.berthrec"))
	if err != nil || len(files) == 0 {
		b.Errorf("there are no recordings: %v", err)
	}
	told := ""
	for _, file := range files {
		for _, workers := range []string{"1", "8"} {
			// The test may have ended its context.
			out, err := exec.Command(b.Binaries().Berth, "replay", file, "--workers", workers).CombinedOutput() //nolint:noctx // see above
			if strings.Contains(string(out), "it ends before the settings") {
				err = nil // it was killed before it began
			}
			if err != nil {
				b.Errorf("replay of %s with %s workers: %v\n%s", filepath.Base(file), workers, err, out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			told = lines[len(lines)-1]
		}
		b.Logf("%s: %s", filepath.Base(file), told)
	}
}

package assembly

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/eventually"
)

// TestFolderUnread: while a plugin folder that was never read cannot be read, all pods wait, and say why. If it goes while it is
// followed, its modules run on.
func TestFolderUnread(t *testing.T) {
	harms := map[string]func(dir string) error{ // the folder is away
		"missing": func(string) error { return nil },
		"a file":  func(dir string) error { return os.WriteFile(dir, []byte("garbage"), 0o600) },
	}
	for name, harm := range harms {
		for _, running := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " at start", true: " while running"}[running], func(t *testing.T) {
				r := start(t, Config{Modules: newModules(t)})
				oneNode(r)
				dir := filepath.Join(t.TempDir(), "plugins")
				away, back := func() error { return errors.Join(os.Rename(dir, dir+".away"), harm(dir)) }, func() error {
					return errors.Join(os.RemoveAll(dir), os.Rename(dir+".away", dir))
				}
				module, err := os.ReadFile(guest{filter: no}.write(t))
				if err == nil {
					err = errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "one.wasm"), module, 0o600))
				}
				if err == nil && !running {
					err = away()
				}
				if err != nil {
					t.Fatal(err)
				}
				f, err := r.scheduler.Watch(t.Context(), FolderConfig{Dir: dir, Settle: 10 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				if running {
					if err := away(); err != nil {
						t.Fatal(err)
					}
				}
				await := func(unread bool, modules int) {
					t.Helper()
					eventually.Succeeds(t, func() error {
						all := f.Status()
						if whole := len(all) > 0 && all[0].Whole; whole != unread || unread && (all[0].Path != dir || all[0].Err == nil) {
							return errors.New("the status does not tell whether the folder can be read")
						}
						if n := len(all); n != modules+map[bool]int{true: 1}[unread] {
							return errors.New("the status has other modules")
						}
						return nil
					})
				}
				await(true, map[bool]int{true: 1}[running])
				if node := r.try(t, "first"); node != "" {
					t.Error("a pod was placed without the filter")
				}
				waits := ""
				for _, q := range r.scheduler.Scheduler.Queued() {
					if q.GatedBy != "" {
						waits = q.GatedBy + ": " + q.GateReason
					}
				}
				if held := strings.Contains(waits, HoldName) && strings.Contains(waits, "the modules of --plugin-dir do not run: "); held == running {
					t.Errorf("the pod waits for %q", waits)
				}
				if err := back(); err != nil {
					t.Fatal(err)
				}
				await(false, 1)
				if r.later(t); r.placed("first") || r.try(t, "second") != "" {
					t.Error("a pod was placed although the filter refuses all nodes")
				}
				if err := os.Remove(filepath.Join(dir, "one.wasm")); err != nil {
					t.Fatal(err)
				}
				await(false, 0)
				if r.later(t); !r.placed("first") || r.try(t, "third") == "" {
					t.Error("pods are held although the folder is empty")
				}
			})
		}
	}
}

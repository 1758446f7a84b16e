package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/telemetry"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// TestYanks: a yank that the index gets while a scheduler runs is logged once and
// measured, and an index that does not answer changes nothing.
func TestYanks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		module := "sha256:" + strings.Repeat("a", 64)
		v := index.Version{Version: "1.2.0", ABI: "1.0", Points: []string{"filter"}, Image: module, Module: module, Size: 1}
		f, _, err := index.Next(nil, []index.Plugin{{Name: "rack-aware", Repository: "ghcr.io/team/rack-aware", Versions: []index.Version{v}}}, time.Now(), 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		var registry struct {
			sync.Mutex
			file *index.File
			err  error
		}
		answer := func(f *index.File, err error) {
			registry.Lock()
			defer registry.Unlock()
			registry.file, registry.err = f, err
		}
		parts := &newWatched(&program{version: "v1"}).optional
		y := &yanks{read: func(context.Context) (*index.File, error) {
			registry.Lock()
			defer registry.Unlock()
			return registry.file, registry.err
		}, told: func(err error) bool { return parts.tell(partIndex, err) }}
		status := func() assembly.Status {
			return assembly.Status{Plugins: []assembly.PluginStatus{
				{Profile: "a", Status: wasm.Status{Name: "racks", Digest: module}},
				{Profile: "a", Status: wasm.Status{Name: "other", Digest: "sha256:1"}},
			}}
		}
		if y.known(status()) != nil || y.of(module) != nil {
			t.Error("yanks are known before the index was read")
		}
		var told []string
		tell := func(text string) { told = append(told, text) }
		answer(nil, errors.New("no answer"))
		y.begin(t.Context(), []string{module}, tell)
		answer(f, nil)
		y.begin(t.Context(), []string{module}, tell)
		if diff := cmp.Diff([]string{"no answer: it is not known which plugins are yanked"}, told); diff != "" {
			t.Error(diff)
		}
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		go y.follow(ctx, time.Hour, time.Minute, status, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("nothing is yanked, but it says %s", &log)
		}
		next, _, err := index.Next(f, nil, time.Now(), 24*time.Hour)
		if err == nil {
			err = next.Mark("rack-aware", "1.2.0", &index.Yank{Reason: "bad", Severity: "low"})
		}
		if err != nil {
			t.Fatal(err)
		}
		answer(next, nil)
		time.Sleep(2 * time.Hour)
		answer(nil, errors.New("no answer"))
		time.Sleep(time.Hour)
		synctest.Wait()
		cancel()
		synctest.Wait()
		got := log.String()
		if strings.Count(got, "a plugin in use is yanked") != 1 || !strings.Contains(got, "plugin=racks") || !strings.Contains(got, "severity=low") ||
			strings.Count(got, "the index cannot be read; yanks are those of the last time") != 1 {
			t.Errorf("it says %s", got)
		}
		if p := parts.parts(); len(p) != 1 || !p[0].Failed || !strings.Contains(p[0].Failure.Note, "no answer") {
			t.Errorf("parts are %+v", p)
		}
		of := func(name string) telemetry.PluginOf { return telemetry.PluginOf{Plugin: name, Profile: "a"} }
		want := []telemetry.Yank{{PluginOf: of("racks"), Digest: module, Yanked: true}, {PluginOf: of("other"), Digest: "sha256:1"}}
		if diff := cmp.Diff(want, y.known(status())); diff != "" {
			t.Error(diff)
		}
		told = nil
		answer(next, nil)
		y.begin(t.Context(), []string{"sha256:1", module}, tell)
		if diff := cmp.Diff([]string{"rack-aware 1.2.0 (sha256:aaaaaaaaaaaa) is yanked: low: bad"}, told); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRunYanked: berth run starts with a module that is yanked, and warns of it; a
// registry that does not answer only costs the knowledge.
func TestRunYanked(t *testing.T) {
	s := newStall(t)
	if err := s.honest.Mark("rack-aware", "1.3.0", &index.Yank{Reason: "it counts racks twice"}); err != nil {
		t.Fatal(err)
	}
	s.publish(s.honest)
	p := &s.honest.Plugins[0]
	// There is no cluster, which is the last thing that is looked at.
	start := func(args ...string) string {
		t.Helper()
		var stderr bytes.Buffer
		args = append([]string{
			"run", "--kubeconfig", filepath.Join(s.dir, "none"), "--plugin", "oci://" + p.Repository + "@" + p.Versions[1].Image,
			"--module-cache", t.TempDir(), "--compile-time", "0",
		}, args...)
		if status := run(t.Context(), args, io.Discard, &stderr); status == exitOK {
			t.Errorf("it runs without a cluster")
		}
		return stderr.String()
	}
	policy := filepath.Join(s.dir, "policy.yaml")
	for want, got := range map[string]string{
		`level=WARN msg="rack-aware 1.3.0 (`:                                         start("--index", s.registry+"/team/index", "--verification-policy", policy),
		") is yanked: it counts racks twice\"\n":                                     start("--index", s.registry+"/team/index", "--verification-policy", policy),
		"there is no index; name an index":                                           start("--index", s.registry+"/team/none", "--verification-policy", policy),
		"--index needs --verification-policy: the policy's indexes say who signs it": start("--index", s.registry+"/team/index"),
		"--index: ": start("--index", "none", "--verification-policy", policy),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it says %s, want %q", got, want)
		}
		if strings.HasPrefix(want, "warning") && !strings.Contains(got, "none: no such file") {
			t.Errorf("it does not go on: %s", got)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "none")); err == nil {
		t.Error("there is a cluster")
	}
}

package app

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/smalldisk"
	"github.com/berth-scheduler/berth/runtime/inbox"
	records "github.com/berth-scheduler/berth/runtime/record"
)

// TestRecordFolder: a recording continues in further files, which all begin with the settings. The folder keeps
// its size, and other files in it stay.
func TestRecordFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes.txt", "20000101T000000.000000000Z" + recordedSuffix} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	var told stops
	o := recordOptions{to: dir, size: "16Mi"}
	r, err := o.toFolder(slog.New(slog.NewTextHandler(&log, nil)), &told)
	if err != nil {
		t.Fatal(err)
	}
	begun := 0
	r.Enter(&inbox.Settings{Seed: 7})
	reason := make([]byte, 4096)
	r.Enter(&inbox.Step{})
	for range 10_000 { // 40 MiB that cannot be compressed
		if _, err := rand.Read(reason); err != nil {
			t.Fatal(err)
		}
		r.Enter(&inbox.Reject{UID: "u", Plugin: "p", Reason: string(reason)})
		r.Sync()
		if r.Full() {
			r.Begin()
			r.Enter(&inbox.Step{})
			begun++
		}
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	size, read := int64(0), 0
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, recordedSuffix) {
			continue
		}
		size += info.Size()
		read++
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		reader, err := records.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		first := true
		for {
			e, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if s, ok := e.(*inbox.Settings); ok != first || ok && s.Seed != 7 {
				t.Fatalf("%s: %T, first: %v", file, e, first)
			}
			first = false
		}
	}
	if begun < 20 || read < 4 || size > 16<<20 || !slices.Contains(files, filepath.Join(dir, "notes.txt")) || log.Len() > 0 {
		t.Errorf("%d segments were begun, %d files with %d bytes are left: %v\n%s", begun, read, size, files, log.String())
	}
}

// TestRecordShrink: several processes may remove old recordings of a folder at the same time.
func TestRecordShrink(t *testing.T) {
	dir := t.TempDir()
	for i := range 500 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d%s", i, recordedSuffix)), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := shrink(dir, "", 300); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 || files[0].Name() != "497"+recordedSuffix {
		t.Errorf("%v, %v", files, err)
	}
}

// TestRecordTidy: segments in which a full disk left no event do not gather in the folder.
func TestRecordTidy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a"+recordedSuffix)
	for text, kept := range map[string]bool{"": false, records.Header: false, records.Header + "x": true} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tidy(file), tidy(file)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file); kept != (err == nil) {
			t.Errorf("%q: kept is not %v: %v", text, kept, err)
		}
	}
}

// TestRecordTooLarge: a segment that cannot end in time ends at half the size of the folder, with a warning, and another one follows.
func TestRecordTooLarge(t *testing.T) {
	var log bytes.Buffer
	var told stops
	o := recordOptions{to: t.TempDir(), size: "16Mi"}
	r, err := o.toFolder(slog.New(slog.NewTextHandler(&log, nil)), &told)
	if err != nil {
		t.Fatal(err)
	}
	r.Enter(&inbox.Settings{})
	r.Enter(&inbox.Step{})
	reason := make([]byte, 4096)
	for range 2300 {
		if _, err := rand.Read(reason); err != nil {
			t.Fatal(err)
		}
		r.Enter(&inbox.Reject{UID: "u", Plugin: "p", Reason: string(reason)})
	}
	r.Sync()
	if !r.Full() || !strings.Contains(log.String(), "it has reached its maximum size") {
		t.Errorf("full: %v, %s", r.Full(), log.String())
	}
	r.Begin()
	r.Enter(&inbox.Step{})
	r.Sync()
	if r.Full() || strings.Count(log.String(), "maximum size") != 1 {
		t.Errorf("full: %v, %s", r.Full(), log.String())
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(o.to, "*"+recordedSuffix))
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}

// stops counts how often a recording stopped, and says whether it is.
type stops struct {
	stopped bool
	times   int
}

// Recording implements recordState.
func (s *stops) Recording(err error) {
	if s.stopped = err != nil; s.stopped {
		s.times++
	}
}

// TestRecordNowhere: a scheduler starts although nothing can be recorded, says so, and its metrics too.
func TestRecordNowhere(t *testing.T) {
	var log bytes.Buffer
	var told stops
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := recordOptions{to: filepath.Join(file, "folder"), size: "16Mi"}
	r, err := o.toFolder(slog.New(slog.NewTextHandler(&log, nil)), &told)
	if err != nil {
		t.Fatal(err)
	}
	r.Enter(&inbox.Settings{})
	r.Enter(&inbox.Step{})
	if err := r.close(); err != nil || !told.stopped || told.times != 1 || !strings.Contains(log.String(), "it is tried again after 1m0s") {
		t.Errorf("%+v, %v\n%s", told, err, log.String())
	}
}

// TestRecordOnFullDisk: a recording stops when the disk is full, and the metric and the log say so; events are taken all the same.
// It goes on when there is room again, and what was written before can be read.
func TestRecordOnFullDisk(t *testing.T) {
	disk := smalldisk.New(t)
	var log bytes.Buffer
	var told stops
	o := recordOptions{to: filepath.Join(disk, "recordings"), size: "16Mi", retry: time.Nanosecond}
	free := smalldisk.Fill(t, disk)
	r, err := o.toFolder(slog.New(slog.NewTextHandler(&log, nil)), &told)
	if err != nil {
		t.Fatal(err)
	}
	if !told.stopped || !strings.Contains(log.String(), "no space left on device (pods are scheduled all the same; it is tried again after") {
		t.Errorf("at the start: %+v\n%s", told, log.String())
	}
	r.Enter(&inbox.Settings{Seed: 7})
	reason := make([]byte, 4096)
	steps := func(n int) { // which cannot be compressed
		for range n {
			if _, err := rand.Read(reason); err != nil {
				t.Fatal(err)
			}
			r.Enter(&inbox.Reject{UID: "u", Plugin: "p", Reason: string(reason)})
			r.Enter(&inbox.Step{})
			if r.Sync(); r.Full() {
				r.Begin()
			}
		}
	}
	steps(100)
	if !told.stopped {
		t.Error("a full disk is written to")
	}
	free()
	steps(100)
	if told.stopped {
		t.Errorf("with room it does not go on:\n%s", log.String())
	}
	times := told.times
	steps(500) // 2 MiB
	if told.times == times {
		t.Errorf("a full disk stops nothing:\n%s", log.String())
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(o.to, "*"+recordedSuffix))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	events := 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		reader, err := records.NewReader(f)
		for err == nil {
			if _, err = reader.Next(); err == nil {
				events++
			}
		}
	}
	if events < 100 {
		t.Errorf("%d events can be read", events)
	}
}

// TestRecordLacks: a recording that cannot be replayed says so at its start, and when plugins are replaced, once.
func TestRecordLacks(t *testing.T) {
	var log bytes.Buffer
	var told stops
	o := recordOptions{to: t.TempDir(), size: "16Mi"}
	r, err := o.toFolder(slog.New(slog.NewTextHandler(&log, nil)), &told)
	if err != nil {
		t.Fatal(err)
	}
	says := func(e inbox.Event, want int) {
		t.Helper()
		r.Enter(e)
		if n := strings.Count(log.String(), "from here on the recording cannot be replayed"); n != want {
			t.Errorf("said %d times, want %d:\n%s", n, want, log.String())
		}
	}
	says(&inbox.Settings{Lacks: "plugins are compiled into the program"}, 1)
	says(&inbox.Swap{Lacks: "plugins are compiled into the program"}, 1)
	says(&inbox.Swap{}, 1)
	says(&inbox.Step{}, 1)
	says(&inbox.Swap{Lacks: "plugin a reads whole pods"}, 2)
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "cannot be replayed: plugins are compiled into the program") {
		t.Error(log.String())
	}
}

package record_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/state"
)

func podOf(i int, containers int) *state.Pod {
	return state.NewPod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("uid-", i)), Labels: map[string]string{"app": "a"}},
		Spec:       v1.PodSpec{NodeName: "n", Containers: make([]v1.Container, containers)},
	})
}

func pods(n, containers int) inbox.Event {
	var all []*state.Pod
	for i := range n {
		all = append(all, podOf(i, containers))
	}
	return &inbox.Pods{Pods: all}
}

func settings() *inbox.Settings { return &inbox.Settings{Start: time.Unix(0, 0)} }

// drain reads a recording, and returns the number of events and how many MiB were allocated.
func drain(t *testing.T, in io.Reader) (events int, made uint64, err error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := record.NewReader(in)
	for err == nil {
		if _, err = r.Next(); err == nil {
			events++
		}
	}
	runtime.ReadMemStats(&after)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return events, (after.TotalAlloc - before.TotalAlloc) >> 20, err
}

// inText is the text form of a recording.
func inText(t *testing.T, events ...inbox.Event) []byte {
	t.Helper()
	out := "# " + record.Header
	for _, e := range events {
		line, err := inbox.Format(e)
		if err != nil {
			t.Fatal(err)
		}
		out += line + "\n"
	}
	return []byte(out)
}

// TestBombs: a small recording becomes no large value, in neither form.
func TestBombs(t *testing.T) {
	var modules []inbox.Event
	for i := range 2 {
		data := make([]byte, 34<<20)
		data[0] = byte(i)
		digest := fmt.Sprintf("%x", sha256.Sum256(data))
		modules = append(modules, &inbox.Module{File: digest + ".wasm", Digest: "sha256:" + digest, Bytes: data})
	}
	for name, recording := range map[string][]byte{
		"one pod":         written(t, record.Config{}, settings(), pods(1, 500_000)),
		"one pod in text": bytes.ReplaceAll(inText(t, settings(), pods(1, 100_000)), []byte(`{"name":"","resources":{}}`), []byte("{}")),
		"many pods":       written(t, record.Config{}, settings(), pods(100, 10_000)),
		"modules":         written(t, record.Config{}, append([]inbox.Event{settings()}, modules...)...),
		"a large event":   written(t, record.Config{}, &inbox.Module{File: "x", Bytes: make([]byte, 129<<20)}),
	} {
		if _, made, err := drain(t, bytes.NewReader(recording)); err == nil || made > 1200 {
			t.Errorf("%s: %d bytes took %d MiB: %v", name, len(recording), made, err)
		}
	}
}

// TestHole: a recording in text with a hole of a gigabyte is refused at its begin.
func TestHole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hole")
	if err := os.WriteFile(path, inText(t, settings()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<30); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, made, err := drain(t, f); made > 16 || err == nil || !strings.Contains(err.Error(), "a line has a zero byte") {
		t.Errorf("took %d MiB: %v", made, err)
	}
}

// TestAlike: many pods that are alike, which pack well, are no bomb.
func TestAlike(t *testing.T) {
	all := []inbox.Event{settings()}
	for range 5 {
		all = append(all, pods(5000, 2))
	}
	for name, recording := range map[string][]byte{"packed": written(t, record.Config{}, all...), "in text": append(inText(t, all...), "end\n"...)} {
		if events, _, err := drain(t, bytes.NewReader(recording)); err != nil || events != len(all)+1 {
			t.Errorf("%s, %d bytes: %d events, %v", name, len(recording), events, err)
		}
		if bytes.Contains(recording, []byte("uid-4999")) != (name == "in text") {
			t.Errorf("%s: is the other form", name)
		}
	}
}

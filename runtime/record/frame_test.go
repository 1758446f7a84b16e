package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
)

// framesOf returns the frames of a recording.
func framesOf(recording []byte) (out [][]byte) {
	for rest := recording[len(record.Header):]; len(rest) > 0; {
		n := frameHead + int(binary.LittleEndian.Uint32(rest))
		out, rest = append(out, rest[:n]), rest[n:]
	}
	return out
}

// noise returns events that make several frames.
func noise(seed uint64, n int) (out []inbox.Event) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		out = append(out, &inbox.NodeGone{Name: fmt.Sprintf("%x%s", r.Uint64(), strings.Repeat("n", 20_000))})
	}
	return out
}

// TestFrames: frames that were lost, doubled, exchanged or taken from another recording are damage, at whatever place. A recording
// that was cut off, at the boundary of a frame or inside, is one whose end is missing, and all whole frames are read.
func TestFrames(t *testing.T) {
	recording, other := written(t, record.Config{}, noise(1, 100)...), framesOf(written(t, record.Config{}, noise(2, 100)...))
	frames := framesOf(recording)
	if len(frames) < 6 {
		t.Fatalf("%d frames", len(frames))
	}
	whole, _ := read(t, recording)
	damaged := func(what string, frames ...[]byte) {
		t.Helper()
		lines, err := read(t, append([]byte(record.Header), bytes.Join(frames, nil)...))
		if err == nil || errors.Is(err, record.ErrCut) || !strings.Contains(err.Error(), "the recording is damaged after event ") {
			t.Errorf("%s: %v", what, err)
		}
		for i, line := range lines {
			if line != whole[i] && !strings.Contains(what, "another") {
				t.Fatalf("%s: event %d differs", what, i)
			}
		}
	}
	with := func(parts ...[][]byte) (out [][]byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	for i := range frames {
		if i < len(frames)-1 {
			damaged(fmt.Sprint("lost ", i), with(frames[:i], frames[i+1:])...)
			damaged(fmt.Sprint("of another ", i), with(frames[:i], other[i:i+1], frames[i+1:])...)
		}
		damaged(fmt.Sprint("doubled ", i), with(frames[:i+1], frames[i:])...)
		for j := range i {
			damaged(fmt.Sprint("exchanged ", j, i), with(frames[:j], frames[i:i+1], frames[j+1:i], frames[j:j+1], frames[i+1:])...)
		}
		boundary := len(record.Header) + len(bytes.Join(frames[:i], nil))
		at, _ := read(t, recording[:boundary])
		for _, n := range []int{0, 1, frameHead - 1, frameHead, frameHead + 1, len(frames[i]) / 2, len(frames[i]) - 1} {
			lines, err := read(t, recording[:boundary+n])
			if !errors.Is(err, record.ErrCut) || len(lines) != len(at) {
				t.Errorf("cut in frame %d after %d bytes: %d events, want %d; %v", i, n, len(lines), len(at), err)
			}
		}
	}
}

// TestCutAnywhere: a recording is cut off at each byte.
func TestCutAnywhere(t *testing.T) {
	recording := written(t, record.Config{}, &inbox.Settings{Seed: 7}, &inbox.Step{}, &inbox.NodeGone{Name: "n"})
	for n := len(record.Header); n < len(recording); n++ {
		if _, err := read(t, recording[:n]); !errors.Is(err, record.ErrCut) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

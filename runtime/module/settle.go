package module

import (
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// maxPending is the number of changed files that are tracked one by one. Beyond it, only the
// fact that something changed is kept.
const maxPending = 1000

// settling decides when to report changes. It reports all of them together once every file
// rests: has not changed for settle. While some files keep changing, a resting file waits no
// longer than most after its first change.
type settling struct {
	settle, most time.Duration
	pending      map[string]pending
}

// pending is a file with unreported changes.
type pending struct{ first, last time.Time }

func newSettling(settle time.Duration) *settling {
	return &settling{settle: settle, most: 10 * settle, pending: map[string]pending{}}
}

// changed records a change of a file; "" is no particular file.
func (s *settling) changed(file string, now time.Time) {
	p, known := s.pending[file]
	if !known {
		if len(s.pending) >= maxPending {
			file = ""
			p, known = s.pending[file]
		}
		if !known {
			p.first = now
		}
	}
	p.last = now
	s.pending[file] = p
}

// due returns when to report the changes. ok is false if there are none.
func (s *settling) due() (at time.Time, ok bool) {
	var all, waited time.Time // when all files rest; when one has waited long enough
	for _, p := range s.pending {
		rests := p.last.Add(s.settle)
		if rests.After(all) {
			all = rests
		}
		enough := p.first.Add(s.most)
		if enough.Before(rests) {
			enough = rests
		}
		if waited.IsZero() || enough.Before(waited) {
			waited = enough
		}
	}
	if waited.Before(all) {
		all = waited
	}
	return all, len(s.pending) > 0
}

// take returns the files that are still being written, sorted, and forgets the others.
func (s *settling) take(now time.Time) (moving []string) {
	for file, p := range s.pending {
		if now.Before(p.last.Add(s.settle)) {
			moving = append(moving, file)
		} else {
			delete(s.pending, file)
		}
	}
	slices.Sort(moving)
	return moving
}

// Change reports that files of a folder have changed.
type Change struct {
	// Moving are the names of files that are still being written, sorted: reading them now may
	// return half of their contents. Another Change follows when they rest.
	Moving []string
}

// Complete reports whether a module's file, and the files beside it, rest.
func (c Change) Complete(e *Entry) bool {
	base := strings.TrimSuffix(e.Path, ".wasm")
	base = base[strings.LastIndexAny(base, `/\`)+1:]
	return !slices.ContainsFunc(c.Moving, func(name string) bool {
		return name == base+".wasm" || name == base+".yaml" || name == base+".wasm"+signing.Suffix
	})
}

package schema

import (
	"slices"

	"github.com/berth-scheduler/berth/internal/plain"
)

// Problem is a mistake at a path; the caller knows the file.
type Problem struct{ Path, Detail, Fix string }

// Error returns "path: detail; fix".
func (p *Problem) Error() string {
	text := p.Detail
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Fix != "" {
		text += "; " + p.Fix
	}
	return text
}

// MaxPath is the maximum size of a path in a message, in bytes.
const MaxPath = 128

// findings collects mistakes, up to a maximum.
type findings struct {
	list []Problem
	most int
}

func (f *findings) full() bool { return len(f.list) >= f.most }

// add cuts a mistake to size and keeps it, unless it is already there.
func (f *findings) add(p Problem) {
	if f.full() {
		return
	}
	p.Path = plain.Cut(p.Path, MaxPath)
	room := MaxProblem - len(p.Path)
	p.Detail = plain.Cut(p.Detail, room-min(len(p.Fix), room/3))
	p.Fix = plain.Cut(p.Fix, room-len(p.Detail))
	if !slices.Contains(f.list, p) {
		f.list = append(f.list, p)
	}
}

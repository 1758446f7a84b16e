package module

import (
	"slices"

	"github.com/berth-scheduler/berth/internal/plain"
)

// maxPath is the maximum size of a path in a message, in bytes.
const maxPath = 128

// findings collects mistakes, up to a maximum.
type findings struct {
	list []problem
	most int
}

func (f *findings) full() bool { return len(f.list) >= f.most }

// add cuts a mistake to size and keeps it, unless it is already there.
func (f *findings) add(p problem) {
	if f.full() {
		return
	}
	p.path = plain.Cut(p.path, maxPath)
	room := maxProblem - len(p.path)
	p.detail = plain.Cut(p.detail, room-min(len(p.fix), room/3))
	p.fix = plain.Cut(p.fix, room-len(p.detail))
	if !slices.Contains(f.list, p) {
		f.list = append(f.list, p)
	}
}

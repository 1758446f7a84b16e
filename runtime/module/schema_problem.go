package module

import (
	"slices"

	"github.com/berth-scheduler/berth/internal/plain"
)

// maxPath is the bytes of a path in a mistake.
const maxPath = 128

// findings are mistakes, at most that many.
type findings struct {
	list []problem
	most int
}

func (f *findings) full() bool { return len(f.list) >= f.most }

// add cuts a mistake to its size and keeps it, unless it is there already.
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

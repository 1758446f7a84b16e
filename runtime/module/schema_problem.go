package module

import (
	"slices"
	"unicode/utf8"
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
	p.path = cut(p.path, maxPath)
	room := maxProblem - len(p.path)
	p.detail = cut(p.detail, room-min(len(p.fix), room/3))
	p.fix = cut(p.fix, room-len(p.detail))
	if !slices.Contains(f.list, p) {
		f.list = append(f.list, p)
	}
}

// cut shortens a text to at most most bytes, with … at the end if it was longer.
func cut(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	end := max(0, most-len(mark))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

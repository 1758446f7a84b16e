// Package shrink makes a scenario smaller while it still shows what it was found
// for, by leaving out steps, objects and fields, whatever they mean.
package shrink

import (
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// Scenario returns a smaller scenario for which shows holds, as it does for s.
// It tries at most so many.
func Scenario(s *scenario.Scenario, shows func(*scenario.Scenario) bool, tries int) *scenario.Scenario {
	root, err := s.Tree()
	if err != nil {
		return s
	}
	w := &work{root: root, shows: shows, left: tries, best: s}
	for {
		before := w.kept
		w.visit(root, func(any) {})
		if w.kept == before || w.left <= 0 {
			return w.best
		}
	}
}

type work struct {
	root       map[string]any
	shows      func(*scenario.Scenario) bool
	left, kept int
	best       *scenario.Scenario
}

// try reports whether the tree as it is still shows the difference.
func (w *work) try() bool {
	if w.left <= 0 {
		return false
	}
	w.left--
	s, err := scenario.FromTree(w.root)
	if err != nil || !w.shows(s) {
		return false
	}
	w.kept++
	w.best = s
	return true
}

// visit leaves out parts of a value, then parts of its parts; put replaces the
// value in its parent.
func (w *work) visit(value any, put func(any)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			child := v[key]
			delete(v, key)
			if w.try() {
				continue
			}
			v[key] = child
			w.visit(child, func(now any) { v[key] = now })
		}
	case []any:
		w.list(v, put)
	}
}

// list leaves out halves, quarters … single elements.
func (w *work) list(list []any, put func(any)) {
	for size := max(1, len(list)/2); len(list) > 0; size /= 2 {
		for at := 0; at < len(list); {
			without := slices.Concat(list[:at:at], list[min(at+size, len(list)):])
			put(without)
			if w.try() {
				list = without
				continue
			}
			put(list)
			at += size
		}
		if size == 1 {
			break
		}
	}
	for i := range list {
		w.visit(list[i], func(now any) { list[i] = now })
	}
}

// Package shrink reduces a case while it still shows a difference, by leaving out steps,
// objects and fields, whatever they mean.
package shrink

import (
	"maps"
	"slices"
)

// Tree leaves parts out of a tree of maps, lists and scalars as long as shows holds for the
// rest, as it does for the whole tree. keep names fields of the root that stay unchanged. tries
// is the maximum number of attempts.
func Tree(root map[string]any, keep []string, shows func(root map[string]any) bool, tries int) {
	w := &work{root: root, shows: shows, left: tries}
	for {
		before := w.kept
		for _, key := range slices.Sorted(maps.Keys(root)) {
			if !slices.Contains(keep, key) {
				w.part(root, key)
			}
		}
		if w.kept == before || w.left <= 0 {
			return
		}
	}
}

type work struct {
	root       map[string]any
	shows      func(map[string]any) bool
	left, kept int
}

// try reports whether the current tree still shows the difference.
func (w *work) try() bool {
	if w.left <= 0 {
		return false
	}
	w.left--
	if !w.shows(w.root) {
		return false
	}
	w.kept++
	return true
}

// visit leaves out parts of a value, then parts of its parts; put replaces the
// value in its parent.
func (w *work) visit(value any, put func(any)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			w.part(v, key)
		}
	case []any:
		w.list(v, put)
	}
}

// part leaves out a field, or parts of it.
func (w *work) part(of map[string]any, key string) {
	child, ok := of[key]
	if !ok {
		return
	}
	delete(of, key)
	if w.try() {
		return
	}
	of[key] = child
	w.visit(child, func(now any) { of[key] = now })
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

// Package heap is a binary heap whose values can be found, changed and removed
// by key. It is deterministic: of values that are equal in the order, the one
// pushed first comes first.
package heap

import "slices"

// Heap keeps values of type T, one a key. It is not safe for concurrent use.
//
// Push, Pop, Delete and Fix take O(log n), Get and Peek O(1). Once a heap has
// held n values it allocates nothing to hold up to n again.
type Heap[K comparable, T any] struct {
	key  func(T) K
	less func(a, b T) bool
	// nodes[:len] is the heap; up to the capacity, spare nodes may follow that
	// the next Push uses.
	nodes []*node[K, T]
	byKey map[K]*node[K, T]
	seq   uint64
}

type node[K comparable, T any] struct {
	key   K
	value T
	at    int    // its place in nodes
	seq   uint64 // the order of pushes
}

// New returns an empty heap. The key of a value must not change while the heap
// holds it, and less must be a strict weak order. After a value's place in that
// order has changed, call Fix; after the order itself has changed, Rebuild.
func New[K comparable, T any](key func(T) K, less func(a, b T) bool) *Heap[K, T] {
	return &Heap[K, T]{key: key, less: less, byKey: make(map[K]*node[K, T])}
}

// Len returns the number of values.
func (h *Heap[K, T]) Len() int { return len(h.nodes) }

// Push adds v, or puts it in the place of the value with its key, which keeps
// that value's turn among equals. It reports whether the key is new.
func (h *Heap[K, T]) Push(v T) (added bool) {
	k := h.key(v)
	if n, ok := h.byKey[k]; ok {
		n.value = v
		h.fix(n)
		return false
	}
	n := h.spare()
	h.seq++
	n.key, n.value, n.seq = k, v, h.seq
	h.byKey[k] = n
	h.up(n.at)
	return true
}

// spare lengthens nodes by one node and returns it.
func (h *Heap[K, T]) spare() *node[K, T] {
	i := len(h.nodes)
	if i < cap(h.nodes) {
		h.nodes = h.nodes[:i+1]
	} else {
		h.nodes = append(h.nodes, nil)
	}
	if h.nodes[i] == nil {
		h.nodes[i] = new(node[K, T])
	}
	h.nodes[i].at = i
	return h.nodes[i]
}

// Peek returns the first value without removing it.
func (h *Heap[K, T]) Peek() (v T, ok bool) {
	if len(h.nodes) == 0 {
		return v, false
	}
	return h.nodes[0].value, true
}

// Pop removes and returns the first value.
func (h *Heap[K, T]) Pop() (v T, ok bool) {
	if len(h.nodes) == 0 {
		return v, false
	}
	return h.remove(h.nodes[0]), true
}

// Get returns the value of a key.
func (h *Heap[K, T]) Get(k K) (v T, ok bool) {
	n, ok := h.byKey[k]
	if !ok {
		return v, false
	}
	return n.value, true
}

// Delete removes and returns the value of a key.
func (h *Heap[K, T]) Delete(k K) (v T, ok bool) {
	n, ok := h.byKey[k]
	if !ok {
		return v, false
	}
	return h.remove(n), true
}

// Fix moves the value of a key to its place after the value has changed. It
// reports whether the heap holds the key.
func (h *Heap[K, T]) Fix(k K) bool {
	n, ok := h.byKey[k]
	if ok {
		h.fix(n)
	}
	return ok
}

// Rebuild restores the order of all values, in O(n), after the order itself has
// changed.
func (h *Heap[K, T]) Rebuild() {
	for i := len(h.nodes)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// List returns the values in the order in which Pop would return them.
func (h *Heap[K, T]) List() []T {
	sorted := slices.Clone(h.nodes)
	slices.SortFunc(sorted, func(a, b *node[K, T]) int {
		if h.before(a, b) {
			return -1
		}
		return 1
	})
	out := make([]T, len(sorted))
	for i, n := range sorted {
		out[i] = n.value
	}
	return out
}

// before is less made total by the order of pushes.
func (h *Heap[K, T]) before(a, b *node[K, T]) bool {
	if h.less(a.value, b.value) {
		return true
	}
	return a.seq < b.seq && !h.less(b.value, a.value)
}

// remove takes n out of the heap and leaves its node, emptied, as the first spare.
func (h *Heap[K, T]) remove(n *node[K, T]) T {
	at, last := n.at, len(h.nodes)-1
	h.swap(at, last)
	h.nodes = h.nodes[:last]
	if at < last {
		h.fix(h.nodes[at])
	}
	v := n.value
	delete(h.byKey, n.key)
	*n = node[K, T]{}
	return v
}

func (h *Heap[K, T]) fix(n *node[K, T]) {
	if !h.up(n.at) {
		h.down(n.at)
	}
}

// up moves nodes[i] towards the root and reports whether it moved.
func (h *Heap[K, T]) up(i int) bool {
	start := i
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(h.nodes[i], h.nodes[parent]) {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i != start
}

// down moves nodes[i] towards the leaves.
func (h *Heap[K, T]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.nodes) {
			return
		}
		if right := child + 1; right < len(h.nodes) && h.before(h.nodes[right], h.nodes[child]) {
			child = right
		}
		if !h.before(h.nodes[child], h.nodes[i]) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

func (h *Heap[K, T]) swap(i, j int) {
	h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i]
	h.nodes[i].at, h.nodes[j].at = i, j
}

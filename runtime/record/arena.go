package record

import "slices"

// arena has the copies that are needed until the next event, so that they are not garbage.
type arena[T any] struct{ list []T }

// most is how many copies an arena keeps room for.
const most = 256

// grow makes room for n copies.
func (a *arena[T]) grow(n int) { a.list = slices.Grow(a.list, n) }

// clone copies a list. nil remains nil.
func (a *arena[T]) clone(list []T) []T {
	if list == nil {
		return nil
	}
	from := len(a.list)
	a.list = append(a.list, list...)
	return a.list[from:len(a.list):len(a.list)]
}

// copy copies a value.
func (a *arena[T]) copy(v *T) *T {
	a.list = append(a.list, *v)
	return &a.list[len(a.list)-1]
}

// reset ends the use of all copies.
func (a *arena[T]) reset() {
	if cap(a.list) > most {
		a.list = nil
	}
	clear(a.list)
	a.list = a.list[:0]
}

package volumebinding

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object is a pointer to an API object.
type object interface {
	comparable
	metav1.Object
}

// promises holds objects, by name, with the changes assumed for pods that are being bound. Pods
// that share a claim assume the same changes. A promise holds as long as the API has the
// version that it was made from.
type promises[K comparable, T object] map[K][]T

// over returns an object as promised, or else as stored.
func (p promises[K, T]) over(key K, stored T) T {
	var none T
	if list := p[key]; len(list) > 0 && stored != none {
		if last := list[len(list)-1]; last.GetResourceVersion() == stored.GetResourceVersion() {
			return last
		}
	}
	return stored
}

// add adds a promised object, a changed copy of what is stored.
func (p promises[K, T]) add(key K, stored, promised T) error {
	var none T
	switch {
	case stored == none:
		return fmt.Errorf("%v no longer exists", key)
	case stored.GetResourceVersion() != promised.GetResourceVersion():
		return fmt.Errorf("%q is out of sync (stored: %s, assume: %s)",
			fmt.Sprint(key), stored.GetResourceVersion(), promised.GetResourceVersion())
	}
	p[key] = append(p[key], promised)
	return nil
}

// takeBack withdraws one promise, if it still exists.
func (p promises[K, T]) takeBack(key K, promised T) {
	left := slices.DeleteFunc(p[key], func(o T) bool { return o == promised })
	if p[key] = left; len(left) == 0 {
		delete(p, key)
	}
}

// expire drops the promises for an object that is now stored in another version, or not at all.
func (p promises[K, T]) expire(key K, stored T) {
	var none T
	if list := p[key]; len(list) > 0 && (stored == none || list[0].GetResourceVersion() != stored.GetResourceVersion()) {
		delete(p, key)
	}
}

package wasm

import (
	"reflect"
	"sync"
	"weak"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/lru"
)

// encodingsSize is how much Encodings keep, in bytes.
const encodingsSize = 32 << 20

// Encodings keep objects as protobuf for plugins that read them whole. They are for all
// plugins of a process: what an object is encoded as depends on nothing else. Those
// that were not read for longest are dropped.
//
// An object is known by its address, as nobody changes one in place. The address is
// weak: objects that are deleted are not kept, and their addresses, when they are used
// again, are others.
type Encodings struct {
	most int // bytes

	mu struct {
		sync.Mutex
		recent *lru.Cache // of *encoding, by weak pointers
		bytes  int
	}
}

// encoding is an object as protobuf, and what reading it costs in fuel.
type encoding struct {
	data  []byte
	price int64
}

// NewEncodings returns Encodings that have none.
func NewEncodings() *Encodings { return newEncodings(encodingsSize) }

func newEncodings(most int) *Encodings {
	e := &Encodings{most: most}
	e.mu.recent = lru.NewWithEvictionFunc(0, func(_ lru.Key, value any) { // with e.mu held
		e.mu.bytes -= value.(*encoding).size()
	})
	return e
}

// size is what an encoding takes in bytes, with the entry.
func (e *encoding) size() int {
	const entry = 256
	return cap(e.data) + entry
}

func (e *Encodings) pod(pod *v1.Pod) *encoding {
	return e.get(weak.Make(pod), func() *encoding {
		object := *pod
		object.ManagedFields = nil
		data, err := object.Marshal()
		if err != nil {
			panic("BUG: a pod cannot be encoded: " + err.Error())
		}
		return &encoding{data: data, price: priceOfObject(len(data), reflect.ValueOf(&object))}
	})
}

func (e *Encodings) node(node *v1.Node) *encoding {
	return e.get(weak.Make(node), func() *encoding {
		object := *node
		object.ManagedFields = nil
		data, err := object.Marshal()
		if err != nil {
			panic("BUG: a node cannot be encoded: " + err.Error())
		}
		return &encoding{data: data, price: priceOfObject(len(data), reflect.ValueOf(&object))}
	})
}

// get returns the encoding of an object. Several callers may encode one at the same
// time, as nobody waits for another.
func (e *Encodings) get(key any, encode func() *encoding) *encoding {
	e.mu.Lock()
	known, ok := e.mu.recent.Get(key)
	e.mu.Unlock()
	if ok {
		return known.(*encoding)
	}
	made := encode()
	if made.size() > e.most {
		return made
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.mu.recent.Get(key); ok {
		return made
	}
	e.mu.recent.Add(key, made)
	for e.mu.bytes += made.size(); e.mu.bytes > e.most; {
		e.mu.recent.RemoveOldest()
	}
	return made
}

// priceOfObject is what reading an object costs whose encoding has so many bytes. It
// is for encoding it, even if that was done before.
func priceOfObject(bytes int, object reflect.Value) int64 {
	return 32 + int64(bytes)/4 + effort(object)
}

// What encoding the parts of an object costs besides their bytes: entries of maps are
// sorted, and quantities are written as text.
const (
	priceOfMessage  = 4
	priceOfEntry    = 64
	priceOfQuantity = 32
)

// effort is what encoding a value costs in iterations besides its bytes.
func effort(v reflect.Value) (price int64) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			price = effort(v.Elem())
		}
	case reflect.Struct:
		price = priceOfMessage
		if v.Type() == reflect.TypeFor[resource.Quantity]() {
			return price + priceOfQuantity
		}
		for i := range v.NumField() {
			if f := v.Field(i); hasParts(f.Kind()) && f.CanInterface() {
				price += effort(f)
			}
		}
	case reflect.Slice:
		if !hasParts(v.Type().Elem().Kind()) {
			return int64(v.Len())
		}
		for i := range v.Len() {
			price += effort(v.Index(i))
		}
	case reflect.Map:
		price = priceOfEntry * int64(v.Len())
		if hasParts(v.Type().Elem().Kind()) {
			for values := v.MapRange(); values.Next(); {
				price += effort(values.Value())
			}
		}
	}
	return price
}

// hasParts reports whether values of a kind are made of others.
func hasParts(k reflect.Kind) bool {
	return k == reflect.Pointer || k == reflect.Struct || k == reflect.Slice || k == reflect.Map
}

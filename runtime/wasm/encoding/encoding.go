// Package encoding caches pods and nodes as protobuf, for plugins that read them whole, and
// sets the price of reading one.
package encoding

import (
	"reflect"
	"sync"
	"weak"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/lru"
)

// cacheSize is the size of a Cache in bytes.
const cacheSize = 32 << 20

// Cache keeps encoded objects, up to a number of bytes, and drops the least recently read
// ones. All plugins of a process share it, since an encoding depends on its object alone.
//
// The key of an object is a weak pointer to it, as nobody changes an object in place. A weak
// pointer does not keep a deleted object alive, and differs from that of a new object at the
// same address.
type Cache struct {
	most int // bytes

	mu struct {
		sync.Mutex
		recent *lru.Cache // of *Object, by weak pointers
		bytes  int
	}
}

// Object is an object as protobuf, with the price of reading it in loop iterations.
type Object struct {
	Data  []byte
	Price int64
}

// New returns an empty cache.
func New() *Cache { return bounded(cacheSize) }

func bounded(most int) *Cache {
	c := &Cache{most: most}
	c.mu.recent = lru.NewWithEvictionFunc(0, func(_ lru.Key, value any) { // with c.mu held
		c.mu.bytes -= value.(*Object).size()
	})
	return c
}

// size returns the size of an entry with its encoding, in bytes.
func (e *Object) size() int {
	const entry = 256
	return cap(e.Data) + entry
}

// Pod returns a pod without its managed fields.
func (c *Cache) Pod(pod *v1.Pod) *Object {
	return c.get(weak.Make(pod), func() *Object {
		object := *pod
		object.ManagedFields = nil
		data, err := object.Marshal()
		if err != nil {
			panic("BUG: a pod cannot be encoded: " + err.Error())
		}
		return &Object{Data: data, Price: priceOfObject(len(data), reflect.ValueOf(&object))}
	})
}

// Node returns a node without its managed fields.
func (c *Cache) Node(node *v1.Node) *Object {
	return c.get(weak.Make(node), func() *Object {
		object := *node
		object.ManagedFields = nil
		data, err := object.Marshal()
		if err != nil {
			panic("BUG: a node cannot be encoded: " + err.Error())
		}
		return &Object{Data: data, Price: priceOfObject(len(data), reflect.ValueOf(&object))}
	})
}

// get returns the encoding of an object. Callers do not wait for each other, so several may
// encode the same object.
func (c *Cache) get(key any, encode func() *Object) *Object {
	c.mu.Lock()
	known, ok := c.mu.recent.Get(key)
	c.mu.Unlock()
	if ok {
		return known.(*Object)
	}
	made := encode()
	if made.size() > c.most {
		return made
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.mu.recent.Get(key); ok {
		return made
	}
	c.mu.recent.Add(key, made)
	for c.mu.bytes += made.size(); c.mu.bytes > c.most; {
		c.mu.recent.RemoveOldest()
	}
	return made
}

// priceOfObject is the price of reading an object whose encoding has so many bytes. It
// includes encoding the object, even if the cache has it.
func priceOfObject(bytes int, object reflect.Value) int64 {
	return 32 + int64(bytes)/4 + effort(object)
}

// Prices of encoding the parts of an object, besides their bytes: map entries are sorted, and
// quantities are written as text.
const (
	priceOfMessage  = 4
	priceOfEntry    = 64
	priceOfQuantity = 32
)

// effort returns the price of encoding a value in iterations, besides its bytes.
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

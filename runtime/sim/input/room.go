package input

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// What values may take, in bytes: so many for each byte of text, and besidesAll for all texts together. A pod with a name and a container,
// and nothing else, takes 24 times its text, and one of a cluster five times. A list of {} for containers takes 270 times its text.
const (
	perByte    = 48
	besidesAll = 256 << 20
	// valueSize is more than a value of a list takes that is not text, itemSize what an item of a list of objects takes here.
	valueSize, itemSize = 2 << 10, 2 << 10
)

// room is what the values of all files of a reader may take.
type room struct {
	taken atomic.Int64 // of besidesAll
	full  atomic.Bool
}

// take takes room for values. ok is false once there is no more, and first is true then for one caller.
func (r *room) take(text, cost int64) (ok, first bool) {
	if more := cost - perByte*text; more > 0 && r.taken.Add(more) > besidesAll {
		return false, !r.full.Swap(true)
	}
	return !r.full.Load(), false
}

// forObject takes room for an object. Most objects are so far from taking much that their values need not be counted.
func (r *room) forObject(ctx context.Context, text []byte, scheme *runtime.Scheme) (ok, first bool) {
	size := int64(len(text))
	if size*perByte >= valueSize*mostValues(text) {
		return r.take(size, 0)
	}
	t := reflect.TypeFor[any]()
	if gvk, err := json.DefaultMetaFactory.Interpret(text); err == nil {
		if o, err := scheme.New(*gvk); err == nil {
			t = reflect.TypeOf(o).Elem()
		}
	}
	cost, err := bounded.Cost(ctx, text, perByte*size+besidesAll, t)
	if errors.As(err, new(*bounded.TooLarge)) {
		cost += besidesAll // it was not counted to the end
	}
	return r.take(size, cost)
}

// mostValues returns how many values a text may have that are objects, or in a list and not text.
func mostValues(text []byte) (n int64) {
	for i, c := range text {
		switch c {
		case '{':
			n++
		case ',', '[':
			next := bytes.TrimLeft(text[i+1:min(i+9, len(text))], " \t\r\n")
			if len(next) > 0 && !bytes.ContainsAny(next[:1], `"{]`) {
				n++
			}
		}
	}
	return n
}

// items takes room for the objects of a list or a file.
func (d *decoder) items(c *chunk, n int, r *result) bool {
	ok, first := d.room.take(int64(len(c.text)), int64(n)*itemSize)
	if !ok {
		r.noRoom(c, first)
	}
	return ok
}

// noRoom says that there is no more room, if this is the first time.
func (r *result) noRoom(c *chunk, first bool) {
	if first {
		r.fail(place{chunk: c}, nil, "", "the values up to here would take too much memory for their text",
			"remove lists of empty or very short values")
	}
}

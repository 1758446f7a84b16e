package inbox

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// Encoder writes events in the compact encoding:
//
//	event  = type field … .
//	type   = a byte, the index of the type among all types.
//	number = uvarint. flag = a byte. text, bytes, name = length (uvarint), bytes.
//	names, objects = count (uvarint), then each.
//	time   = nanoseconds since the previous time of this encoder, or since 1970 (varint).
//	object = length + 1 (uvarint; 0 for none), Kubernetes protobuf.
//	json   = text.
//
// The fields of a type are those of its text form, in the same order; none is left out.
type Encoder struct {
	types map[reflect.Type]encoded
	last  int64
	out   []byte
	err   error
}

// encoded is a type of events. Writing visits a copy, because a visit sets the fields, and others may read the event.
type encoded struct {
	number byte
	copy   reflect.Value // to an event
}

// NewEncoder returns an encoder. Its events must be decoded in their order by one decoder.
func NewEncoder() *Encoder {
	c := &Encoder{types: make(map[reflect.Type]encoded)}
	for i, make := range newEvents() {
		_, e := make()
		c.types[reflect.TypeOf(e)] = encoded{byte(i), reflect.ValueOf(e)}
	}
	return c
}

// Reset makes the next event the first one for a decoder.
func (c *Encoder) Reset() { c.last = 0 }

// Append appends an event.
//
// # Errors
//
// The event has an object that cannot be encoded.
func (c *Encoder) Append(out []byte, e Event) ([]byte, error) {
	t, ok := c.types[reflect.TypeOf(e)]
	if !ok {
		return out, fmt.Errorf("BUG: a %T cannot be recorded", e)
	}
	t.copy.Elem().Set(reflect.ValueOf(e).Elem())
	c.out, c.err = append(out, t.number), nil
	t.copy.Interface().(Event).visit(c)
	t.copy.Elem().SetZero()
	out, c.out = c.out, nil
	return out, c.err
}

func (c *Encoder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *Encoder) name(v string) string {
	c.out = append(binary.AppendUvarint(c.out, uint64(len(v))), v...)
	return v
}

func (c *Encoder) names(v []string) []string {
	c.out = binary.AppendUvarint(c.out, uint64(len(v)))
	for _, name := range v {
		c.name(name)
	}
	return v
}

func (c *Encoder) text(_, v string) string { return c.name(v) }

func (c *Encoder) bytes(_ string, v []byte) []byte {
	c.out = append(binary.AppendUvarint(c.out, uint64(len(v))), v...)
	return v
}

func (c *Encoder) number(_ string, v uint64) uint64 {
	c.out = binary.AppendUvarint(c.out, v)
	return v
}

func (c *Encoder) since(int) bool { return true }

func (c *Encoder) before(int) bool { return false }

func (c *Encoder) flag(_ string, v bool) bool {
	b := byte(0)
	if v {
		b = 1
	}
	c.out = append(c.out, b)
	return v
}

func (c *Encoder) time(_ string, v time.Time) time.Time {
	now := v.UnixNano()
	c.out = binary.AppendVarint(c.out, now-c.last)
	c.last = now
	return v
}

func (c *Encoder) duration(_ string, v time.Duration) time.Duration {
	c.out = binary.AppendVarint(c.out, int64(v))
	return v
}

func (c *Encoder) json(_ string, v any, given bool) {
	if !given {
		c.out = append(c.out, 0)
		return
	}
	data, err := json.Marshal(v)
	if err != nil {
		c.fail(err)
	}
	c.bytes("", data)
}

func (c *Encoder) object(_, _ string, v metav1.Object) metav1.Object {
	if v == nil {
		c.out = append(c.out, 0)
		return nil
	}
	object := v.(protobuf)
	size := object.Size()
	c.out = slices.Grow(binary.AppendUvarint(c.out, uint64(size)+1), size)
	into := c.out[len(c.out) : len(c.out)+size]
	if _, err := object.MarshalToSizedBuffer(into); err != nil {
		c.fail(err)
	}
	c.out = c.out[:len(c.out)+size]
	return v
}

func (c *Encoder) objects(_, kind string, v []metav1.Object) []metav1.Object {
	c.out = binary.AppendUvarint(c.out, uint64(len(v)))
	for _, object := range v {
		c.object("", kind, object)
	}
	return v
}

// Version is the version of the compact encoding.
const Version = 11

// Decoder reads what an Encoder wrote.
type Decoder struct {
	version int
	types   []func() (string, Event)
	last    int64
	in      []byte
	budget  bounded.Budget
	err     error
}

// What the values of a recording may take in memory: base bytes, and perByte for each byte of the file. Pods that are alike take some
// tens of bytes there, and some kilobytes in memory; of a bomb, a few bytes take a gigabyte.
const (
	base    = 256 << 20
	perByte = 1000
)

// NewDecoder returns a decoder of a version, from 4 to Version.
func NewDecoder(version int) *Decoder {
	return &Decoder{version: version, types: newEvents(), budget: bounded.Budget{Left: base}}
}

// Take takes memory of what the values of the recording may take.
func (c *Decoder) Take(bytes int64) error {
	if c.budget.Take(bytes) != nil {
		return errMemory
	}
	return nil
}

// Read tells the decoder that so many more bytes of the file were read.
func (c *Decoder) Read(bytes int) { c.budget.Left += perByte * int64(bytes) }

// Reset is as for an Encoder.
func (c *Decoder) Reset() { c.last = 0 }

var errShort = errors.New("it ends in the middle of an event")

// Next reads the first event and returns the rest.
//
// # Errors
//
// The event has an unknown type, or invalid or missing fields.
func (c *Decoder) Next(in []byte) (e Event, rest []byte, err error) {
	if len(in) == 0 {
		return nil, nil, errShort
	}
	if int(in[0]) >= len(c.types) {
		return nil, nil, fmt.Errorf("an event of type %d is unknown: it was recorded by a newer version of berth", in[0])
	}
	word, e := c.types[in[0]]()
	c.in, c.err = in[1:], nil
	e.visit(c)
	if c.err != nil {
		return nil, nil, fmt.Errorf("%s: %w", word, c.err)
	}
	return e, c.in, nil
}

func (c *Decoder) fail(err error) {
	if errors.As(err, new(*bounded.TooLarge)) {
		err = errMemory
	}
	if c.err == nil {
		c.err, c.in = err, nil
	}
}

var errMemory = errors.New("its values take more memory than those of a recording of this size do")

func (c *Decoder) number(string, uint64) uint64 {
	v, n := binary.Uvarint(c.in)
	if n <= 0 {
		c.fail(errShort)
		return 0
	}
	c.in = c.in[n:]
	return v
}

func (c *Decoder) varint() int64 {
	v, n := binary.Varint(c.in)
	if n <= 0 {
		c.fail(errShort)
		return 0
	}
	c.in = c.in[n:]
	return v
}

// take returns the next n bytes, which belong to the input.
func (c *Decoder) take(n uint64) []byte {
	if n > uint64(len(c.in)) {
		c.fail(errShort)
		return nil
	}
	out := c.in[:n]
	c.in = c.in[n:]
	return out
}

func (c *Decoder) name(string) string { return string(c.take(c.number("", 0))) }

// count reads the number of elements that follow, each of at least one byte.
func (c *Decoder) count() int {
	n := c.number("", 0)
	if n > uint64(len(c.in)) {
		c.fail(errShort)
		return 0
	}
	return int(n)
}

func (c *Decoder) names([]string) (out []string) {
	for range c.count() {
		out = append(out, c.name(""))
	}
	return out
}

func (c *Decoder) text(string, string) string { return c.name("") }

func (c *Decoder) bytes(string, []byte) []byte {
	return append([]byte(nil), c.take(c.number("", 0))...)
}

func (c *Decoder) since(version int) bool { return c.version >= version }

func (c *Decoder) before(version int) bool { return c.version < version }

func (c *Decoder) flag(string, bool) bool {
	b := c.take(1)
	if len(b) == 1 && b[0] > 1 {
		c.fail(errors.New("a flag is neither 0 nor 1"))
	}
	return len(b) == 1 && b[0] == 1
}

func (c *Decoder) time(string, time.Time) time.Time {
	c.last += c.varint()
	return time.Unix(0, c.last).UTC()
}

func (c *Decoder) duration(string, time.Duration) time.Duration { return time.Duration(c.varint()) }

func (c *Decoder) json(_ string, v any, _ bool) {
	data := c.take(c.number("", 0))
	if len(data) == 0 {
		return
	}
	if err := c.budget.JSON(context.Background(), data, v); err != nil {
		c.fail(err)
	}
}

func (c *Decoder) object(_, kind string, _ metav1.Object) metav1.Object {
	n := c.number("", 0)
	if n == 0 {
		return nil
	}
	data := c.take(n - 1)
	if c.err != nil {
		return nil
	}
	object, err := newObject(kind)
	if err == nil {
		err = c.budget.Protobuf(data, object)
	}
	if err == nil {
		err = object.Unmarshal(data)
	}
	if err != nil {
		c.fail(err)
		return nil
	}
	return object
}

func (c *Decoder) objects(_, kind string, _ []metav1.Object) (out []metav1.Object) {
	for range c.count() {
		object := c.object("", kind, nil)
		if object == nil {
			c.fail(errMissing)
			return nil
		}
		out = append(out, object)
	}
	return out
}

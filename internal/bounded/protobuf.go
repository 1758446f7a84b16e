package bounded

import (
	"encoding/binary"
	"errors"
	"reflect"
	"strconv"
	"strings"
)

// Budget is memory that values of several texts may take together.
type Budget struct {
	// Left is in bytes.
	Left int64

	messages map[reflect.Type]map[uint64]reflect.Type // fields by number
}

var errProtobuf = errors.New("it is no protobuf")

// Protobuf takes the memory that a message takes once it is decoded into what of points at: a struct whose fields have tags as those
// of Kubernetes' types. It decodes nothing.
//
// # Errors
//
// *TooLarge. The message is damaged.
func (b *Budget) Protobuf(message []byte, of any) error {
	t := reflect.TypeOf(of).Elem()
	if err := b.Take(int64(t.Size())); err != nil {
		return err
	}
	return b.message(t, message, 0)
}

// Take takes n bytes of memory.
//
// # Errors
//
// *TooLarge.
func (b *Budget) Take(n int64) error {
	if n > b.Left {
		return &TooLarge{Most: b.Left, Values: true}
	}
	b.Left -= n
	return nil
}

// message takes what the fields of a message take beside the struct.
func (b *Budget) message(t reflect.Type, data []byte, depth int) error {
	if depth > deepest {
		return errProtobuf
	}
	fields := b.fieldsOf(t)
	if fields == nil { // a time, a quantity
		return b.Take(grown * int64(len(data)))
	}
	var maps uint64 // those that have an entry, by number
	for len(data) > 0 {
		number, value, rest, err := nextField(data)
		if err != nil {
			return err
		}
		data = rest
		field := fields[number]
		if field == nil {
			continue
		}
		if field.Kind() == reflect.Map && maps&(1<<(number%64)) == 0 {
			maps |= 1 << (number % 64)
			if err := b.Take(header + slots*int64(field.Key().Size()+field.Elem().Size())); err != nil {
				return err
			}
		}
		if err := b.field(field, value, depth); err != nil {
			return err
		}
	}
	return nil
}

// field takes what the value of a field takes beside the field.
func (b *Budget) field(t reflect.Type, value []byte, depth int) error {
	switch t.Kind() {
	case reflect.Pointer:
		if err := b.Take(int64(t.Elem().Size())); err != nil {
			return err
		}
		return b.field(t.Elem(), value, depth)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return b.Take(int64(len(value)))
		}
		if err := b.Take(grown * int64(t.Elem().Size())); err != nil {
			return err
		}
		return b.field(t.Elem(), value, depth)
	case reflect.Map:
		if err := b.Take(entry + grown*int64(t.Key().Size()+t.Elem().Size())); err != nil {
			return err
		}
		return b.entry(t, value, depth)
	case reflect.Struct:
		return b.message(t, value, depth+1)
	}
	if t.Kind() != reflect.String { // numbers in a row, perhaps
		return b.Take(grown * 8 * int64(len(value)))
	}
	return b.Take(int64(len(value)))
}

// entry takes what the key and the value of a map take.
func (b *Budget) entry(t reflect.Type, data []byte, depth int) error {
	for len(data) > 0 {
		number, value, rest, err := nextField(data)
		if err != nil {
			return err
		}
		data = rest
		of := t.Elem()
		if number == 1 {
			of = t.Key()
		}
		if err := b.field(of, value, depth); err != nil {
			return err
		}
	}
	return nil
}

// bytesWire is the type of a field with a length.
const bytesWire = 2

// nextField reads a field. value is empty but for bytesWire.
func nextField(data []byte) (number uint64, value, rest []byte, err error) {
	tag, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, nil, nil, errProtobuf
	}
	data, number = data[n:], tag>>3
	wire, size := tag&7, uint64(0)
	switch wire {
	case 0:
		if _, n = binary.Uvarint(data); n <= 0 {
			return 0, nil, nil, errProtobuf
		}
		return number, nil, data[n:], nil
	case 1:
		size = 8
	case 5:
		size = 4
	case bytesWire:
		if size, n = binary.Uvarint(data); n <= 0 {
			return 0, nil, nil, errProtobuf
		}
		data = data[n:]
	default: // Kubernetes has no groups
		return 0, nil, nil, errProtobuf
	}
	if size > uint64(len(data)) {
		return 0, nil, nil, errProtobuf
	}
	if wire == bytesWire {
		value = data[:size]
	}
	return number, value, data[size:], nil
}

// fieldsOf returns the types of a struct's fields by their numbers; nil for one that has none.
func (b *Budget) fieldsOf(t reflect.Type) map[uint64]reflect.Type {
	if known, ok := b.messages[t]; ok {
		return known
	}
	var out map[uint64]reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		parts := strings.Split(f.Tag.Get("protobuf"), ",")
		if len(parts) < 2 {
			continue
		}
		if number, err := strconv.ParseUint(parts[1], 10, 32); err == nil {
			if out == nil {
				out = make(map[uint64]reflect.Type)
			}
			out[number] = f.Type
		}
	}
	if b.messages == nil {
		b.messages = make(map[reflect.Type]map[uint64]reflect.Type)
	}
	b.messages[t] = out
	return out
}

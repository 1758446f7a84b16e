// Package proto reads and writes the part of Kubernetes protobuf that the kit needs:
// Pod and Node of k8s.io/api/core/v1, by the field numbers of its generated.proto.
package proto

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Object is the part of a whole object that the kit checks.
type Object struct {
	Name, Namespace, UID, NodeName string
	Labels, Annotations            map[string]string
	// Managed is true if metadata.managedFields is set.
	Managed bool
}

// errObject is wrapped by errors of Read.
var errObject = errors.New("not a protobuf object")

// Read reads a Pod or a Node. NodeName belongs to a Pod.
func Read(data []byte) (*Object, error) {
	out := &Object{Labels: map[string]string{}, Annotations: map[string]string{}}
	err := fields(data, func(number uint64, value []byte) error {
		switch number {
		case 1:
			return fields(value, out.metadata)
		case 2:
			return fields(value, func(number uint64, value []byte) error {
				if number == 10 {
					out.NodeName = string(value)
				}
				return nil
			})
		}
		return nil
	})
	return out, err
}

func (o *Object) metadata(number uint64, value []byte) error {
	switch number {
	case 1:
		o.Name = string(value)
	case 3:
		o.Namespace = string(value)
	case 5:
		o.UID = string(value)
	case 11:
		return entry(value, o.Labels)
	case 12:
		return entry(value, o.Annotations)
	case 17:
		o.Managed = true
	}
	return nil
}

// entry reads an entry of a map of strings.
func entry(data []byte, into map[string]string) error {
	var key, value string
	err := fields(data, func(number uint64, v []byte) error {
		switch number {
		case 1:
			key = string(v)
		case 2:
			value = string(v)
		}
		return nil
	})
	into[key] = value
	return err
}

// fields visits the fields of a message. For a number, value is nil.
func fields(data []byte, visit func(number uint64, value []byte) error) error {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return fmt.Errorf("%w: a tag is cut off", errObject)
		}
		data = data[n:]
		var value []byte
		switch tag & 7 {
		case 0:
			if _, n = binary.Uvarint(data); n <= 0 {
				return fmt.Errorf("%w: a number is cut off", errObject)
			}
		case 1:
			n = 8
		case 5:
			n = 4
		case 2:
			size, m := binary.Uvarint(data)
			if m <= 0 || size > uint64(len(data)-m) {
				return fmt.Errorf("%w: field %d is cut off", errObject, tag>>3)
			}
			value, n = data[m:m+int(size)], m+int(size)
		default:
			return fmt.Errorf("%w: wire type %d", errObject, tag&7)
		}
		if n > len(data) {
			return fmt.Errorf("%w: field %d is cut off", errObject, tag>>3)
		}
		data = data[n:]
		if err := visit(tag>>3, value); err != nil {
			return err
		}
	}
	return nil
}

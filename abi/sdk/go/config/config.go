// Package config decodes a plugin's configuration with encoding/json. It is apart
// from package berth because encoding/json makes a module 1.4 MB larger.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Parse decodes the configuration into a T. Fields that T does not have are
// refused, and so is what follows the value.
func Parse[T any](data []byte) (T, error) {
	var value T
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&value); err != nil {
		return value, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return value, errors.New("there is more than one value")
	}
	return value, nil
}

// Package config decodes a plugin's configuration with encoding/json. It is separate from
// package berth because encoding/json makes a module 1.4 MB larger.
package config

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Parse decodes the configuration into a T. It refuses fields that T does not have, and data
// after the value.
//
// # Errors
//
// What is wrong and where, in the words of the SDKs in other languages: tenants.a.pools[1]:
// expected a string, found a number. Other errors of encoding/json are unchanged.
func Parse[T any](data []byte) (T, error) {
	var value T
	var whole json.RawMessage
	err := json.Unmarshal(data, &whole)
	if err != nil {
		return value, syntax(data, err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err = d.Decode(&value); err != nil {
		if found := mistake("", whole, reflect.TypeFor[T]()); found != nil {
			err = found
		}
	}
	return value, err
}

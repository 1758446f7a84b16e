// Package config decodes a plugin's configuration with encoding/json. It is apart
// from package berth because encoding/json makes a module 1.4 MB larger.
package config

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Parse decodes the configuration into a T. Fields that T does not have are
// refused, and so is what follows the value.
//
// # Errors
//
// What is wrong and where, in the words of the SDKs in other languages:
// tenants.a.pools[1]: expected a string, found a number. What encoding/json says is left as it
// is where these have no words.
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

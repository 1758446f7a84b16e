package strictyaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// maxMistakes is how many mistakes are reported, and maxKey how much of a key, in bytes.
const maxMistakes, maxKey = 20, 64

// Decode stores a small document in into, a pointer to a struct.
//
// # Errors
//
// The text is not one YAML document of at most most bytes without its aliases; or all unknown
// fields, keys that occur twice, and mappings and lists where others are expected, joined, each
// with its line and path.
func Decode(text []byte, most int, into any) error {
	if err := Check(text, most, into); err != nil {
		return err
	}
	values, err := Values(text, false)
	if err != nil {
		m := Explain(text, err)[0]
		return at(m.Line, "", m.Detail)
	}
	return json.Unmarshal(values, into)
}

// Check holds a small document against the type of into, a pointer to a struct, as Decode does.
func Check(text []byte, most int, into any) error {
	root, err := Parse(text)
	if err != nil {
		m := Explain(text, err)[0]
		return at(m.Line, "", m.Detail)
	}
	if root == nil {
		return errors.New("the file is empty")
	}
	if !Fits(root, most) {
		return fmt.Errorf("its aliases stand for more than %d bytes, or for themselves: write them out", most)
	}
	var mistakes []error
	twice, _ := Duplicates(root) // as many as an error has
	for _, d := range twice {
		mistakes = append(mistakes, at(d.Key.Line, PathOf(d.Path), fmt.Sprintf("the field is given twice, first in line %d", d.First.Line)))
	}
	for _, m := range Mismatches(root, reflect.TypeOf(into).Elem(), nil) {
		detail := m.Detail
		if m.Fix != "" {
			detail += "; " + m.Fix
		}
		mistakes = append(mistakes, at(m.Node.Line, PathOf(m.Path), detail))
	}
	if len(mistakes) > 0 {
		return errors.Join(mistakes[:min(len(mistakes), maxMistakes)]...)
	}
	return nil
}

// at describes a mistake. A line of 0 and an empty path are not known.
func at(line int, path, detail string) error {
	if path != "" {
		detail = path + ": " + detail
	}
	if line > 0 {
		detail = fmt.Sprintf("line %d: %s", line, detail)
	}
	return errors.New(detail)
}

// PathOf writes a path of keys and indices.
func PathOf(steps []any) (path string) {
	for _, step := range steps {
		if i, ok := step.(int); ok {
			path += fmt.Sprintf("[%d]", i)
		} else {
			path = Join(path, step.(string))
		}
	}
	return path
}

// Dotted writes a path as Kubernetes' strict decoder does, in which a key with a dot looks like two.
func Dotted(steps []any) (path string) {
	for _, step := range steps {
		if i, ok := step.(int); ok {
			path += fmt.Sprintf("[%d]", i)
		} else {
			path += "." + step.(string)
		}
	}
	return strings.TrimPrefix(path, ".")
}

// Join appends a key to a path, in brackets if it is no plain word. Only the beginning of a long key is written.
func Join(path, key string) string {
	key = strings.ToValidUTF8(key[:min(len(key), maxKey)], "")
	switch {
	case key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == "":
		return strings.TrimPrefix(path+"."+key, ".")
	case key == "" || strings.ContainsAny(key, "[]\"") || strings.ContainsFunc(key, func(c rune) bool { return !unicode.IsPrint(c) }):
		key = strconv.Quote(key)
	}
	return path + "[" + key + "]"
}

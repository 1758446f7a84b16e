package bounded

import (
	"bytes"
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

const (
	// deepest is how deep values may nest. Kubernetes' objects have some 30 levels.
	deepest = 200
	// grown is how much more room a list may have than entries, since it doubles as it grows.
	grown = 2
	// header is about what an empty map takes, entry what an entry takes besides key and value, and slots how many have
	// room from the first one on.
	header, entry, slots = 64, 64, 8
	// checked is after how many tokens the context is looked at.
	checked = 1 << 12
)

// JSON decodes text into the value that into points at, as json.Unmarshal does, if its values take at most most bytes of
// memory. What they will take is counted first, so that nothing is made of a text that is refused.
//
// # Errors
//
// The first mistake in the text, with its path. *TooLarge, wrapped with the path at which the bound was reached. The cause of
// the context's end.
func JSON(ctx context.Context, text []byte, most int64, into any) error {
	return decode(ctx, text, &most, into, false)
}

// JSON is the function, and takes the memory of the values.
func (b *Budget) JSON(ctx context.Context, text []byte, into any) error {
	return decode(ctx, text, &b.Left, into, false)
}

// Strict is JSON, and refuses fields that into does not have.
func Strict(ctx context.Context, text []byte, most int64, into any) error {
	return decode(ctx, text, &most, into, true)
}

// Cost returns how much memory the values of a text, which is JSON, will take that is decoded into a type, in bytes. Values that do
// not fit the type count as empty ones, which decoders make of them before they say so.
//
// # Errors
//
// *TooLarge if that is more than most. The cause of the context's end. What is wrong with the text is found by who decodes it.
func Cost(ctx context.Context, text []byte, most int64, t reflect.Type) (int64, error) {
	c := newCounter(ctx, text, most, false)
	c.lax = true
	err := c.take(int64(t.Size()))
	if err == nil {
		err = c.value(t, 0)
	}
	if err != nil && !errors.As(err, new(*TooLarge)) && ctx.Err() == nil {
		err = nil
	}
	return most - c.left, err
}

// decode decodes a text, and takes the memory of its values from left.
func decode(ctx context.Context, text []byte, left *int64, into any, strict bool) error {
	c := newCounter(ctx, text, *left, strict)
	if err := c.value(reflect.TypeOf(into).Elem(), 0); err != nil {
		return c.at(err)
	}
	if _, err := c.tokens.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more text follows the value")
	}
	*left = c.left
	return json.Unmarshal(text, into)
}

func newCounter(ctx context.Context, text []byte, most int64, strict bool) *counter {
	c := &counter{ctx: ctx, tokens: json.NewDecoder(bytes.NewReader(text)), text: text, most: most, left: most, strict: strict}
	c.fields = make(map[reflect.Type]map[string]reflect.Type)
	c.tokens.UseNumber()
	return c
}

// counter counts what values take that a type is decoded from.
type counter struct {
	ctx    context.Context
	tokens *json.Decoder
	text   []byte
	path   []step
	most   int64
	left   int64
	seen   int
	strict bool
	lax    bool // mistakes count as empty values
	fields map[reflect.Type]map[string]reflect.Type
}

// step is an index of a list, or a key of an object if that is -1.
type step struct {
	index int
	key   string
}

// at puts the path before an error.
func (c *counter) at(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if len(c.path) == 0 {
		return err
	}
	var path strings.Builder
	for _, step := range c.path {
		switch {
		case step.index >= 0:
			fmt.Fprintf(&path, "[%d]", step.index)
		case step.key == "" || strings.ContainsAny(step.key, ". /[]\""):
			fmt.Fprintf(&path, "[%q]", step.key)
		default:
			fmt.Fprintf(&path, ".%s", step.key)
		}
	}
	return fmt.Errorf("%s: %w", strings.TrimPrefix(path.String(), "."), err)
}

func (c *counter) take(n int64) error {
	if c.left -= n; c.left < 0 {
		return &TooLarge{Most: c.most, Values: true}
	}
	return nil
}

func (c *counter) next() (json.Token, error) {
	if c.seen++; c.seen%checked == 0 && c.ctx.Err() != nil {
		return nil, context.Cause(c.ctx)
	}
	return c.tokens.Token()
}

// value counts the next value, whose own size is counted already.
func (c *counter) value(t reflect.Type, depth int) error {
	if depth > deepest {
		return fmt.Errorf("values nest more than %d deep", deepest)
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return c.raw(grown)
	}
	if t.Kind() == reflect.Pointer {
		if c.null() {
			_, err := c.next()
			return err
		}
		if err := c.take(int64(t.Elem().Size())); err != nil {
			return err
		}
		return c.value(t.Elem(), depth+1)
	}
	token, err := c.next()
	if err != nil {
		return err
	}
	switch delim, is := token.(json.Delim); {
	case token == nil: // null
		return nil
	case is && c.lax && !holds(t, delim):
		return c.skip()
	case is && delim == '{':
		return c.object(t, depth)
	case is:
		return c.array(t, depth)
	}
	return c.leaf(t, token)
}

// holds reports whether values of a type are decoded from objects, or from lists.
func holds(t reflect.Type, delim json.Delim) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Struct, reflect.Map:
		return delim == '{'
	case reflect.Slice, reflect.Array:
		return delim == '['
	}
	return false
}

// skip passes over the rest of an object or a list.
func (c *counter) skip() error {
	for depth := 1; depth > 0; {
		token, err := c.next()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}

// null reports whether the next value is null.
func (c *counter) null() bool {
	rest := bytes.TrimLeft(c.text[c.tokens.InputOffset():], " \t\r\n:,")
	return bytes.HasPrefix(rest, []byte("null"))
}

// raw counts the next value as so many times its text: of what decodes itself, or is skipped.
func (c *counter) raw(times int64) error {
	from, depth := c.tokens.InputOffset(), 0
	for {
		token, err := c.next()
		if err != nil {
			return err
		}
		if delim, is := token.(json.Delim); is {
			if delim == '{' || delim == '[' {
				depth++
			} else {
				depth--
			}
		}
		if depth == 0 {
			return c.take(times * (c.tokens.InputOffset() - from))
		}
		if depth > deepest {
			return fmt.Errorf("values nest more than %d deep", deepest)
		}
	}
}

func (c *counter) leaf(t reflect.Type, token json.Token) error {
	text, isText := token.(string)
	_, isNumber := token.(json.Number)
	_, isBool := token.(bool)
	fits := false
	switch t.Kind() {
	case reflect.String:
		fits = isText || isNumber && t == reflect.TypeFor[json.Number]()
	case reflect.Bool:
		fits = isBool
	case reflect.Interface:
		fits = true
	case reflect.Slice:
		fits = isText && t.Elem().Kind() == reflect.Uint8
	case reflect.Struct, reflect.Map, reflect.Array, reflect.Pointer:
	default:
		fits = isNumber
	}
	if isText && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		fits = true
	}
	if !fits && c.lax {
		return nil
	}
	if !fits {
		return c.mismatch(t, map[bool]string{isText: "a string", isNumber: "a number", isBool: "a boolean"}[true])
	}
	return c.take(int64(len(text)))
}

func (c *counter) mismatch(t reflect.Type, found string) error {
	want := "a number"
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		want = "an object"
	case reflect.Slice, reflect.Array:
		want = "a list"
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	}
	return fmt.Errorf("expected %s, found %s", want, found)
}

func (c *counter) array(t reflect.Type, depth int) error {
	element := reflect.TypeFor[any]()
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		element = t.Elem()
	case reflect.Interface:
	default:
		return c.mismatch(t, "a list")
	}
	for i := 0; c.tokens.More(); i++ {
		if err := c.below(step{i, ""}, grown*int64(element.Size()), element, depth); err != nil {
			return err
		}
	}
	_, err := c.next()
	return err
}

// below counts a value that has room inside of another.
func (c *counter) below(at step, room int64, t reflect.Type, depth int) error {
	c.path = append(c.path, at)
	if err := c.take(room); err != nil {
		return err
	}
	if err := c.value(t, depth+1); err != nil {
		return err
	}
	c.path = c.path[:len(c.path)-1]
	return nil
}

func (c *counter) object(t reflect.Type, depth int) error {
	var known map[string]reflect.Type
	element := reflect.TypeFor[any]()
	switch t.Kind() {
	case reflect.Struct:
		known = c.known(t)
	case reflect.Map:
		element = t.Elem()
	case reflect.Interface:
	default:
		return c.mismatch(t, "an object")
	}
	if known == nil {
		if err := c.take(header); err != nil {
			return err
		}
		if c.tokens.More() {
			if err := c.take(slots * int64(element.Size())); err != nil {
				return err
			}
		}
	}
	for c.tokens.More() {
		token, err := c.next()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if known == nil {
			err = c.below(step{-1, key}, int64(len(key))+grown*int64(element.Size())+entry, element, depth)
		} else if field := find(known, key); field != nil {
			err = c.below(step{-1, key}, 0, field, depth)
		} else if c.strict {
			err = fmt.Errorf("unknown field %q", key)
		} else {
			err = c.raw(0) // is skipped
		}
		if err != nil {
			return err
		}
	}
	_, err := c.next()
	return err
}

// find returns the type of the field that encoding/json chooses for a key; nil if there is none.
func find(known map[string]reflect.Type, key string) reflect.Type {
	if t := known[key]; t != nil {
		return t
	}
	for name, t := range known {
		if strings.EqualFold(name, key) {
			return t
		}
	}
	return nil
}

// known returns the types of a struct's fields, by their names in JSON.
func (c *counter) known(t reflect.Type) map[string]reflect.Type {
	if known := c.fields[t]; known != nil {
		return known
	}
	out := make(map[string]reflect.Type)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && name == "" && embedded.Kind() == reflect.Struct:
			for name, t := range c.known(embedded) {
				if out[name] == nil {
					out[name] = t
				}
			}
		case !f.IsExported():
		case slices.Contains(strings.Split(options, ","), "string"): // in quotes, which encoding/json checks
			out[cmp.Or(name, f.Name)] = reflect.TypeFor[any]()
		default:
			out[cmp.Or(name, f.Name)] = f.Type
		}
	}
	c.fields[t] = out
	return out
}

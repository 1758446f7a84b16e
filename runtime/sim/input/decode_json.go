package input

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// jsonStream decodes the JSON values of a chunk, one after the other. It decodes lists item by
// item, so that a large dump needs no second tree.
func (d *decoder) jsonStream(ctx context.Context, c *chunk) (r result) {
	pos := 0
	for {
		rest := bytes.TrimLeft(c.text[pos:], " \t\r\n")
		pos = len(c.text) - len(rest)
		if len(rest) == 0 || ctx.Err() != nil {
			return r
		}
		dec := json.NewDecoder(bytes.NewReader(rest))
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return jsonSyntax(c, pos, dec, err)
		}
		line := c.line + bytes.Count(c.text[:pos], []byte("\n"))
		one := chunk{file: c.file, line: line, text: rest[:len(raw)], json: true, namespace: c.namespace}
		d.jsonValue(ctx, &one, nested{}, &r)
		pos += int(dec.InputOffset())
	}
}

// jsonSyntax is the error of text that is not JSON.
func jsonSyntax(c *chunk, pos int, dec *json.Decoder, err error) result {
	var syntax *json.SyntaxError
	at := pos + int(dec.InputOffset())
	if errors.As(err, &syntax) {
		at = pos + int(syntax.Offset)
	}
	detail := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		detail, at = "it ends in the middle of a value", len(c.text)
	}
	at = min(max(at, 0), len(c.text))
	return result{broken: true, errs: []*Error{{
		File: c.file, Line: c.line + bytes.Count(c.text[:at], []byte("\n")),
		Detail: "this is not valid JSON: " + detail, Fix: "check commas, quotes and brackets near this line",
	}}}
}

// jsonValue decodes one JSON value, a document or an item of a list: an object, or a list and its items.
func (d *decoder) jsonValue(ctx context.Context, c *chunk, in nested, r *result) {
	at := place{chunk: c, first: c.line}
	if len(c.text) == 0 || c.text[0] != '{' {
		r.fail(at, nil, "", "a document must be an object", "write apiVersion, kind and metadata")
		return
	}
	fields, items, twice := jsonList(ctx, c)
	kind, given := fields["kind"], fields["items"]
	if !strings.HasSuffix(kind, "List") || given == "" && !d.kinds.list(kind) {
		d.object(ctx, at, c.text, nil, in.header, r)
		return
	}
	if in.depth == deepest {
		r.fail(at, nil, "", tooDeep, flatten)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch name {
		case "apiVersion", "kind", "metadata", "items":
		default:
			r.fail(at, nil, name, "a list has no such field", "remove it, or check its spelling")
			return
		}
	}
	if twice != "" {
		r.fail(at, nil, twice, "the list has this field twice", "keep one of them")
		return
	}
	if given != "" && given != "null" && given != "[" {
		r.errs = append(r.errs, at.at(nil, "items", "must be a list", "write the objects between [ and ]"))
		return
	}
	if !d.items(c, len(items), r) {
		return
	}
	list := listHeader(fields["apiVersion"], kind)
	for i := range items {
		if ctx.Err() != nil {
			return
		}
		item := &items[i]
		if len(item.text) == 0 || item.text[0] != '{' {
			r.fail(place{chunk: item}, nil, fmt.Sprintf("items[%d]", i), "an item of a list must be an object", "write apiVersion, kind and metadata")
			continue
		}
		d.jsonValue(ctx, item, nested{list, in.depth + 1}, r)
	}
}

// jsonList returns the fields of an object, which is valid JSON, and its items; no fields if it
// cannot be a list. A field that is not a string has the value "", but the field items has the
// beginning of its value: "[", "null" or something else. twice is a duplicate field.
func jsonList(ctx context.Context, c *chunk) (fields map[string]string, items []chunk, twice string) {
	if !bytes.Contains(c.text, []byte(`List"`)) {
		return nil, nil, ""
	}
	fields = map[string]string{}
	dec := json.NewDecoder(bytes.NewReader(c.text))
	_, _ = dec.Token() // the opening brace; the text was checked before
	for dec.More() && ctx.Err() == nil {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return nil, nil, ""
		}
		if _, again := fields[name]; again {
			twice = name
		}
		if name == "items" && nextByte(c.text, int(dec.InputOffset())) == '[' {
			items = append(items, jsonItems(ctx, c, dec)...)
			fields[name] = "["
			continue
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return nil, nil, ""
		}
		if name == "items" {
			fields[name] = string(raw[:min(len(raw), len("null"))])
			continue
		}
		var text string
		_ = json.Unmarshal(raw, &text) // "" if it is not a string
		fields[name] = text
	}
	return fields, items, twice
}

// nextByte returns the first byte of the value after a key that ends at pos.
func nextByte(text []byte, pos int) byte {
	rest := bytes.TrimLeft(text[pos:], " \t\r\n:")
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}

func jsonItems(ctx context.Context, c *chunk, dec *json.Decoder) (items []chunk) {
	_, _ = dec.Token() // the opening bracket
	line, seen := c.line, 0
	for dec.More() && ctx.Err() == nil {
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return items
		}
		end := int(dec.InputOffset())
		start := end - len(raw)
		line += bytes.Count(c.text[seen:start], []byte("\n"))
		seen = start
		items = append(items, chunk{file: c.file, line: line, text: c.text[start:end], json: true, namespace: c.namespace})
	}
	_, _ = dec.Token() // the closing bracket
	return items
}

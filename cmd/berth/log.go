package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/berth-scheduler/berth/internal/plain"
)

// newLogger returns what logs from a level on, which may change, as text or as JSON.
func newLogger(w io.Writer, level slog.Leveler, json bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: shownAttr}
	if json {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// withoutPointers has values that do not say how they are to be printed printed as JSON:
// Go's own form of a struct, a list or a map has the addresses of what they point to.
func withoutPointers(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindAny {
		return a
	}
	switch v := a.Value.Any().(type) {
	case nil, error, fmt.Stringer, encoding.TextMarshaler, *slog.Source:
		return a
	default:
		if text, err := json.Marshal(v); err == nil {
			return slog.String(a.Key, string(text))
		}
		return slog.String(a.Key, fmt.Sprintf("a %T", v))
	}
}

// maxAttr is how much of a text a record of the log has, in bytes.
const maxAttr = 8 << 10

// shownAttr cuts a text of a record and makes it printable, where it comes from a module or a registry.
func shownAttr(groups []string, a slog.Attr) slog.Attr {
	a = withoutPointers(groups, a)
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(plain.Lines(a.Value.String(), maxAttr))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			a.Value = slog.StringValue(plain.Lines(v.Error(), maxAttr))
		case fmt.Stringer:
			a.Value = slog.StringValue(plain.Lines(v.String(), maxAttr))
		}
	}
	return a
}

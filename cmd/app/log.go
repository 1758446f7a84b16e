package app

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"reflect"

	"github.com/berth-scheduler/berth/internal/plain"
)

// newLogger returns a logger as text or JSON. The level may change while it is in use.
func newLogger(w io.Writer, level slog.Leveler, json bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: shownAttr}
	if json {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// withoutPointers prints values without a format of their own as JSON, because Go's
// format of structs, lists and maps contains addresses.
func withoutPointers(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindAny {
		return a
	}
	switch v := a.Value.Any().(type) {
	case nil, error, fmt.Stringer, encoding.TextMarshaler, *slog.Source:
		return a
	default:
		if s := reflect.ValueOf(v); s.Kind() == reflect.String {
			return slog.String(a.Key, s.String())
		}
		if text, err := json.Marshal(v); err == nil {
			return slog.String(a.Key, string(text))
		}
		return slog.String(a.Key, fmt.Sprintf("a %T", v))
	}
}

// maxAttr is the longest text in a log record, in bytes.
const maxAttr = 8 << 10

// shownAttr cuts a text of a log record and escapes control characters, because modules and registries supply some of them.
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

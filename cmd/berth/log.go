package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
)

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

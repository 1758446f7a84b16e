package json

import (
	"bytes"
	stdlib "encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plain returns a value as encoding/json decodes it into an any, with numbers as texts.
func plain(v *Value) any {
	switch v.Kind {
	case Object:
		m := map[string]any{}
		for i := range v.Items {
			m[v.Items[i].Key] = plain(&v.Items[i])
		}
		return m
	case List:
		l := []any{}
		for i := range v.Items {
			l = append(l, plain(&v.Items[i]))
		}
		return l
	case Number:
		return stdlib.Number(v.Text)
	case String:
		return v.Text
	case Bool:
		return v.Text == "true"
	}
	return nil
}

// FuzzParse: it accepts what encoding/json accepts, and reads the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a": [1, -2.5e+3, true, null, "x"], "a": {}}`, `"\u00e4\ud83d\ude00\ud800 \ud800\u0041\/"`, "\"\xff\"", "01", "-", "1.", "1e", "tru", `{"a" 1}`, `[1,]`,
		"\"\n\"", `"\x"`, `"\u12`, "[[[[", " \t\r\n0 ", "", `{"a":1}{`, "\"\x00\"", `"` + "\u2028" + `"`, "-0", "nulll", `"\ud800\ud800\udc00"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := stdlib.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var want any
		valid := stdlib.Valid(data)
		if valid {
			if err := d.Decode(&want); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Parse(data)
		if valid != (err == nil) && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) < maxDepth {
			t.Fatalf("%q: encoding/json accepts it: %v, and Parse: %v", data, valid, err)
		}
		if !valid || err != nil {
			return
		}
		if diff := cmp.Diff(want, plain(&got)); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", data, diff)
		}
	})
}

// TestDepth: a text cannot take the stack of an instance.
func TestDepth(t *testing.T) {
	deep := func(n int) []byte {
		return append(bytes.Repeat([]byte("["), n), bytes.Repeat([]byte("]"), n)...)
	}
	if _, err := Parse(deep(maxDepth)); err != nil {
		t.Error(err)
	}
	if _, err := Parse(deep(maxDepth + 2)); err == nil {
		t.Error("it is read")
	}
}

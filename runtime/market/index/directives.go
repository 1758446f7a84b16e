package index

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Directives are those that a version asks for. An index lists versions of a later ABI too, beside those that this host runs, so it is
// read whatever directives that ABI has.
type Directives struct {
	wire.ManifestDirectives
	// Later has the values of directives that this host does not know, by name.
	Later map[string]json.RawMessage
}

// MarshalJSON writes the directives in their order, and then the unknown ones by name.
func (d Directives) MarshalJSON() ([]byte, error) {
	out, err := json.Marshal(&d.ManifestDirectives)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(bytes.TrimSuffix(out, []byte("}")))
	for _, name := range slices.Sorted(maps.Keys(d.Later)) {
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(quoted)
		b.WriteByte(':')
		b.Write(d.Later[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads directives, unknown ones too.
func (d *Directives) UnmarshalJSON(text []byte) error {
	*d = Directives{}
	if err := json.Unmarshal(text, &d.ManifestDirectives); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &d.Later); err != nil {
		return err
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[wire.ManifestDirectives]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		delete(d.Later, name)
	}
	return nil
}

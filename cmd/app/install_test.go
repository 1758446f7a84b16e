package app

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi/wire"
)

// TestUnion: an upgrade keeps every kind of grant, and adds each that the new version needs.
func TestUnion(t *testing.T) {
	var all wire.ManifestDirectives
	for _, f := range reflect.VisibleFields(reflect.TypeFor[wire.ManifestDirectives]()) {
		switch v := reflect.ValueOf(&all).Elem().FieldByIndex(f.Index); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Slice:
			v.Set(reflect.ValueOf([]string{"example.com/"}))
		default:
			t.Fatalf("%s is a %s", f.Name, v.Kind())
		}
	}
	none := wire.ManifestDirectives{}
	for _, got := range []wire.ManifestDirectives{union(&none, &all), union(&all, &none), union(&all, &all)} {
		if diff := cmp.Diff(all, got); diff != "" {
			t.Error(diff)
		}
	}
}

package input

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRoom: small texts with very many values are refused, whatever the values are, and however they are written.
func TestRoom(t *testing.T) {
	const n = 500_000
	many := func(of string) string { return strings.Repeat(of+",", n) + of }
	pod := func(spec string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{` + spec + `}}`
	}
	list := func(items string) string { return `{"apiVersion":"v1","kind":"List","items":[` + items + `]}` }
	claims := func(of string) string {
		return `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"p"},"spec":{"volumeClaimTemplates":[` + of + `]}}`
	}
	for name, text := range map[string]string{
		"nulls":                   pod(`"containers":[` + many("null") + `]`),
		"empty objects":           pod(`"containers":[` + many("{}") + `]`),
		"numbers":                 claims(many("0")),
		"many objects with nulls": list(strings.TrimSuffix(strings.Repeat(pod(`"containers":[`+strings.Repeat("null,", 99)+`null]`)+",", n/100), ",")),
		"empty items":             list(many("{}")),
		"unknown kinds":           list(many(`{"a":[{},{}]}`)),
		"numbers in YAML":         "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: p}\nspec:\n  volumeClaimTemplates:\n" + strings.Repeat("  - 0\n", n),
		"items in YAML":           "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- {}\n", n),
		"documents":               strings.Repeat("a\n---\n", n),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := LoadCluster(t.Context(), []string{path}, false)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "would take too much memory") {
				t.Errorf("%.300v", err)
			}
			// Trees of texts and what reading tokens takes are garbage soon.
			if made, most := int64(after.TotalAlloc-before.TotalAlloc), int64(4*(perByte*len(text)+besidesAll)); made > most {
				t.Errorf("%d MiB are allocated for %d KiB, want %d MiB at most", made>>20, len(text)>>10, most>>20)
			}
		})
	}
}

// TestRoomOfSmallObjects: objects that are as small as they can be take nothing of what all may have besides.
func TestRoomOfSmallObjects(t *testing.T) {
	d, err := newDecoder(ofClusters(), &gatherer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"b"}]}}`,
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"cpu":"1","memory":"1Gi","pods":"10"}}}`,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","labels":{"a":"b"}}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"p"},"spec":{"selector":{"matchLabels":{"a":"b"}},` +
			`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}}}`,
	} {
		if ok, _ := d.room.forObject(t.Context(), []byte(text), d.scheme); !ok || d.room.taken.Load() != 0 {
			t.Errorf("%s takes %d bytes besides", text, d.room.taken.Load())
		}
	}
}

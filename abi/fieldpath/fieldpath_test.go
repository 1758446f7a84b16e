package fieldpath_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/fieldpath"
)

const topology = `{
  "metadata": {"name": "node-7", "labels": {"a/b": "x", "c.d": "y"}, "annotations": null},
  "attributes": [{"name": "topologyManagerPolicy", "value": "single-numa-node"}, {"name": "odd ]\"", "value": "q"}, 7,
    {"name": 3, "value": "three"}],
  "zones": [
    {"name": "node-0", "type": "Node", "resources": [{"name": "cpu", "available": "3"}, {"name": "nvidia.com/gpu", "available": 1}]},
    {"name": "node-1", "type": "Node", "resources": [{"name": "cpu", "available": "5500m"}]}
  ],
  "data": {"z": "1", "a": "2", "m": {"deep": true}}
}`

// TestEach: where paths lead, by the text of keys and values.
func TestEach(t *testing.T) {
	var object any
	if err := json.Unmarshal([]byte(topology), &object); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, want string }{
		{".metadata.name", "=node-7"},
		{`.metadata.labels["a/b"]`, "=x"},
		{`["metadata"]["labels"]["c.d"]`, "=y"},
		{".metadata.annotations", ""},
		{".metadata.name.more", ""},
		{".nothing.there", ""},
		{".zones.name", ""},
		{".attributes[name=topologyManagerPolicy].value", "=single-numa-node"},
		{`.attributes[name="odd ]\""].value`, "=q"},
		{".attributes[name=3].value", "=three"},
		{".attributes[name=none].value", ""},
		{".attributes[*].value", "0=single-numa-node 1=q 3=three"},
		{".zones[*].name", "0=node-0 1=node-1"},
		{".zones[*].resources[*].available", "0=3 1=1 0=5500m"},
		{".zones[name=node-1].resources[name=cpu].available", "=5500m"},
		{".data[*]", "a=2 m=map[deep:true] z=1"},
		{".data[*].deep", "m=true"},
		{".metadata.name[*]", ""},
		{".attributes[2]", "a bracket has"},
	} {
		p, err := fieldpath.Parse(test.path)
		var got []string
		p.Each(object, func(key string, value any) bool {
			got = append(got, fmt.Sprintf("%s=%v", key, value))
			return true
		})
		if err != nil {
			got = []string{err.Error()}
		}
		if out := strings.Join(got, " "); out != test.want && (err == nil || !strings.Contains(out, test.want)) {
			t.Errorf("%s: got %q, want %q", test.path, out, test.want)
		}
		if first, ok := p.Value(object); err == nil && ok != (len(got) > 0) {
			t.Errorf("%s: the first value is %v, %v", test.path, first, ok)
		}
	}
	if all, ok := (fieldpath.Path{}).Value(object); !ok || all == nil {
		t.Error("the zero path is not the object")
	}
}

// TestParseErrors: what is no path is refused with the place and what to write.
func TestParseErrors(t *testing.T) {
	for path, want := range map[string]string{
		"":                            "begin it with a dot",
		"status":                      "begin it with a dot",
		"$.status":                    "begin it with a dot",
		"{.status}":                   "begin it with a dot",
		".a..b":                       "at byte 3",
		".a.":                         "needs a name",
		".a[0]":                       "elements have no numbers",
		".a[?(@.x==1)]":               "a bracket has",
		`.a["x]`:                      "the quote has no end",
		`.a["\x"]`:                    "no string of JSON",
		".a[x=]":                      "the value is missing",
		".a[x=1":                      "the value is missing",
		".a[*":                        "no end",
		".a b":                        `found " "`,
		".a.b/c":                      `found "/"`,
		strings.Repeat(".a", 300):     "600 bytes",
		strings.Repeat(".a", 33):      "more than 32 steps",
		".a" + strings.Repeat(`"`, 3): `found "\""`,
	} {
		if _, err := fieldpath.Parse(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q", path, err, want)
		}
	}
}

// FuzzParse: no text panics, and what is read means the same when it is read again.
func FuzzParse(f *testing.F) {
	var object any
	if err := json.Unmarshal([]byte(topology), &object); err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{".", ".a.b", `.a["b\"c"][*]`, `.zones[name="x"].y`, ".data[*].deep"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := fieldpath.Parse(text)
		if err != nil {
			return
		}
		if p.String() != text {
			t.Errorf("%q is written as %q", text, p)
		}
		visits := 0
		p.Each(object, func(string, any) bool { visits++; return true })
		if !p.Many() && visits > 1 {
			t.Errorf("%q leads to %d values", text, visits)
		}
	})
}

// TestParseResource: resources are read as they are written, and what must never be read is refused.
func TestParseResource(t *testing.T) {
	for _, text := range []string{
		"nodemetrics.slo.koordinator.sh/v1alpha1", "configmaps/v1", "noderesourcetopologies.topology.node.k8s.io/v1alpha2",
	} {
		if r, err := fieldpath.ParseResource(text); err != nil || r.String() != text {
			t.Errorf("%s: got %v, %v", text, r, err)
		}
	}
	for text, want := range map[string]string{
		"":                                      "is no resource",
		"nodemetrics":                           "is no resource",
		"NodeMetric/v1":                         "is no resource",
		"configmaps./v1":                        "is no resource",
		"configmaps/":                           "is no resource",
		"-x/v1":                                 "is no resource",
		"x..y/v1":                               "no API group",
		"pods/v1/status":                        "subresource",
		"secrets/v1":                            "never read",
		"tokenreviews.authentication.k8s.io/v1": "never read",
		"subjectaccessreviews.authorization.k8s.io/v1": "never read",
		"roles.rbac.authorization.k8s.io/v1":           "never read",
		strings.Repeat("x", 300) + "/v1":               "is no resource",
	} {
		if r, err := fieldpath.ParseResource(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, %v, want %q", text, r, err, want)
		}
	}
}

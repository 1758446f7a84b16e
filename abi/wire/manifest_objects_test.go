package wire_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
)

func TestObjectColumns(t *testing.T) {
	for text, want := range map[string]string{
		"zones.status.zones[*].free:quantity":         "",
		"zones.zones[*].resources[*].@parent:integer": "",
		`quota.spec.max["nvidia.com/gpu"]:quantity`:   "",
		"quota.spec.max[*].@key:string":               "",
		"o[*]:integer":                                "",
		"o.a:b":                                       "is not a type",
		"o.a":                                         "it is not a column of an object",
		":string":                                     "it is not a column of an object",
		"O.a:string":                                  "is not the name of an object",
		"o.:string":                                   "it has no path",
		"o.a[0]:string":                               "elements have no numbers",
		"o.a.@key:string":                             "a key is that of an element",
		"o.a[*].b.@key:string":                        "a key is that of an element",
		"o.a[*].@key:integer":                         "a key is that of an element",
		"o.a[*].@parent:integer":                      "a parent is that of",
		"o.a[*].b[*].@parent:string":                  "a parent is that of",
		"o.a[*].b[*].c[*].d[*].e[*].f:string":         "lists nest more than four deep",
	} {
		_, err := wire.ParseObjectColumn(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestObjects(t *testing.T) {
	const zones = `{"name": "zones", "resource": "noderesourcetopologies.topology.node.k8s.io/v1alpha2", "join": "node"}`
	manifest := func(abi, objects, columns string) string {
		return `{"name": "x", "version": "1.0.0", "abi": "` + abi + `", "points": {"filter": {}}, "objects": [` + objects + `], "reads": {"objectColumns": [` + columns + `]}}`
	}
	for text, want := range map[string]string{
		manifest("1.2", zones, `"zones.zones[*].name:string"`):                                                                               "",
		manifest("1.1", zones, `"zones.zones[*].name:string"`):                                                                               "came with ABI 1.2",
		manifest("1.2", zones, ``):                                                                                                           "no column reads it",
		manifest("1.2", zones, `"zone.a:string"`):                                                                                            `is not among the objects; did you mean "zones"?`,
		manifest("1.2", ``, `"zones.a:string"`):                                                                                              "is not among the objects",
		manifest("1.2", zones, `"zones.a:string", "zones.a:string"`):                                                                         "is in reads.objectColumns[0] already",
		manifest("1.2", zones+","+zones, `"zones.a:string"`):                                                                                 "is there already",
		manifest("1.2", strings.Replace(zones, `"node"}`, `"zone"}`, 1), `"zones.a:string"`):                                                 "is nothing to which an object belongs; write node or namespace",
		manifest("1.2", strings.Replace(zones, `"node"}`, `"node", "field": "x"}`, 1), `"zones.a:string"`):                                   "is no path",
		manifest("1.2", strings.Replace(zones, `"node"}`, `"node", "field": ".a[*]"}`, 1), `"zones.a:string"`):                               "it leads to several values",
		manifest("1.2", strings.Replace(zones, "noderesourcetopologies.topology.node.k8s.io/v1alpha2", "secrets/v1", 1), `"zones.a:string"`): "secrets are never read",
		manifest("1.2", strings.Replace(zones, "v1alpha2", "v1alpha2/status", 1), `"zones.a:string"`):                                        "names a subresource",
	} {
		m, err := wire.DecodeManifest([]byte(text))
		if err == nil {
			err = m.Validate()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err != nil {
			continue
		}
		again, err := wire.DecodeManifest(wire.EncodeManifest(m))
		if err != nil || !slices.Equal(again.Reads.Objects, m.Reads.Objects) {
			t.Errorf("%s becomes %s: %v", text, wire.EncodeManifest(m), err)
		}
		if rights := m.Rights(); rights.JSON() != `{"objects":["noderesourcetopologies.topology.node.k8s.io"]}` {
			t.Errorf("rights: %s", rights.JSON())
		}
		if views := m.ObjectViews(); len(views) != 1 || views[0].Key() != "noderesourcetopologies.topology.node.k8s.io/v1alpha2 by node .zones[*].name:string" {
			t.Errorf("%+v", views)
		}
	}
}

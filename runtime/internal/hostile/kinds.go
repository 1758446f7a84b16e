package hostile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kinds are texts of the manifest where hosts expect names, and exports of another kind than the host looks for.
func kinds() ([]Attack, error) {
	l := &list{}
	text := strings.ToValidUTF8(evil, "?")
	manifests := map[string]fields{
		"publishes": {"publishes": []string{text}}, "cycle-local": {"cycleLocal": []string{text}}, "host": {"host": []string{text, text + "x"}},
		"enforces": {"enforces": []string{text}}, "published": {"reads": fields{"published": []string{text + "/" + text}}},
		"point": {"points": fields{text: fields{}}}, "scope": {"points": fields{"filter": fields{"scope": text}}}, "field": {text: 1},
		"directives": {"directives": fields{"annotations": []string{text}, "labels": []string{text}}},
		"conditions": {"reads": fields{"nodeConditions": []string{text}, "podLabels": []string{text}, "resources": []string{text}, "pod": []string{text}}},
	}
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		f := filtering()
		maps.Copy(f, manifests[name])
		l.add(one("escapes/of-"+name, "escapes of terminals in the manifest: "+name, good, f))
	}
	exports := map[string]string{
		"global": `(global (export "%s") i32 (i32.const 1))`, "table": `(table (export "%s") 1 funcref)`, "memory": `(export "%s" (memory 0))`, "wide": `(func (export "%s") (param v128 externref) (result f64) unreachable)`,
	}
	for _, kind := range slices.Sorted(maps.Keys(exports)) {
		for _, name := range []string{"berth_filter", "berth_configure", "_initialize"} {
			source := "(module\n;;+ memory abi alloc\n" + fmt.Sprintf(exports[kind], name)
			if name != "berth_filter" {
				source += `(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0))`
			}
			l.add(one("escapes/"+kind+"-as-"+name, "something of another kind, "+kind+", as "+name, source+")", filtering()))
		}
	}
	return l.all()
}

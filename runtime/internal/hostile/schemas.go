package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
)

// good answers that all nodes are fine.
const good = `(module
;;+ memory abi alloc
(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))`

// configured also takes a configuration.
const configured = `(module
;;+ memory abi alloc
(func (export "berth_configure") (param i32 i32) (result i32) (i32.const 0))
(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))`

// repeated is text n times, between commas.
func repeated(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }

// schemas are manifests with a schema that takes long to read or to apply.
func schemas() ([]Attack, error) {
	l := &list{}
	try := func(name, about, schema, config string) {
		a, err := one("schemas/"+name, about, configured, filtering().with("config", raw(schema)))
		if err == nil {
			a.Plugins[0].Config = []byte(config)
		}
		l.add(a, err)
	}
	nested := func(open, inner string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat("}", n)
	}
	properties := func(n int, schema func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"p%d":%s`, i, schema(i)))
		}
		return strings.Join(all, ",")
	}
	var values []string
	for i := range 1000 {
		values = append(values, fmt.Sprintf(`"p%d":"%s"`, i, strings.Repeat("a", 512)))
	}
	config := "{" + strings.Join(values, ",") + "}"
	try("allOf", "3,200 parts that a configuration breaks", `{"allOf":[`+repeated(`{"type":"string"}`, 3200)+`]}`, `{}`)
	try("anyOf", "60 parts in 60 parts in 60 parts that a configuration breaks",
		`{"anyOf":[`+repeated(`{"anyOf":[`+repeated(`{"anyOf":[`+repeated(`{"type":"string"}`, 60)+`]}`, 5)+`]}`, 5)+`]}`, `{}`)
	try("pattern-long", "a pattern of 23 KiB", `{"additionalProperties":{"pattern":"`+strings.Repeat("(a|b)?", 23<<10/6)+`"}}`, config)
	try("pattern-repeats", "a pattern that is short and compiles to many steps", `{"additionalProperties":{"pattern":"(a{30}b?){30}(c{30}d?){30}"}}`, config)
	try("patterns", "46 KiB of patterns", `{"properties":{`+properties(200, func(i int) string { return fmt.Sprintf(`{"pattern":"^(a{%d}|[\\pL\\d_-]{1000}|b?){1,1}$"}`, 900-i) })+`}}`, config)
	try("patternProperties", "many patterns for each of many properties", `{"patternProperties":{`+func() string {
		var all []string
		for i := range 600 {
			all = append(all, fmt.Sprintf(`"^p.*%d$":{"pattern":"^(a|aa|aaa)*b"}`, i))
		}
		return strings.Join(all, ",")
	}()+`}}`, config)
	try("references", "1,500 references of a schema to itself, for each depth of the configuration",
		`{"additionalProperties":{"allOf":[`+repeated(`{"$ref":"#"}`, 1500)+`]}}`, nested(`{"a":`, `1`, 6))
	try("references-few", "8 references to itself and a configuration of depth 500",
		`{"additionalProperties":{"allOf":[`+repeated(`{"$ref":"#"}`, 8)+`]}}`, nested(`{"a":`, `1`, 500))
	try("references-round", "references in a circle", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{}`)
	try("deep", "a schema 7,000 deep", nested(`{"not":`, `true`, 7_000), `{}`)
	try("deep-config", "a configuration 100,000 deep", `{}`, nested(`{"a":`, `1`, 100_000))
	try("unique", "480 KiB of elements that are to differ", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[`+repeated(`[1,[2]]`, 60_000)+`]}`)
	try("enum", "a list of 6,000 values, for each of many", `{"additionalProperties":{"enum":[`+repeated(`{"a":1}`, 6_000)+`]}}`, config)
	try("numbers", "numbers of a thousand million digits", `{"additionalProperties":{"multipleOf":1e-999999999,"maximum":1e999999999}}`, `{"a":1e999999999}`)
	try("names", "required properties with long names", `{"required":[`+func() string {
		var all []string
		for i := range 50 {
			all = append(all, fmt.Sprintf(`"%s%d"`, strings.Repeat("r", 1<<10), i))
		}
		return strings.Join(all, ",")
	}()+`]}`, `{}`)
	try("unknown-keyword", "a keyword with escapes of terminals", `{"`+jsonEvil()+`":1}`, `{}`)
	evilConfig := `{"` + jsonEvil() + `":"` + jsonEvil() + `","b":{"` + strings.Repeat("k", 300_000) + `":1}}`
	try("dependent", "schemas of properties that depend on others, with escapes", `{"dependentSchemas":{"`+jsonEvil()+`":{"required":["a`+jsonEvil()+`"]}}}`, evilConfig)
	try("property-names", "names of properties that are checked by the schema itself", `{"propertyNames":{"$ref":"#"},"additionalProperties":{"$ref":"#"},"required":["`+strings.Repeat("中", 9000)+`"]}`, evilConfig)
	try("references-evil", "a reference with escapes, to elsewhere", `{"$id":"http://`+jsonEvil()+`","$ref":"`+jsonEvil()+`"}`, evilConfig)
	try("references-if", "a schema that is its own condition and both branches", `{"if":{"$ref":"#"},"then":{"$ref":"#"},"else":{"$ref":"#"}}`, evilConfig)
	try("enum-long", "a value of 50 KB as the only one", `{"properties":{"b":{"enum":["`+strings.Repeat("x", 50_000)+`"]},"`+jsonEvil()+`":{"const":"`+jsonEvil()+`x"}}}`, evilConfig)
	try("long-config", "a configuration of 1 MiB in one string that breaks the schema", `{"type":"object","additionalProperties":{"maxLength":1}}`, `{"a":"`+strings.Repeat("é", 500<<10)+`"}`)
	return l.all()
}

// jsonEvil is evil in JSON, without the quotes.
func jsonEvil() string {
	data, err := json.Marshal(strings.ToValidUTF8(evil, "?"))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(data[1 : len(data)-1])
}

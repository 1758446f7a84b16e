package config_test

import (
	"reflect"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// plugin is what a configuration becomes.
type plugin struct {
	tenants  map[string][]string
	fallback bool
	limit    int64
	price    float64
}

func read(data string) (p plugin, err error) {
	p.tenants = map[string][]string{}
	c := config.Parse([]byte(data))
	c.Only("tenants", "limit", "price")
	for _, tenant := range c.Get("tenants").Fields() {
		tenant.Only("pools", "fallback")
		p.tenants[tenant.Key()] = nil
		for _, pool := range tenant.Get("pools").Elements() {
			p.tenants[tenant.Key()] = append(p.tenants[tenant.Key()], pool.Text("none"))
		}
		p.fallback = p.fallback || tenant.Get("fallback").Bool(false)
	}
	limit := c.Need("limit")
	if p.limit = limit.Int64(1); p.limit < 0 {
		limit.Refuse("it is negative")
	}
	p.price = c.Get("price").Float64(0.25)
	return p, c.Err()
}

func TestParse(t *testing.T) {
	for text, want := range map[string]plugin{
		` {"tenants": {"a": {"pools": ["x", "\u00e4", null], "fallback": true}, "b": null}, "limit": 7, "price": 5e-1, "limit": 8} `: {map[string][]string{"a": {"x", "ä", "none"}, "b": nil}, true, 8, 0.5},
		`{"limit": 0, "price": null}`: {map[string][]string{}, false, 0, 0.25},
	} {
		if got, err := read(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %+v", text, err, got)
		}
	}
}

// TestParseRefuses: mistakes are reported in the words of the SDKs in other languages, whose
// tests have the same texts.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:               "the configuration: expected an object, found a list",
		`{"tenant": {}}`:   "tenant: there is no such field; there are tenants, limit, price",
		`{"hidden": null}`: "hidden: there is no such field; there are tenants, limit, price",
		`{"tenants": {}}`:  "the configuration: the field limit is missing",
		`{"limit": null}`:  "the configuration: the field limit is missing",
		`{"limit": -1}`:    "limit: it is negative",
		`{"tenants": {"a": {"pools": ["b", 1]}}}`:  "tenants.a.pools[1]: expected a string, found a number",
		`{"tenants": {"a": {"pools": "b"}}}`:       "tenants.a.pools: expected a list, found a string",
		`{"tenants": {"a": {"fallback": 1}}}`:      "tenants.a.fallback: expected true or false, found a number",
		`{"tenants": {"a": {}, "b": {"pool": 1}}}`: "tenants.b.pool: there is no such field; there are pools, fallback",
		`{"tenants": [true], "limit": "two"}`:      "tenants: expected an object, found a list",
		`{"limit": "two"}`:                         "limit: expected a number, found a string",
		`{"limit": true}`:                          "limit: expected a number, found true or false",
		`{"limit": 1.5}`:                           "limit: 1.5 is not a whole number of 64 bits",
		`{"limit": 9223372036854775808}`:           "limit: 9223372036854775808 is not a whole number of 64 bits",
		`{"limit": 1, "price": 1e999}`:             "price: 1e999 is beyond the numbers of 64 bits",
		"{\n\"limit\": }":                          "line 2: this is not JSON",
		"{\n\"limit\": 1":                          "line 2: this is not JSON",
		"{}\n{}":                                   "line 2: this is not JSON",
		"":                                         "line 1: this is not JSON",
	} {
		if _, err := read(text); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

type tenant struct {
	Pools    []string `json:"pools"`
	Fallback bool     `json:"fallback"`
}

// Common is embedded, which adds its fields.
type Common struct {
	Exempt []string
}

type own struct{}

func (*own) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, new(int))
}

type plugin struct {
	Common
	Tenants map[string]tenant `json:"tenants"`
	Limit   int64             `json:"limit"`
	Price   *float64          `json:"price,omitempty"`
	Small   int8              `json:"small"`
	Own     own               `json:"own"`
	Hidden  int               `json:"-"`
}

// TestParse: a configuration is decoded as by encoding/json.
func TestParse(t *testing.T) {
	got, err := config.Parse[plugin]([]byte(` {"tenants": {"a": {"pools": ["x"], "fallback": true}, "b": null}, "LIMIT": 7, "price": 0.5, "exempt": ["e"]} `))
	price := 0.5
	want := plugin{Common: Common{[]string{"e"}}, Tenants: map[string]tenant{"a": {[]string{"x"}, true}, "b": {}}, Limit: 7, Price: &price}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(own{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestParseRefuses: mistakes are reported in the words of the SDKs in other languages, whose
// tests have the same texts.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:              "the configuration: expected an object, found a list",
		`{"tenant": {}}`:  "tenant: there is no such field; there are Exempt, tenants, limit, price, small, own",
		`{"hidden": 1}`:   "hidden: there is no such field; there are Exempt, tenants, limit, price, small, own",
		`{"exempt": "a"}`: "exempt: expected a list, found a string",
		`{"tenants": {"a": {"pools": ["b", 1]}}}`:  "tenants.a.pools[1]: expected a string, found a number",
		`{"tenants": {"a": {"fallback": 1}}}`:      "tenants.a.fallback: expected true or false, found a number",
		`{"tenants": {"a": {}, "b": {"pool": 1}}}`: "tenants.b.pool: there is no such field; there are pools, fallback",
		`{"tenants": [true]}`:                      "tenants: expected an object, found a list",
		`{"limit": "two"}`:                         "limit: expected a number, found a string",
		`{"limit": 1.5}`:                           "limit: 1.5 is not a whole number of 64 bits",
		`{"limit": 9223372036854775808}`:           "limit: 9223372036854775808 is not a whole number of 64 bits",
		`{"price": 1e999}`:                         "price: 1e999 is beyond the numbers of 64 bits",
		"{\n\"tenants\": }":                        "line 2: this is not JSON",
		"{\n\"limit\": 1":                          "line 2: this is not JSON",
		"{}\n{}":                                   "line 2: this is not JSON",
		"":                                         "line 1: this is not JSON",
	} {
		if _, err := config.Parse[plugin]([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	// Types that the others do not have, and those that decode themselves, have the errors of
	// encoding/json.
	for _, text := range []string{`{"small": 1000}`, `{"own": "x"}`} {
		if _, err := config.Parse[plugin]([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "json: ") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

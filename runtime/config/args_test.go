package config_test

import (
	"testing"

	"github.com/berth-scheduler/berth/runtime/config"
)

func TestDecodeArgs(t *testing.T) {
	type inner struct {
		Limit int32 `json:"limit"`
	}
	type plugin struct {
		Names []string `json:"names"`
		Inner *inner   `json:"inner"`
		Kept  string   `json:"kept"`
	}
	const path = "profiles[0].pluginConfig[2].args"
	cases := []struct{ raw, path, err string }{
		{`{"names": ["a"], "inner": {"limit": 3}}`, path, ""},
		{``, "", ""},
		{`{"name": ["a"], "inner": {"limit": 3000000000}}`, path,
			path + ".inner.limit: expected a 32-bit integer, found the number 3000000000\n" +
				path + `.name: unknown field; did you mean "names"?`},
		{`{"names": "a"}`, "", `names: expected a list, found the string "a"; write each item below it after a dash`},
		{`[1]`, path, path + ": expected a mapping, found a list"},
		{`{`, "", "not valid JSON: unexpected EOF"},
	}
	for _, c := range cases {
		into := plugin{Kept: "default"}
		err := config.DecodeArgs(config.Args{Raw: []byte(c.raw), Path: c.path}, &into)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.err {
			t.Errorf("%s\n got: %s\nwant: %s", c.raw, got, c.err)
		}
		if into.Kept != "default" || err != nil && into.Names != nil {
			t.Errorf("%s: into is %+v", c.raw, into)
		}
	}
}

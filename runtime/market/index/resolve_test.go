package index_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/market/index"
)

// TestResolve: a range gives the newest version in it that can be installed, or says why
// there is none.
func TestResolve(t *testing.T) {
	later := version("3.0.0", "7")
	later.ABI, later.Points, later.Reads = "1.99", []string{"postMortem"}, map[string][]string{"moons": {"phase"}}
	racks := rackAware(version("1.2.0", "1"), version("1.2.5", "2"), version("1.10.0", "3"), version("2.0.0", "4"), version("2.1.0-rc.1", "5"), version("0.9.0", "6"), later)
	early := rackAware(version("0.1.0-rc.1", "8"), version("0.1.0-rc.2", "9"))
	early.Name, early.Repository = "early", "ghcr.io/example/early"
	f := first(t, racks, early)
	for _, yanked := range []string{"1.2.5", "0.9.0"} {
		if err := f.Mark("rack-aware", yanked, &index.Yank{Reason: "it places pods twice", Successor: "1.2.0"}); err != nil {
			t.Fatal(err)
		}
	}
	for wanted, want := range map[string]string{
		"rack-aware":              "2.0.0", // neither the version before a release nor that for a later host
		"rack-aware@^1":           "1.10.0",
		"rack-aware@1.2.0":        "1.2.0",
		"rack-aware@~1.2":         "1.2.0", // 1.2.5 is yanked
		"rack-aware@1.2":          "1.2.0",
		"rack-aware@>=1.2, <2":    "1.10.0",
		"rack-aware@2.1.0-rc.1":   "2.1.0-rc.1",
		"rack-aware@>=2.1.0-rc":   "2.1.0-rc.1",
		"early":                   "0.1.0-rc.2",
		"rack-aware@1.2.5":        "rack-aware 1.2.5 is yanked: it places pods twice; use 1.2.0",
		"rack-aware@<1":           "rack-aware 0.9.0 is yanked",
		"rack-aware@3":            "rack-aware 3.0.0: manifest: abi: the module needs ABI 1.99, this host has 1.2; use a berth that has ABI 1.99",
		"rack-aware@4":            `rack-aware has no version in "4", but 3.0.0, 2.1.0-rc.1, 2.0.0, 1.10.0, 1.2.5, 1.2.0, 0.9.0`,
		"none":                    `the index has no plugin "none": berth plugin search`,
		"rack-aware@":             "write NAME, or NAME@RANGE",
		"@1":                      "write NAME, or NAME@RANGE",
		"rack-aware@one":          `"one" is not a version range: write for example 1.2.0, ^1.2`,
		"rack-aware@\x1b[2J":      `"\x1b[2J" is not a version range`,
		"\x1b[2J":                 `the index has no plugin "\x1b[2J"`,
		"../../x":                 `the index has no plugin "../../x"`,
		"rack-aware@" + long(400): "the range of versions has 400 bytes, at most 256 are allowed",
	} {
		got := ""
		w, err := index.ParseWanted(wanted)
		if err == nil {
			var v *index.Version
			if _, v, err = f.Resolve(w); err == nil {
				got = v.Version
			}
		}
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want) || strings.Contains(got, "\x1b")) {
			t.Errorf("%.40s: %s, want %s", wanted, got, want)
		}
		if err == nil && w.String() != wanted {
			t.Errorf("%s is written as %s", wanted, w)
		}
	}
	if p, v := f.Digest(digest("f"), digest("3")); p == nil || v.Version != "1.10.0" {
		t.Errorf("%v, %v", p, v)
	}
	if p, v := f.Digest(digest("f"), digest("f")); p != nil || v != nil {
		t.Errorf("%v, %v", p, v)
	}
	if p := f.In("ghcr.io/example/early"); p == nil || p.Name != "early" || f.In("ghcr.io/example") != nil {
		t.Errorf("%v", p)
	}
}

func long(n int) string { return strings.Repeat("1", n) }

// TestYanked: a module that is yanked is so in every image and under every name that carries it.
func TestYanked(t *testing.T) {
	bad, good, copied := version("1.2.0", "1"), version("1.3.0", "2"), version("1.2.0", "3")
	good.Module, copied.Module = "sha256:"+strings.Repeat("e", 64), bad.Module
	other := rackAware(copied)
	other.Name, other.Repository = "another", "ghcr.io/example/another"
	f := first(t, rackAware(bad, good), other)
	if err := f.Mark("rack-aware", "1.2.0", &index.Yank{Reason: "it places pods twice"}); err != nil {
		t.Fatal(err)
	}
	if p, v := f.Yanked(bad.Module); v == nil || p.Name != "rack-aware" || v.Yanked == nil {
		t.Errorf("%+v, %+v", p, v)
	}
	if _, v := f.Yanked(good.Module); v != nil {
		t.Errorf("%+v is yanked", v)
	}
}

// TestSearch: all words must be there, in whatever case, in what users know of a plugin.
func TestSearch(t *testing.T) {
	other := rackAware(version("0.1.0", "1"))
	other.Name, other.Repository = "zone-cost", "ghcr.io/example/zone-cost"
	other.Versions[0].Description = "Prefers cheap zones"
	f := first(t, rackAware(version("1.2.0", "2")), other)
	for words, want := range map[string]string{
		"":                         "rack-aware zone-cost",
		"RACK":                     "rack-aware zone-cost", // both read the label
		"racks":                    "rack-aware",
		"cheap zones":              "zone-cost",
		"cheap racks":              "",
		"example.com/rack filter":  "rack-aware zone-cost",
		"apache-2.0 example score": "rack-aware zone-cost",
	} {
		var got []string
		for _, p := range f.Search(strings.Fields(words)...) {
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q finds %q, want %q", words, got, want)
		}
	}
}

// TestNewer: versions are compared as such.
func TestNewer(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"1.10.0", "1.9.0", true}, {"1.9.0", "1.10.0", false}, {"1.0.0", "1.0.0-rc.1", true}, {"1.0.0", "1.0.0", false}, {"x", "1.0.0", false}, {"1.0.0", "x", true}} {
		if got := index.Newer(c.a, c.b); got != c.want {
			t.Errorf("%s after %s: %v", c.a, c.b, got)
		}
	}
}

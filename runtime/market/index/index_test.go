package index_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/market/index"
)

func digest(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// now is when tests take place.
func now() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 999, time.UTC) }

func manifest(version string) *wire.Manifest {
	return &wire.Manifest{
		Name: "rack-aware", Version: version, Publisher: "Example", License: "Apache-2.0", Description: "Spreads over <racks> & rows", ABI: "1.0",
		Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}, Score: &wire.ManifestPoint{}},
		Reads:  wire.ManifestReads{NodeLabels: []string{"example.com/rack"}, Pods: []string{"labels"}},
	}
}

// version is a version whose digests are of a digit.
func version(number, digit string) index.Version {
	v := index.Describe(manifest(number))
	v.Image, v.Module, v.Size = digest(digit), digest("f"), 1000
	return v
}

func rackAware(versions ...index.Version) index.Plugin {
	return index.Plugin{Name: "rack-aware", Repository: "ghcr.io/example/rack-aware", Versions: versions}
}

func first(t testing.TB, plugins ...index.Plugin) *index.File {
	t.Helper()
	f, left, err := index.Next(nil, plugins, now(), 24*time.Hour)
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	return f
}

func text(t testing.TB, f *index.File) []byte {
	t.Helper()
	out, err := f.Text()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestText: the same plugins give the same bytes, in whatever order they were found, and
// what is written is read.
func TestText(t *testing.T) {
	other := rackAware(version("0.1.0", "1"))
	other.Name, other.Repository = "other", "ghcr.io/example/other"
	racks := rackAware(version("1.10.0", "3"), version("1.2.0", "1"), version("1.9.0", "2"))
	racks.Versions[0].Conformance = &index.Conformance{Kept: 12}
	racks.Versions[0].Bench = []index.Bench{{Nodes: 1000, PerPod: 4_000_000, Fuel: 12345}}
	racks.Versions[0].Docs = digest("d")
	one := text(t, first(t, racks, other))
	two := text(t, first(t, other, rackAware(racks.Versions[2], racks.Versions[1], racks.Versions[0])))
	if !bytes.Equal(one, two) {
		t.Errorf("%s\n%s", one, two)
	}
	f, err := index.Parse(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	p := f.Find("rack-aware")
	if f.Serial != 1 || !f.Expires.Equal(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)) || p == nil || len(p.Versions) != 3 || p.Versions[2].Version != "1.10.0" {
		t.Errorf("read %+v", f)
	}
}

// TestNext: an index goes on from the one before, which stays as it is.
func TestNext(t *testing.T) {
	before := first(t, rackAware(version("1.2.0", "1")))
	if err := before.Mark("rack-aware", "1.2.0", &index.Yank{Reason: "it places pods twice", Severity: "high"}); err != nil {
		t.Fatal(err)
	}
	was := text(t, before)
	next, _, err := index.Next(before, []index.Plugin{rackAware(version("1.2.0", "1"), version("1.3.0", "2"))}, now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	p := next.Find("rack-aware")
	if next.Serial != 2 || len(p.Versions) != 2 || p.Versions[0].Yanked == nil || p.Versions[1].Yanked != nil {
		t.Errorf("next is %+v", next)
	}
	if err := next.Mark("rack-aware", "1.2.0", nil); err != nil || p.Versions[0].Yanked != nil {
		t.Errorf("%v, %+v", err, p.Versions[0])
	}
	if !bytes.Equal(was, text(t, before)) {
		t.Error("the index before has changed")
	}
	alone, _, err := index.Next(next, nil, now(), time.Hour)
	if err != nil || alone.Serial != 3 || len(alone.Find("rack-aware").Versions) != 2 {
		t.Errorf("what was not looked for is gone: %+v, %v", alone, err)
	}
	if err := alone.Remove("rack-aware"); err != nil || len(alone.Plugins) != 0 {
		t.Errorf("%v, %+v", err, alone)
	}
	kept, left, err := index.Next(next, []index.Plugin{rackAware(version("1.3.0", "9"))}, now(), time.Hour)
	if want := "rack-aware 1.3.0 was " + digest("2") + " and is now " + digest("9") + ": a version never changes"; err != nil ||
		len(left) != 1 || left[0].Version != "1.3.0" || !strings.HasPrefix(left[0].Err.Error(), want) || kept.Find("rack-aware").Get("1.3.0").Image != digest("2") {
		t.Errorf("%+v, %v, want %q", left, err, want)
	}
	long := index.Yank{Reason: "it places pods twice", Severity: "high", Fixed: "1.3.0", Successor: "1.3.0"}
	if err := kept.Mark("rack-aware", "1.2.0", &long); err != nil || long.String() != "high: it places pods twice; fixed in 1.3.0" {
		t.Errorf("%v, %s", err, &long)
	}
	if _, _, err := index.Next(nil, nil, now(), -time.Hour); err == nil {
		t.Error("an expired index was created")
	}
	for want, err := range map[string]error{
		`the index has no plugin "none"`:    next.Mark("none", "1.0.0", nil),
		"the index has no rack-aware 9":     next.Mark("rack-aware", "9", nil),
		"rack-aware 1.3.0 is not yanked":    next.Mark("rack-aware", "1.3.0", nil),
		"a yank needs a reason":             next.Mark("rack-aware", "1.3.0", &index.Yank{}),
		`the index has no plugin "none`:     next.Remove("none"),
		"is not one of low, medium, high,":  next.Mark("rack-aware", "1.3.0", &index.Yank{Reason: "bad", Severity: "bad"}),
		`"1.2.0" is not a version after 1`:  next.Mark("rack-aware", "1.3.0", &index.Yank{Reason: "bad", Fixed: "1.2.0"}),
		"fixed: the index has no rack-awa":  next.Mark("rack-aware", "1.2.0", &index.Yank{Reason: "bad", Fixed: "1.2.1"}),
		"successor: the index has no rack":  next.Mark("rack-aware", "1.2.0", &index.Yank{Reason: "bad", Successor: "1.2.1"}),
		`successor: the index has no plugi`: next.Mark("rack-aware", "1.2.0", &index.Yank{Reason: "bad", Successor: "none@1.2.0"}),
		"rack-aware 1.2.0 is yanked itself": next.Mark("rack-aware", "1.2.0", &index.Yank{Reason: "bad", Successor: "1.2.0"}),
		"neither a version nor NAME@VERSI":  next.Mark("rack-aware", "1.3.0", &index.Yank{Reason: "bad", Successor: "../x@1.0.0"}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestLeft: a plugin that cannot be listed is left out, and stops no other one.
func TestLeft(t *testing.T) {
	named := func(name, repository string, versions ...index.Version) index.Plugin {
		return index.Plugin{Name: name, Repository: "ghcr.io/example/" + repository, Versions: versions}
	}
	before := first(t, named("a", "a", version("1.0.0", "1")), named("b", "b", version("1.0.0", "2")), rackAware(version("1.2.0", "1")))
	was := text(t, before)
	long := version("1.0.0", "3")
	long.License = strings.Repeat("x", 2000)
	next, left, err := index.Next(before, []index.Plugin{
		named("c", "a", version("2.0.0", "4")), named("c", "b", version("2.0.0", "5")), // both have another name now
		named("rack-aware", "thief", version("2.0.0", "6")),
		rackAware(version("1.2.0", "1"), version("one", "1")),
		named("d", "d", long), named("../e", "e", version("1.0.0", "7")), named("f", "f"),
		named("z", "z", version("1.0.0", "8")),
	}, now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ghcr.io/example/b: c is in ghcr.io/example/a and in ghcr.io/example/b: an index has each name once; leave one of them out",
		"ghcr.io/example/thief: rack-aware is in ghcr.io/example/rack-aware and in ghcr.io/example/thief: an index has each name once; leave one of them out",
		`ghcr.io/example/rack-aware: rack-aware: "one" is not a semantic version`,
		"ghcr.io/example/d: d.versions[0].license: 2000 bytes, at most 1024 are allowed",
		`ghcr.io/example/e: ../e.name: "../e" is not a plugin name`,
		"ghcr.io/example/f: f.versions: 0 versions, 1 to 1000 are allowed",
	}
	var got []string
	for _, x := range left {
		got = append(got, x.Repository+": "+x.Err.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("left out: %q, want %q", got, want)
	}
	var names []string
	for _, p := range next.Plugins {
		names = append(names, p.Name)
	}
	if want := []string{"a", "b", "c", "rack-aware", "z"}; !slices.Equal(names, want) || !bytes.Equal(was, text(t, before)) {
		t.Errorf("lists %q, want %q; before is %s", names, want, text(t, before))
	}
}

// TestFull: the index never becomes larger than readers accept. What is too much is left out, and a version can still be yanked.
func TestFull(t *testing.T) {
	large := version("1.0.0", "1")
	for range 1000 {
		large.Points = append(large.Points, strings.Repeat("x", 1024))
	}
	var found []index.Plugin
	for i := range 20 {
		found = append(found, index.Plugin{Name: fmt.Sprintf("large-%02d", i), Repository: "ghcr.io/example/large", Versions: []index.Version{large}})
	}
	f, left, err := index.Next(nil, append(found, rackAware(version("1.2.0", "1"))), now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) == 0 || len(f.Plugins)+len(left) != 21 || f.Find("rack-aware") == nil || !strings.Contains(left[0].Err.Error(), "take some out with --remove") {
		t.Errorf("%d plugins, left out: %.500v", len(f.Plugins), left)
	}
	if err := f.Mark("large-00", "1.0.0", &index.Yank{Reason: strings.Repeat("x", 1024)}); err != nil {
		t.Fatal(err)
	}
	if size := len(text(t, f)); size < index.MaxSize-2<<20 {
		t.Errorf("%d bytes are full", size)
	}
	found = nil
	for i := range 10_001 {
		found = append(found, index.Plugin{Name: fmt.Sprint("many-", i), Repository: "ghcr.io/example/many", Versions: []index.Version{version("1.0.0", "1")}})
	}
	if f, left, err = index.Next(nil, found, now(), time.Hour); err != nil || len(f.Plugins) != 10_000 || len(left) != 1 {
		t.Errorf("%d plugins, left out: %v, %v", len(f.Plugins), left, err)
	}
	text(t, f)
}

// TestHostile: what an index cannot say is refused, with the place; whatever is in an
// error, a terminal can print it.
func TestHostile(t *testing.T) {
	const escape = "\x1b[2J\u202e"
	for want, change := range map[string]func(*index.File){
		`plugins[0].name: "../../etc/cron.d/x" is not a plugin name`:                     func(f *index.File) { f.Plugins[0].Name = "../../etc/cron.d/x" },
		`plugins[0].name: "rack/aware" is not a plugin name`:                             func(f *index.File) { f.Plugins[0].Name = "rack/aware" },
		`plugins[0].name: "\x1b[2J\u202e" is not a plugin name`:                          func(f *index.File) { f.Plugins[0].Name = escape },
		`plugins[0].repository: "oci:../../etc" is not REGISTRY/REPOSITORY`:              func(f *index.File) { f.Plugins[0].Repository = "oci:../../etc" },
		`plugins[0].repository: "ghcr.io/../x" is not REGISTRY/REPOSITORY`:               func(f *index.File) { f.Plugins[0].Repository = "ghcr.io/../x" },
		`plugins[0].repository: "ghcr.io/x:tag" is not REGISTRY/REPOSITORY`:              func(f *index.File) { f.Plugins[0].Repository = "ghcr.io/x:tag" },
		`versions[0].version: "../1.0.0" is not a semantic version`:                      func(f *index.File) { f.Plugins[0].Versions[0].Version = "../1.0.0" },
		`versions[0].version: "v1" is not a semantic version`:                            func(f *index.File) { f.Plugins[0].Versions[0].Version = "v1" },
		`versions[0].license: "\x1b[2J\u202e" contains a non-printable character`:        func(f *index.File) { f.Plugins[0].Versions[0].License = escape },
		`versions[0].publisher: "\x1b[2J\u202e" contains a non-printable character`:      func(f *index.File) { f.Plugins[0].Versions[0].Publisher = escape },
		`versions[0].description: "\x1b[2J\u202e" contains a non-printable character`:    func(f *index.File) { f.Plugins[0].Versions[0].Description = escape },
		`versions[0].points: "\x1b[2J\u202e" contains a non-printable character`:         func(f *index.File) { f.Plugins[0].Versions[0].Points = []string{escape} },
		`versions[0].reads: "\x1b[2J\u202e" contains a non-printable character`:          func(f *index.File) { f.Plugins[0].Versions[0].Reads = map[string][]string{escape: nil} },
		`versions[0].reads.node: "\x1b[2J\u202e" contains a non-printable character`:     func(f *index.File) { f.Plugins[0].Versions[0].Reads = map[string][]string{"node": {escape}} },
		`versions[0].grants.labels: "\x1b[2J\u202e" contains a non-printable character`:  func(f *index.File) { f.Plugins[0].Versions[0].Grants.Labels = []string{escape} },
		`versions[0].grants.annotations: "\x1b[2J\u202e" contains a non-printable chara`: func(f *index.File) { f.Plugins[0].Versions[0].Grants.Annotations = []string{escape} },
		`versions[0].yanked.reason: "\x1b[2J\u202e" contains a non-printable character`:  func(f *index.File) { f.Plugins[0].Versions[0].Yanked = &index.Yank{Reason: escape} },
		`versions[0].yanked.reason: it is missing`:                                       func(f *index.File) { f.Plugins[0].Versions[0].Yanked = &index.Yank{} },
		`versions[0].yanked.successor: "\x1b[2J\u202e" is neither a version nor`:         func(f *index.File) { f.Plugins[0].Versions[0].Yanked = &index.Yank{Reason: "bad", Successor: escape} },
		`versions[0].abi: "1.0.0" is not major.minor`:                                    func(f *index.File) { f.Plugins[0].Versions[0].ABI = "1.0.0" },
		`versions[0].image: "sha256:1" is not a digest`:                                  func(f *index.File) { f.Plugins[0].Versions[0].Image = "sha256:1" },
		`versions[0].module: "" is not a digest`:                                         func(f *index.File) { f.Plugins[0].Versions[0].Module = "" },
		`versions[0].docs: "../x" is not a digest`:                                       func(f *index.File) { f.Plugins[0].Versions[0].Docs = "../x" },
		`versions[0].size: -1 is less than 1`:                                            func(f *index.File) { f.Plugins[0].Versions[0].Size = -1 },
		`versions[0].license: 2000 bytes, at most 1024 are allowed`:                      func(f *index.File) { f.Plugins[0].Versions[0].License = strings.Repeat("x", 2000) },
		`versions[0].points: 2000 items, at most 1024 are allowed`:                       func(f *index.File) { f.Plugins[0].Versions[0].Points = make([]string, 2000) },
		`versions[0].conformance: a number is less than 0`:                               func(f *index.File) { f.Plugins[0].Versions[0].Conformance = &index.Conformance{Kept: -1} },
		`versions[0].bench: a number is less than 0, or there are more than 16 rows`:     func(f *index.File) { f.Plugins[0].Versions[0].Bench = make([]index.Bench, 17) },
		"plugins[0].versions: 0 versions, 1 to 1000 are allowed":                         func(f *index.File) { f.Plugins[0].Versions = nil },
		"1.2.0 comes after 1.2.0: versions must be unique": func(f *index.File) {
			f.Plugins[0].Versions = append(f.Plugins[0].Versions, f.Plugins[0].Versions[0])
		},
		"names must be unique and sorted":           func(f *index.File) { f.Plugins = append(f.Plugins, f.Plugins[0]) },
		"plugins: 20000 plugins, at most 10000 are": func(f *index.File) { f.Plugins = make([]index.Plugin, 20000) },
		"serial: 0 is less than 1":                  func(f *index.File) { f.Serial = 0 },
		"expires: it is missing":                    func(f *index.File) { f.Expires = time.Time{} },
	} {
		f := first(t, rackAware(version("1.2.0", "1")))
		change(f)
		_, err := f.Text()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			continue
		}
		if strings.ContainsAny(err.Error(), "\x1b\u202e") || len(err.Error()) > 8<<10 {
			t.Errorf("the error has %d bytes, as they came: %q", len(err.Error()), err)
		}
	}
}

// TestParse: what is not written as an index is refused.
func TestParse(t *testing.T) {
	good := string(text(t, first(t, rackAware(version("1.2.0", "1")))))
	replaced := func(old, new string) string {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in\n%s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"another kind":       {replaced("PluginIndex", "Lock"), `it is "Lock" of "berth.dev/v1alpha1", not PluginIndex of`},
		"a later version":    {replaced("v1alpha1", "v1"), "use a newer berth"},
		"unknown field":      {replaced(`"serial"`, `"seriel"`), `unknown field "seriel": make it with berth plugin index`},
		"escape in a field":  {replaced(`"serial"`, `"\u001b[2J"`), "unknown field"},
		"a field twice":      {replaced(` "serial": 1,`, ` "serial": 7,`+"\n"+` "serial": 1,`), "it is not the canonical form of an index, byte for byte"},
		"another case":       {replaced(`"serial"`, `"Serial"`), "byte for byte"},
		"more behind":        {good + "{}", "more text follows the value"},
		"another order":      {replaced(` "apiVersion": "berth.dev/v1alpha1",`+"\n"+` "kind": "PluginIndex",`, ` "kind": "PluginIndex",`+"\n"+` "apiVersion": "berth.dev/v1alpha1",`), "byte for byte"},
		"no UTF-8":           {replaced("Example", "Exa\xffmple"), "byte for byte"},
		"another time zone":  {replaced("12:00:00Z", "12:00:00+00:00"), "byte for byte"},
		"a large number":     {replaced(`"serial": 1`, `"serial": 1e99`), "cannot unmarshal number"},
		"an empty text":      {"", "EOF"},
		"nested":             {strings.Repeat(`{"plugins":[`, 20_000), "unknown field"},
		"too many objects":   {`{"plugins":[` + strings.Repeat("{},", 2_000_000) + "{}]}", "take more than 128 MiB of memory"},
		"too many bytes":     {good + strings.Repeat(" ", 16<<20), "at most 16777216 are allowed"},
		"many small objects": {`{"plugins":[` + strings.Repeat("{},", 150_000) + "{}]}", `it is "" of ""`},
	} {
		if _, err := index.Parse(t.Context(), []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2<<10 || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestLater: a version of a later ABI has directives that this host does not know. The index is read beside it, is written with the
// same bytes, and has no such version to install; of an ABI that this host has, an unknown directive is refused.
func TestLater(t *testing.T) {
	v := version("2.0.0", "2")
	v.ABI, v.Grants.Labels = "1.99", []string{"example.com/"}
	v.Grants.Later = map[string]json.RawMessage{"victims": []byte("true"), "barrier": []byte(`[{"until":"<done>"}]`)}
	f := first(t, rackAware(version("1.2.0", "1"), v))
	written := text(t, f)
	again, err := index.Parse(t.Context(), written)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text(t, again), written) || !strings.Contains(string(written), `"until": "<done>"`) {
		t.Errorf("%s is written as %s", written, text(t, again))
	}
	got := again.Plugins[0].Versions[1].Grants
	if len(got.Later) != 2 || !slices.Equal(got.Labels, v.Grants.Labels) {
		t.Errorf("the directives are %+v", got)
	}
	if best, err := again.Plugins[0].Best(index.Wanted{Name: "rack-aware"}); err != nil || best.Version != "1.2.0" {
		t.Errorf("%v (%v) would be installed", best, err)
	}
	if _, err := index.Parse(t.Context(), bytes.Replace(written, []byte(`"1.99"`), []byte(`"1.0"`), 1)); err == nil ||
		!strings.Contains(err.Error(), `versions[1].grants: unknown field "barrier", which ABI "1.0" does not have`) {
		t.Errorf("unknown directives of ABI 1.0: %v", err)
	}
	if _, err := index.Parse(t.Context(), bytes.Replace(written, []byte(`"victims"`), []byte(`"vict\u001bims"`), 1)); err == nil {
		t.Error("a name that a terminal would run is accepted")
	}
}

// FuzzParse: what is read is written as the same bytes, is within the limits, and says
// nothing that a terminal or a path could take otherwise.
func FuzzParse(f *testing.F) {
	racks := rackAware(version("1.2.0", "1"), version("1.3.0-rc.1", "2"))
	racks.Versions[0].Yanked = &index.Yank{Reason: "bad", Successor: "1.3.0"}
	racks.Versions[1].Conformance, racks.Versions[1].Bench = &index.Conformance{Kept: 1}, []index.Bench{{Nodes: 1, PerPod: 1, Fuel: 1}}
	f.Add(text(f, first(f, racks)))
	f.Add(text(f, first(f)))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := index.Parse(t.Context(), data)
		if err != nil {
			if len(err.Error()) > 16<<10 || strings.ContainsAny(err.Error(), "\x1b\u202e\x07") {
				t.Errorf("the error has %d bytes: %q", len(err.Error()), err)
			}
			return
		}
		if again := text(t, file); !bytes.Equal(again, data) {
			t.Errorf("%s is written as %s", data, again)
		}
		for i := range file.Plugins {
			p := &file.Plugins[i]
			if strings.ContainsAny(p.Name+p.Repository, "\x1b\\ ") || strings.Contains(p.Name, ".") || strings.Contains(p.Repository, "..") {
				t.Errorf("%q in %q", p.Name, p.Repository)
			}
			if v, err := p.Best(index.Wanted{Name: p.Name}); err == nil && (v.Yanked != nil || wire.CheckABI(v.ABI) != nil) {
				t.Errorf("%+v would be installed", v)
			}
			if file.Find(p.Name) != p {
				t.Errorf("%s is not found", p.Name)
			}
		}
		if _, _, err := index.Next(file, nil, now(), time.Hour); err != nil && file.Serial < 1<<62 {
			t.Errorf("nothing can come after it: %v", err)
		}
	})
}

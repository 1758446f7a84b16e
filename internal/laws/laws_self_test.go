package laws_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestLayersChecker shows the checker made-up files: an empty want means that the law allows the file.
func TestLayersChecker(t *testing.T) {
	const us = module + "/"
	tests := []struct {
		name, file, src, want string
	}{
		{"queue on state", "runtime/queue/a.go", importing(us + "runtime/state"), ""},
		{"two layers down", "runtime/scheduler/a.go", importing(us + "abi/wire"), ""},
		{"own subfolder", "runtime/plugin/a.go", importing(us + "runtime/plugin/objects"), ""},
		{"internal from runtime", "runtime/queue/a.go", importing(us + "runtime/internal/heap"), ""},
		{"stdlib in abi", "abi/a.go", importing("encoding/binary"), ""},
		{"test library in abi", "abi/a_test.go", importing("github.com/google/go-cmp/cmp"), ""},
		{"seeded draws in any test", "runtime/internal/heap/a_test.go", importing(us + "internal/seeded"), ""},
		{"seeded draws outside of tests", "runtime/queue/a.go", importing(us + "internal/seeded"), "Remedy"},
		{"wazero in wasm", "runtime/wasm/a.go", importing("github.com/tetratelabs/wazero/api"), ""},
		{"client-go in the bridge", "hostplugins/bridge/a.go", importing("k8s.io/client-go/tools/cache"), ""},
		{"config in cmd", "cmd/app/a.go", importing(us + "runtime/config"), ""},
		{"telemetry in itself", "runtime/telemetry/prom/a.go", importing(us + "runtime/telemetry"), ""},
		{"look-alike of a forbidden path", "cmd/app/a.go", importing("k8s.io/kubernetes-client"), ""},
		{"other module", "test/oracle/a.go", importing("k8s.io/kubernetes/pkg/scheduler"), ""},
		{"testdata", "runtime/wasm/testdata/a.go", importing("k8s.io/kubernetes"), ""},

		{"queue knows plugins", "runtime/queue/a.go", importing(us + "runtime/plugin"), "runtime/queue imports runtime/plugin, which is not below it: the queue does not know plugins"},
		{"cache knows plugins, in a test", "runtime/cache/a_test.go", importing(us + "runtime/plugin"), "a test of runtime/cache imports runtime/plugin, which is neither below it"},
		{"an external test is no way round", "runtime/cycle/a_test.go", "package cycle_test\n" + imports(us+"runtime/sim"), "neither below it"},
		{"a test of wasm on a cache", "runtime/wasm/a_test.go", importing(us + "runtime/cache"), ""},
		{"wasm knows the cache", "runtime/wasm/a.go", importing(us + "runtime/cache"), "runtime/wasm imports runtime/cache, which is not below it"},
		{"cycle knows the cache", "runtime/cycle/a.go", importing(us + "runtime/cache"), "a cycle is pure"},
		{"cycle knows wasm", "runtime/cycle/a.go", importing(us + "runtime/wasm"), "Remedy: return it in the Decision"},
		{"upwards", "runtime/state/a.go", importing(us + "runtime/cache"), "runtime/state imports runtime/cache"},
		{"sideways", "runtime/kube/a.go", importing(us + "runtime/sim"), "never from one environment to the other"},
		{"sim/input knows state", "runtime/sim/input/a.go", importing(us + "runtime/state"), "runtime/sim/input imports runtime/state"},
		{"sim reads configuration", "runtime/sim/a.go", importing(us + "runtime/config"), "which only runtime/assembly and cmd/app may"},
		{"internal pulls in runtime", "runtime/internal/heap/a.go", importing(us + "runtime/state"), "must not pull anything in"},
		{"internal pulls in a library", "runtime/internal/heap/a.go", importing("k8s.io/api/core/v1"), "standard library only"},
		{"abi pulls in a library", "abi/wire/a.go", importing("k8s.io/api/core/v1"), "may import the standard library only"},
		{"test library outside a test", "abi/a.go", importing("github.com/google/go-cmp/cmp"), "standard library only"},
		{"second importer of wazero", "runtime/assembly/a.go", importing("github.com/tetratelabs/wazero"),
			"which only runtime/wasm and abi/conformance may"},
		{"second importer of client-go", "runtime/sim/input/a.go", importing("k8s.io/client-go/kubernetes/scheme"), "which only runtime/kube and hostplugins/bridge may"},
		{"assembly pulls in client-go", "runtime/assembly/a.go", importing(us + "hostplugins/bridge"), "which only runtime/kube and cmd/app may"},
		{"second importer of viper", "cmd/app/a.go", importing("github.com/spf13/viper"), "Remedy: go through runtime/config"},
		{"second importer of oras", "cmd/app/a.go", importing("oras.land/oras-go/v2"), "which only runtime/market may"},
		{"kubernetes itself", "hostplugins/nodename/a.go", importing("k8s.io/kubernetes/pkg/scheduler/framework"), "which nothing here may"},
		{"a bad name", "runtime/queue/util/a.go", "package util\n", "package util: the name does not say"},
		{"a bad name in a test", "runtime/types/a_test.go", "package types_test\n", "package types: the name does not say"},
		{"code in runtime/", "runtime/a.go", "package berth\n", "runtime/ is a folder, not a package"},
		{"code at the top", "a.go", "package berth\n", "the top folder holds tests only"},
		{"unknown package", "runtime/novel/a.go", "package novel\n", "runtime/novel is in no layer"},
		{"import of an unknown package", "cmd/app/a.go", importing(us + "runtime/novel"), "runtime/novel, which is in no layer"},
		{"init", "cmd/app/a.go", "package a\nfunc init() {}\n", "cmd/app/a.go:2: init function"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files, err := goFiles(fstest.MapFS{
				test.file:     {Data: []byte(test.src)},
				"test/go.mod": {Data: []byte("module example.com/test\n")},
			})
			if err != nil {
				t.Fatal(err)
			}
			problems := strings.Join(design().check(files), "\n")
			switch {
			case test.want == "" && problems != "":
				t.Errorf("want no complaint, got\n%s", problems)
			case !strings.Contains(problems, test.want):
				t.Errorf("want a complaint with %q, got\n%s", test.want, problems)
			}
		})
	}
}

// TestLooseRows: an entry that no import asks for, or that tests alone ask for, is complained of.
func TestLooseRows(t *testing.T) {
	r := rules{layers: []layer{{pkg: "a"}, {pkg: "b"}, {pkg: "c"}, {pkg: "d", on: "a b", tests: "c"}}}
	files, err := goFiles(fstest.MapFS{
		"d/d.go":      {Data: []byte(importing(module + "/a"))},
		"d/d_test.go": {Data: []byte(importing(module + "/b"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(r.loose(files), "\n")
	if want := "d: its code imports nothing of b. Remedy: let the row in layers_test.go name what it does import\n" +
		"d: its tests import nothing of c. Remedy: let the row in layers_test.go name what they do import"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestDesignIsSound checks the table itself: each layer has one row with a reason and a remedy, and stands on rows above
// it, so that there is no ring.
func TestDesignIsSound(t *testing.T) {
	above := map[string]bool{}
	for _, l := range design().layers {
		if l.why == "" || l.fix == "" {
			t.Errorf("%s: has no reason or no remedy", l.pkg)
		}
		for on := range strings.FieldsSeq(l.on + " " + l.tests) {
			if !above[on] {
				t.Errorf("%s: stands on %s, which has no row above it", l.pkg, on)
			}
		}
		if above[l.pkg] {
			t.Errorf("%s: has two rows", l.pkg)
		}
		above[l.pkg] = true
	}
}

func importing(paths ...string) string { return "package a\n" + imports(paths...) }

func imports(paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		b.WriteString("import _ \"" + p + "\"\n")
	}
	return b.String()
}

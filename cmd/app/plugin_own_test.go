package app

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	"github.com/berth-scheduler/berth/abi/wire"
)

// TestMute: a plugin in Rust that trapped without log is told how it could say why.
func TestMute(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", map[string]string{"rust/Cargo.toml": "", "go/main.go": ""})
	const trap = "a.txt:3: the plugin trapped: unreachable\nIt trapped in:\n  f"
	for _, c := range []struct {
		failed, dir string
		host        []string
		want        bool
	}{
		{trap, "rust", nil, true}, {trap, "rust", []string{"log"}, false}, {trap, "go", nil, false}, {trap, "", nil, false},
		{"a.txt:3: the plugin trapped: the call used its fuel of 1 units", "rust", nil, false},
		{"a.txt:3: got\na", "rust", nil, false}, {strings.Replace(trap, "It trapped", "The guest's last output:\n  why\nIt trapped", 1), "rust", nil, false},
	} {
		if got := mute([]string{c.failed}, &wire.Manifest{Host: c.host}, c.dir); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestRestOwnLimit: own tests that do not end are stopped if the plugin failed as WebAssembly.
func TestRestOwnLimit(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", map[string]string{
		"go/go.mod": "module spins\n\ngo 1.24\n", "go/spins_test.go": "package spins\n\nimport \"testing\"\n\nfunc TestSpins(*testing.T) { for {} }\n",
		"rust/Cargo.toml": "[package]\nname = \"spins\"\nversion = \"0.1.0\"\n", "rust/src/lib.rs": "",
		"rust/tests/spins.rs": "#[test]\nfn spins() {\n    loop {\n        std::thread::sleep(std::time::Duration::from_millis(1));\n    }\n}\n",
	})
	for dir, want := range map[string]string{"go": "test timed out after 1s", "rust": "stopped after 1s"} {
		t.Run(dir, func(t *testing.T) {
			if dir == "rust" {
				cargotest.Toolchain(t)
			}
			var out bytes.Buffer
			o := pluginTest{pluginTestOptions: &pluginTestOptions{ownLimit: time.Second}, dir: dir, out: &out, failed: 1}
			o.runOwn(t.Context())
			if o.failed != 2 || !bytes.Contains(out.Bytes(), []byte(want)) {
				t.Error(out.String())
			}
		})
	}
}

// TestUntold: what scenarios said as WebAssembly is not said again by go test, and nothing else is left out.
func TestUntold(t *testing.T) {
	o := pluginTest{told: []string{"a.txt:3: got\nn Success\nwant\nn Skip", "a.txt: nobody reads x"}}
	const (
		head   = "--- FAIL: TestScenarios (0.02s)\n    --- FAIL: TestScenarios/a.txt (0.02s)\n"
		again  = "        my_test.go:11: a.txt:3: got\n            n Success\n            want\n            n Skip\n"
		native = "        my_test.go:11: a.txt:9: got\n            n Success\n            want\n            n Error\n"
		said   = head + again + native + "        unseen.go:124: a.txt: nobody reads x\nFAIL\n"
		want   = head + native + "FAIL\n(what is told above is left out here)"
	)
	if got := o.untold(said); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := new(pluginTest).untold(said); got != strings.TrimSpace(said) {
		t.Errorf("nothing was told: got\n%s", got)
	}
	if got := o.untold(head + again + "FAIL\nFAIL\texample.com/my\t0.007s\n"); got != "(as above)" {
		t.Errorf("got\n%s", got)
	}

	o.told = []string{"dir/a.txt:3: the plugin trapped: unreachable\nThe guest's last output:\n  panic: why\n\n  main.f()"}
	const panics = "        my_test.go:11: a.txt:3: the plugin trapped: panic: why\n            main.f()\n            \tmain.go:7\n"
	for _, c := range []struct{ said, want string }{
		{panics, "(as above)"},
		{strings.ReplaceAll(panics, "why", "another"), strings.ReplaceAll(panics, "why", "another")},
		{strings.ReplaceAll(panics, "txt:3", "txt:4"), strings.ReplaceAll(panics, "txt:3", "txt:4")},
	} {
		if got := o.untold(head + c.said + "FAIL\n"); got != c.want && got != strings.TrimSpace(head+c.want+"FAIL") {
			t.Errorf("got\n%s", got)
		}
	}
}

// TestUntoldElsewhere: it is not said again if the folder is another one, nor if the answers of a line differ in another way.
func TestUntoldElsewhere(t *testing.T) {
	o := pluginTest{dir: "dir", told: []string{
		"dir/a.txt:3: got\nn Success\nwant\nn Skip", `dir/a.txt:7: my: one call in one instance gives "n Success", but with another instance it gives "n Skip"`,
	}}
	const said = "        my_test.go:11: a.txt:3: got\n            n Success\n            want\n            n Skip\n" +
		"        my_test.go:11: a.txt:7: my: one call in one instance gives \"n Skip\", but with rows split over calls it gives \"n Success\"\nFAIL\n"
	if got := o.untold(said); got != "(as above)" {
		t.Errorf("got\n%s", got)
	}
	if got := o.untold(strings.ReplaceAll(said, "a.txt:7", "a.txt:8")); !strings.Contains(got, "a.txt:8") || strings.Contains(got, "a.txt:3") {
		t.Errorf("got\n%s", got)
	}
}

// TestWithoutDump: what ended a program is told without all of its goroutines.
func TestWithoutDump(t *testing.T) {
	for said, want := range map[string]string{
		"runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n\nruntime stack:\nf()\nFAIL\n": "runtime: goroutine stack exceeds " +
			"1000000000-byte limit\nfatal error: stack overflow\n(its goroutines are left out: go test shows them)",
		"panic: test timed out after 30s\n\nf()\n": "panic: test timed out after 30s\n(its goroutines are left out: go test shows them)",
		"panic: why\n\nf()\n":                      "panic: why\n\nf()",
	} {
		if got := new(pluginTest).untold(said); got != want {
			t.Errorf("got\n%s", got)
		}
	}
}

// TestRustUnits: unit tests in src are tests of a crate, as are files in tests.
func TestRustUnits(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", map[string]string{
		"none/src/lib.rs": "fn f() {}\n", "unit/src/lib.rs": "mod deep;\n", "unit/src/deep/mod.rs": "#[cfg(test)]\nmod tests {\n    #[test]\n    fn f() {}\n}\n",
		"file/src/lib.rs": "", "file/tests/a.rs": "",
	})
	for dir, want := range map[string]bool{"none": false, "unit": true, "file": true, "absent": false} {
		if got := hasRustTests(dir); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
}

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

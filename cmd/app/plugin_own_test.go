package app

import (
	"bytes"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
)

// TestOwnLimit: own tests that do not end are stopped if the plugin failed as WebAssembly.
func TestOwnLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: builds tests in two languages")
	}
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
			begin := time.Now()
			o.runOwn(t.Context())
			if o.failed != 2 || !bytes.Contains(out.Bytes(), []byte(want)) {
				t.Errorf("after %v: %s", time.Since(begin), out.String())
			}
		})
	}
}

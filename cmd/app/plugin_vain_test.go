package app

import (
	"slices"
	"strings"
	"testing"
)

// TestVain: a plugin that asks for the time, draws random numbers or waits is told where, and nothing else is.
func TestVain(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", map[string]string{
		"go/go.mod":        "module my\n\ngo 1.24\n",
		"go/guest/main.go": "package main\n\nimport \"my/deep\"\n\nfunc main() { deep.F() }\n",
		"go/deep/deep.go": "package deep\n\nimport (\n\tdraw \"math/rand/v2\"\n\t\"os\"\n\t\"time\"\n)\n\nfunc F() {\n\t_ = time.Second\n\t_ = time.Now()\n" +
			"\t_ = draw.New(draw.NewPCG(1, 2)).IntN(3)\n\t_ = draw.IntN(3)\n\ttime.Sleep(1)\n\t_, _ = os.ReadFile(\"x\")\n}\n",
		"go/deep/deep_test.go": "package deep\n\nimport \"time\"\n\nvar now = time.Now()\n",
		"go/deep/native.go":    "//go:build !wasip1\n\npackage deep\n\nimport \"time\"\n\nvar now = time.Now()\n",
		"go/other/other.go":    "package other\n\nimport \"time\"\n\nvar now = time.Now()\n",
		"rust/Cargo.toml":      "", "rust/src/lib.rs": "// SystemTime::now\nlet a = Instant::now();\nlet b = Instant::nowhere();\nlet c = std::fs::read(a);\nprintln!();\n",
		"as/package.json": "{}", "as/assembly/index.ts": "const a = Date.now() + <i64>Math.random();\n", "as/berth/assembly/x.ts": "Date.now()",
		"c/plugin.c": "time(NULL);",
	})
	for dir, want := range map[string][]string{
		"go":   {"go/deep/deep.go:11: time.Now: " + vainClock, "go/deep/deep.go:13: draw.IntN: " + vainDraw, "go/deep/deep.go:14: time.Sleep: " + vainWait, "go/deep/deep.go:15: os.ReadFile: " + vainFiles},
		"rust": {"rust/src/lib.rs:2: Instant::now: " + vainClock, "rust/src/lib.rs:4: std::fs::read: " + vainFiles, "rust/src/lib.rs:5: println!: " + vainPrint},
		"as":   {"as/assembly/index.ts:1: Date.now: " + vainClock, "as/assembly/index.ts:1: Math.random: " + vainDraw},
		"c":    nil,
	} {
		if got := vain(t.Context(), dir); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s", dir, strings.Join(got, "\n"))
		}
	}
}

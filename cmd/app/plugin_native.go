package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// nativeBenchmark is a benchmark that go test overlays on a Go project, whose package has
// New and Manifest.
const nativeBenchmark = `package %[1]s_test

import (
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	plugin %[2]q
)

func BenchmarkBerthPlugin(b *testing.B) {
	for _, n := range []int{%[3]s} {
		b.Run(fmt.Sprint("nodes=", n), func(b *testing.B) {
			nodes, pods, err := berthtest.Sample(plugin.Manifest, n, %[4]s)
			if err != nil {
				b.Fatal(err)
			}
			namespaces, err := berthtest.SampleNamespaces(plugin.Manifest, %[4]s)
			if err != nil {
				b.Fatal(err)
			}
			trial := berthtest.New(b, plugin.Manifest, berthtest.Native(plugin.New), %[5]q)
			trial.Nodes, trial.Namespaces = nodes, namespaces
			trial.Bench(b, pods)
		})
	}
}
`

// native measures the call of a Go plugin as native code, in a separate process. It returns
// the times by number of nodes, or why there are none.
func (o *pluginBenchOptions) native(ctx context.Context, dir string, config []byte) (map[int]time.Duration, string) {
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.Name}} {{.ImportPath}}", ".")
	list.Dir = dir
	said, err := list.Output()
	name, path, ok := strings.Cut(strings.TrimSpace(string(said)), " ")
	if err != nil || !ok || name == "main" {
		return nil, "the folder has no package besides main"
	}
	temp, err := os.MkdirTemp("", "berth-native-")
	if err != nil {
		return nil, err.Error()
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a folder for temporary files
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, err.Error()
	}
	sizes := make([]string, len(o.nodes))
	for i, n := range o.nodes {
		sizes[i] = strconv.Itoa(n)
	}
	source := fmt.Sprintf(nativeBenchmark, name, path, strings.Join(sizes, ", "), fmt.Sprintf("%#v", o.hints), config)
	test, overlay := filepath.Join(temp, "bench.go"), filepath.Join(temp, "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(whole, "berth_native_bench_test.go"): test}})
	if err != nil {
		return nil, err.Error()
	}
	for file, data := range map[string][]byte{test: []byte(source), overlay: replaced} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return nil, err.Error()
		}
	}
	bench := exec.CommandContext(ctx, "go", append([]string{"test", "-overlay", overlay}, o.nativeFlags()...)...)
	bench.Dir = dir
	said, err = bench.CombinedOutput()
	if err != nil {
		return nil, "its benchmark fails: " + string(bytes.TrimSpace(said))
	}
	all := map[int]time.Duration{}
	for _, m := range regexp.MustCompile(`(?m)^BenchmarkBerthPlugin/nodes=(\d+)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`).FindAllSubmatch(said, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		ns, _ := strconv.ParseFloat(string(m[2]), 64)
		if best, known := all[n]; !known || time.Duration(ns) < best {
			all[n] = time.Duration(ns)
		}
	}
	return all, ""
}

// nativeFlags makes go test measure as long as the other measurements.
func (o *pluginBenchOptions) nativeFlags() []string {
	return []string{
		"-run", "^$", "-bench", "^BenchmarkBerthPlugin$", "-cpu", "1", "-benchtime", (o.length / batches).String(), "-count", strconv.Itoa(batches), ".",
	}
}

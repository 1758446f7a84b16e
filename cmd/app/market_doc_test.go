package app

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/registry"
)

// TestMarketDoc runs the commands of docs/market.md as they are written, with another
// address of the registry.
func TestMarketDoc(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: builds and compiles guests in Go")
	}
	doc, err := os.ReadFile("../../docs/market.md")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := filepath.Abs("testdata/cluster")
	if err != nil {
		t.Fatal(err)
	}
	handler, err := registry.New(registry.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	dir := t.TempDir()
	if err := os.Symlink(cluster, filepath.Join(dir, "cluster")); err != nil {
		t.Fatal(err)
	}
	script := "set -eu\n"
	for _, b := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(doc, -1) {
		script += strings.ReplaceAll(string(b[1]), "localhost:5000", strings.TrimPrefix(server.URL, "http://"))
	}
	if n := strings.Count(script, "berth plugin"); n < 20 {
		t.Fatalf("the page has %d commands", n)
	}
	// testscript.Main has put a berth into the path.
	sh := exec.CommandContext(t.Context(), "sh", "-c", script)
	sh.Dir = dir
	sh.Env = append(os.Environ(), "DOCKER_CONFIG="+dir, "GOFLAGS=-mod=mod", "GOPROXY=off", "XDG_CACHE_HOME="+cacheHome(t))
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"rack-aware 0.1.0, signed by team", "placed", "oci-archive:gap.tar@sha256:", "serial 1, 1 version in 1 plugin", "pages/index.html: 1 plugin",
		"rack-aware: reads the label example.com/maintenance of nodes: new", "rack-aware  0.1.0    0.1.1     0.1.1   -", "rack-aware: reads labels of placed pods: new",
		"rack-aware 0.1.1 is yanked: it reads more than it needs; use 0.1.0\nrefused\n", "rack-aware: version 0.1.1 -> 0.1.0"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the commands do not print %q:\n%s", want, out)
		}
	}
	// The policy that the page explains is one, but for the key's text.
	_, text, _ := strings.Cut(string(doc), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	key, err := os.ReadFile(filepath.Join(dir, "team.pub"))
	if err != nil {
		t.Fatal(err)
	}
	text = strings.Replace(text, "    -----BEGIN PUBLIC KEY-----\n    …", "    "+strings.ReplaceAll(strings.TrimSpace(string(key)), "\n", "\n    "), 1)
	if _, err := policy.Parse([]byte(text)); err != nil {
		t.Error(err)
	}
}

package app

import (
	"bufio"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	"github.com/berth-scheduler/berth/runtime/market/policy"
)

var marketRegistry = flag.String("registry", "", "HOST:PORT of the registry of TestRestMarketDoc and TestRestCatalogue, instead of Berth's own; it must be empty")

// serveAsWritten runs the document's berth registry serve in a folder, on a free port, and
// returns its address.
func serveAsWritten(t *testing.T, dir string, doc []byte) string {
	t.Helper()
	written := regexp.MustCompile("(?s)```\n(berth registry serve [^\n]*)localhost:5000\n```").FindSubmatch(doc)
	if written == nil {
		t.Fatal("the page does not start a registry")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec "+string(written[1])+"127.0.0.1:0")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context ends it
	line, err := bufio.NewReader(out).ReadString('\n')
	_, host, ok := strings.Cut(strings.TrimSpace(line), " at ")
	if err != nil || !ok {
		t.Fatalf("it prints %q, %v", line, err)
	}
	return host
}

// TestRestMarketDoc runs the commands of docs/market.md as they are written, with another
// address of the registry. test/market runs it with registries of other projects.
func TestRestMarketDoc(t *testing.T) {
	cargotest.Toolchain(t)
	doc, err := os.ReadFile("../../docs/market.md")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := filepath.Abs("testdata/cluster")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(cluster, filepath.Join(dir, "cluster")); err != nil {
		t.Fatal(err)
	}
	host := *marketRegistry
	if host == "" {
		host = serveAsWritten(t, dir, doc)
	}
	script := "set -eu\n"
	for _, b := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(doc, -1) {
		script += strings.ReplaceAll(string(b[1]), "localhost:5000", host)
	}
	if n := strings.Count(script, "berth plugin"); n < 20 {
		t.Fatalf("the page has %d commands", n)
	}
	// testscript.Main has put a berth into the path.
	sh := exec.CommandContext(t.Context(), "sh", "-c", script)
	sh.Dir = dir
	sh.Env = append(os.Environ(), "DOCKER_CONFIG="+dir, "CARGO_NET_OFFLINE=true", "XDG_CACHE_HOME="+cacheHome(t))
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"rack-aware 0.1.0, signed by team", "exempt  array", "placed", "oci-archive:gap.tar@sha256:", `"bomFormat": "CycloneDX"`, "index with serial 3, valid until", "serial 1, 1 version in 1 plugin", "pages/index.html: 1 plugin",
		"rack-aware: reads the label example.com/maintenance of nodes: new", "rack-aware  0.1.0    0.1.1     0.1.1   -", "rack-aware: reads labels of placed pods: new",
		"rack-aware 0.1.1 is yanked: low: it reads more than it needs; use 0.1.0\nrefused\n", "rack-aware: version 0.1.1 -> 0.1.0"} {
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

package cosign_test

import (
	"bufio"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// tools are the programs that are compared, in a folder of the test's own.
type tools struct{ berth, cosign, dir string }

// newTools builds cosign. Berth is built already: make cosign does so.
func newTools(t *testing.T) *tools {
	t.Helper()
	berth, err := filepath.Abs("../../bin/berth")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(berth); err != nil {
		t.Fatalf("%v: run make cosign, which builds it", err)
	}
	guest, err := filepath.Abs("../../wasm-examples/tenantpool/guest")
	if err != nil {
		t.Fatal(err)
	}
	c := &tools{berth: berth, cosign: filepath.Join(t.TempDir(), "cosign"), dir: t.TempDir()}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", c.cosign, "github.com/sigstore/cosign/v3/cmd/cosign").CombinedOutput(); err != nil {
		t.Fatalf("build cosign: %v\n%s", err, out)
	}
	for name, value := range map[string]string{"COSIGN_PASSWORD": "secret", "BERTH_KEY_PASSWORD": "secret", "DOCKER_CONFIG": c.dir, "HOME": c.dir} {
		t.Setenv(name, value)
	}
	c.run(t, c.berth, "plugin", "build", guest, "-o", "plugin.wasm")
	c.run(t, c.berth, "plugin", "keygen", "-o", "ecdsa")
	c.run(t, c.berth, "plugin", "keygen", "-o", "ed25519", "--algorithm", "ed25519")
	c.run(t, c.cosign, "generate-key-pair", "--output-key-prefix", "cosign")
	c.run(t, c.cosign, "signing-config", "create", "--out", "offline.json")
	return c
}

// try runs a program in the folder.
func (c *tools) try(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *tools) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := c.try(t, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return out
}

// refused wants a program to fail.
func (c *tools) refused(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := c.try(t, name, args...); err == nil {
		t.Errorf("%s %s: it is accepted\n%s", filepath.Base(name), strings.Join(args, " "), out)
	}
}

// TestCosign signs with each of the two what the other verifies, by keys that either made, in registries of both kinds.
func TestCosign(t *testing.T) {
	c := newTools(t)
	keys := []string{"ecdsa", "ed25519", "cosign"}
	for _, key := range keys {
		c.run(t, c.berth, "plugin", "sign", "plugin.wasm", "--key", key+".key")
		c.run(t, c.cosign, "verify-blob", "--key", key+".pub", "--bundle", "plugin.wasm.sigstore.json", "--insecure-ignore-tlog", "plugin.wasm")
		c.run(t, c.cosign, "sign-blob", "--yes", "--key", key+".key", "--signing-config", "offline.json", "--bundle", "plugin.wasm.sigstore.json", "plugin.wasm")
		c.run(t, c.berth, "plugin", "verify", "plugin.wasm", "--key", key+".pub")
		for _, other := range keys {
			if other != key {
				c.refused(t, c.berth, "plugin", "verify", "plugin.wasm", "--key", other+".pub")
			}
		}
	}
	for name, host := range map[string]string{
		"berth's registry":      c.serve(t),
		"with referrers API":    c.foreign(t, true),
		"without referrers API": c.foreign(t, false),
	} {
		t.Run(name, func(t *testing.T) { c.images(t, host, keys) })
	}
}

func (c *tools) images(t *testing.T, host string, keys []string) {
	for _, key := range keys {
		for _, signer := range []string{"berth", "cosign"} {
			ref := host + "/" + signer + "/" + key + ":1"
			pushed := strings.Fields(c.run(t, c.berth, "plugin", "push", "plugin.wasm", ref))
			byDigest := pushed[len(pushed)-1]
			c.refused(t, c.berth, "plugin", "verify", ref, "--key", key+".pub")
			if signer == "berth" {
				c.run(t, c.berth, "plugin", "sign", ref, "--key", key+".key")
				c.run(t, c.cosign, "verify", "--key", key+".pub", "--insecure-ignore-tlog", byDigest)
			} else {
				c.run(t, c.cosign, "sign", "--yes", "--key", key+".key", "--signing-config", "offline.json", byDigest)
			}
			c.run(t, c.berth, "plugin", "verify", ref, "--key", key+".pub")
			for _, other := range keys {
				if other != key {
					c.refused(t, c.berth, "plugin", "verify", ref, "--key", other+".pub")
				}
			}
			// Signatures travel.
			archive := "oci-archive:" + signer + key + ".tar:1"
			c.run(t, c.berth, "plugin", "copy", ref, archive)
			c.run(t, c.berth, "plugin", "copy", archive, host+"/copied/"+signer+key+":1")
			c.run(t, c.berth, "plugin", "verify", host+"/copied/"+signer+key+":1", "--key", key+".pub")
		}
	}
}

// serve serves a folder with berth.
func (c *tools) serve(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.berth, "registry", "serve", t.TempDir(), "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the context ended it
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, host, _ := strings.Cut(strings.TrimSpace(line), " is served at ")
	return host
}

// foreign serves another project's registry.
func (c *tools) foreign(t *testing.T, referrers bool) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(referrers)))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

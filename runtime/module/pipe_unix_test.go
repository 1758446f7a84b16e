//go:build unix

package module_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/signing"
	"github.com/berth-scheduler/berth/runtime/module"
)

// TestPipes: a pipe in a plugin folder, which no writer opens, is refused with its name, wherever a file is expected.
func TestPipes(t *testing.T) {
	key, err := signing.Generate(signing.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.Parse([]byte("apiVersion: berth.dev/v1alpha1\nkind: VerificationPolicy\nkeys:\n- name: team\n  publicKey: |\n    " +
		strings.ReplaceAll(strings.TrimSpace(string(key.Public().PEM())), "\n", "\n    ") + "\nrequire: {signatures: {keys: [team]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"p.wasm", "p.yaml", "p.wasm" + signing.Suffix} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "p.wasm"), guestModule(t), 0o600); err != nil {
			t.Fatal(err)
		}
		pipe := filepath.Join(dir, name)
		_ = os.Remove(pipe)
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		entries, err := module.ReadFolder(dir)
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		if err = entries[0].Err; err == nil {
			_, err = module.NewSources(module.SourcesConfig{Policy: rules}).Load(t.Context(), entries[0].Reference)
		}
		if err == nil || !strings.Contains(err.Error(), pipe) || !strings.Contains(err.Error(), "it is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package kube

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	componentbaseconfig "k8s.io/component-base/config/v1alpha1"
)

// FuzzKubeconfig: any kubeconfig is refused with a text that quotes no credentials, or is read; what it says about where they come
// from quotes none, either.
func FuzzKubeconfig(f *testing.F) {
	const token = "s3cr3tt0k3n" // replaces TOKEN
	f.Add(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"a","cluster":{"server":"https://a.test"}}],` +
		`"users":[{"name":"b","user":{"token":"TOKEN"}}],` +
		`"contexts":[{"name":"c","context":{"cluster":"a","user":"b"}}],"current-context":"c"}`)
	f.Add("clusters:\n- name: a\n  cluster: {server: https://a.test, certificate-authority: ../ca}\n" +
		"users:\n- name: b\n  user: {username: u, password: TOKEN}\n")
	f.Add("users:\n- name: b\n  user: {exec: {command: ./x, args: [TOKEN], apiVersion: client.authentication.k8s.io/v1}}\n" +
		"current-context: c\n")
	path := filepath.Join(f.TempDir(), "config")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "TOKEN", token)), 0o600); err != nil {
			t.Fatal(err)
		}
		c := Connection{ClientConnectionConfiguration: componentbaseconfig.ClientConnectionConfiguration{Kubeconfig: path}}
		config, err := c.rest(t.Context())
		if err != nil {
			if len(err.Error()) > 4*len(text)+4<<10 {
				t.Errorf("%d bytes are refused with a text of %d", len(text), len(err.Error()))
			}
			return
		}
		if says := credentialsOf(path, config) + authorityOf(path, config); config.BearerToken == token && strings.Contains(says, token) {
			t.Errorf("it quotes the token: %s", says)
		}
	})
}

// TestKubeconfigBombs: a kubeconfig with very many values is refused before they are made, and no message shows them all.
func TestKubeconfigBombs(t *testing.T) {
	for _, n := range []int{20_000, 1_000_000} {
		path := filepath.Join(t.TempDir(), "config")
		text := `{"apiVersion":"v1","kind":"Config","clusters":[` + strings.Repeat("{},", n) + `{}]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := kubeconfig(t.Context(), path)
		runtime.ReadMemStats(&after)
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || len(err.Error()) > 600 || made > 64 {
			t.Errorf("%d MiB are allocated: %.700v", made, err)
		}
	}
}

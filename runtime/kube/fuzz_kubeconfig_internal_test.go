package kube

import (
	"os"
	"path/filepath"
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

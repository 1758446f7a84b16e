package app

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServerCertificate: a server certificate that no CA vouches for is reported
// what to do, and either of that helps.
func TestServerCertificate(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "answer to "+r.URL.Path)
	}))
	defer server.Close()
	dir := t.TempDir()
	authority, token := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "token")
	for file, data := range map[string][]byte{
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), token: []byte("t\n"),
	} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		o    serverOptions
		want string
	}{
		"nobody vouches":      {serverOptions{}, "certificate cannot be verified: "},
		"told to be content":  {serverOptions{insecure: true}, ""},
		"the authority":       {serverOptions{ca: authority}, ""},
		"no authority":        {serverOptions{ca: token}, "contains no certificate"},
		"without a token":     {serverOptions{insecure: true, token: os.DevNull}, "Unauthorized (pass --token-file with the token of a user who may get /path)"},
		"nobody at this port": {serverOptions{server: "https://127.0.0.1:1"}, "no scheduler answers: "},
	} {
		o := test.o
		o.output, o.timeLimit = "text", time.Minute
		if o.server == "" {
			o.server = server.URL
		}
		if o.token == "" {
			o.token = token
		}
		body, err := o.get(t.Context(), "/path")
		switch {
		case test.want == "" && (err != nil || string(body) != "answer to /path"):
			t.Errorf("%s: %q, %v", name, body, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if name == "nobody vouches" && (!strings.Contains(err.Error(), "--certificate-authority") || !strings.Contains(err.Error(), "--insecure-skip-tls-verify")) {
			t.Errorf("%s: %v names no flags", name, err)
		}
	}
}

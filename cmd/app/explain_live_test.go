package app

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestServerRedirects: a token goes to the server that the user named, and to no other.
func TestServerRedirects(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	token := filepath.Join(t.TempDir(), "token")
	write(t, token, "t")
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		server := httptest.NewServer(http.RedirectHandler(strings.Replace(other.URL, "://", "://user:hush@", 1)+"/x?key=hush", status))
		o := serverOptions{server: server.URL, token: token, output: "json", timeLimit: time.Minute}
		_, err := o.ask(t.Context(), http.MethodPost, "/path", "question")
		if err == nil || !strings.Contains(err.Error(), "the server redirects to "+other.URL+"/x?…, and nothing is sent there") || asked > 0 {
			t.Errorf("%d: %v, %d requests", status, err, asked)
		}
		server.Close()
	}
}

// TestServerWithoutTLS: a server on another machine without TLS is warned of, by all commands.
func TestServerWithoutTLS(t *testing.T) {
	for server, want := range map[string]bool{
		"http://10.0.0.1:10251": true, "http://scheduler:1/": true, "http://localhost.evil.example:1": true, "http://[fd00::1]:1": true,
		"http://localhost:1": false, "http://127.0.0.9:1": false, "http://[::1]:1": false, "https://10.0.0.1": false, "unix:/x": false, "": false,
	} {
		told := ""
		if warnPlain(func(text string) { told += text }, server); (told != "") != want {
			t.Errorf("%s: %q", server, told)
		}
	}
	asking := 0
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			each(sub)
		}
		if cmd.Flags().Lookup("server") == nil {
			return
		}
		asking++
		var errs bytes.Buffer
		cmd.SetErr(&errs)
		err := cmd.ParseFlags([]string{"--server", "http://name.invalid:1"})
		if err == nil {
			err = cmd.PreRunE(cmd, nil)
		}
		if err != nil || !strings.Contains(errs.String(), "warning: --server: everybody on the way to http://name.invalid:1 can read") {
			t.Errorf("%s: %v, %s", cmd.CommandPath(), err, &errs)
		}
	}
	each(newRoot(newProgram(), 80))
	if asking < 5 {
		t.Errorf("%d commands have --server", asking)
	}
}

// TestServerEndless: an answer without end is not read to its end.
func TestServerEndless(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 1<<20); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	o := serverOptions{server: server.URL, output: "json", timeLimit: time.Minute}
	if _, err := o.ask(t.Context(), http.MethodGet, "/path", ""); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Error(err)
	}
}

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
	authority, token, other := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "token"), filepath.Join(dir, "other")
	for file, data := range map[string][]byte{
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), token: []byte("t\n"), other: []byte("o"),
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
		"an empty token":      {serverOptions{insecure: true, token: os.DevNull}, "--token-file: /dev/null is empty: "},
		"another token":       {serverOptions{insecure: true, token: other}, "Unauthorized (pass --token-file with the token of a user who may get /path)"},
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

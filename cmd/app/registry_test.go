package app

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRegistryServe: the command says where it listens, answers there, and ends when it is asked to.
func TestRegistryServe(t *testing.T) {
	pages := t.TempDir()
	if err := os.WriteFile(filepath.Join(pages, "index.html"), []byte("<h1>Plugins</h1>"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		ended <- execute(ctx, Command(), []string{"registry", "serve", t.TempDir(), "--listen", "127.0.0.1:0", "--site", pages}, in, &stderr)
		in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	_, address, ok := strings.Cut(strings.TrimSpace(line), " at ")
	if !ok {
		t.Fatalf("it says %q", line)
	}
	response, err := http.Get("http://" + address + "/v2/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("it answers %s", response.Status)
	}
	if response, err = http.Get("http://" + address + "/"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || string(text) != "<h1>Plugins</h1>" || response.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("its page is %q of %s, %v", text, response.Header.Get("Content-Type"), err)
	}
	cancel()
	if status := <-ended; status != exitOK {
		t.Errorf("it ends with %d: %s", status, stderr.String())
	}
}

// TestWithoutBrowsers: a registry of this machine answers to its own names only, and to no page in a browser.
func TestWithoutBrowsers(t *testing.T) {
	here, everywhere := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5000}, &net.TCPAddr{IP: net.IPv4zero, Port: 5000}
	for _, c := range []struct {
		at                 net.Addr
		host, path, origin string
		want               int
	}{
		{here, "127.0.0.1:5000", "/v2/", "", http.StatusOK},
		{here, "localhost:5000", "/v2/", "", http.StatusOK},
		{here, "[::1]:5000", "/v2/", "", http.StatusOK},
		{here, "localhost", "/", "", http.StatusOK},
		{here, "evil.example:5000", "/v2/", "", http.StatusMisdirectedRequest},
		{here, "evil.example:5000", "/", "", http.StatusMisdirectedRequest},
		{here, "localhost.evil.example:5000", "/v2/", "", http.StatusMisdirectedRequest},
		{here, "localhost:5000", "/v2/x/blobs/uploads/", "http://evil.example", http.StatusForbidden},
		{here, "localhost:5000", "/v2/x/blobs/uploads/", "null", http.StatusForbidden},
		{everywhere, "registry.corp:5000", "/v2/", "", http.StatusOK},
		{everywhere, "registry.corp:5000", "/v2/", "http://registry.corp:5000", http.StatusForbidden},
		{everywhere, "registry.corp:5000", "/", "http://registry.corp:5000", http.StatusOK},
	} {
		r := httptest.NewRequest(http.MethodPost, c.path, nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		withoutBrowsers(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }), c.at).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
}

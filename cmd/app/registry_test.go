package app

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
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

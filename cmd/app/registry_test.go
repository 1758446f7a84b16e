package app

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestRegistryServe: the command says where it listens, answers there, and ends when it is told to.
func TestRegistryServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		ended <- execute(ctx, Command(), []string{"registry", "serve", t.TempDir(), "--listen", "127.0.0.1:0"}, in, &stderr)
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
	cancel()
	if status := <-ended; status != exitOK {
		t.Errorf("it ends with %d: %s", status, stderr.String())
	}
}

package cluster

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// TestProxy goes through a proxy to a server with scripted answers.
func TestProxy(t *testing.T) {
	server, err := net.Listen("tcp", hostPort(0))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	c := &Cluster{serverPort: server.Addr().(*net.TCPAddr).Port}
	p, err := c.NewProxy()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", p.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	say := func(conn net.Conn) (time.Duration, error) {
		began := time.Now()
		fmt.Fprintln(conn, "hello")
		text, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && text != "hello\n" {
			t.Errorf("got %q", text)
		}
		return time.Since(began), err
	}

	conn := dial()
	defer conn.Close()
	if _, err := say(conn); err != nil {
		t.Fatal(err)
	}
	p.Delay(50 * time.Millisecond)
	if took, err := say(conn); err != nil || took < 100*time.Millisecond {
		t.Errorf("round trips took %v, %v; each way takes 50ms", took, err)
	}
	p.Delay(0)
	p.Cut()
	if _, err := say(conn); err == nil {
		t.Error("a connection survived the cut")
	}
	other := dial() // accepted by the listener, then closed
	defer other.Close()
	if _, err := say(other); err == nil {
		t.Error("a connection was accepted during the cut")
	}
	p.Mend()
	last := dial()
	defer last.Close()
	if _, err := say(last); err != nil {
		t.Errorf("after mending: %v", err)
	}
}

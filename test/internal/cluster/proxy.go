package cluster

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy forwards the bytes between a client and the API server, optionally with a delay in each
// direction. It does not terminate TLS.
type Proxy struct {
	listener net.Listener
	target   string
	delay    atomic.Int64 // ns
	handlers sync.WaitGroup

	mu struct {
		sync.Mutex
		cut   bool
		conns map[net.Conn]struct{} // of both sides
	}
}

// NewProxy listens on a free port for connections to the API server.
func (c *Cluster) NewProxy() (*Proxy, error) {
	l, err := net.Listen("tcp", hostPort(0))
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: c.Address()}
	p.mu.conns = make(map[net.Conn]struct{})
	p.handlers.Go(p.serve)
	return p, nil
}

// URL is what a client connects to.
func (p *Proxy) URL() string { return "https://" + p.listener.Addr().String() }

// Delay delays what is sent from now on by d, in each direction, like a long network path:
// later bytes do not wait for earlier ones to arrive.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// Cut breaks all connections and refuses new ones until Mend.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.cut = true
	for conn := range p.mu.conns {
		_ = conn.Close() // readers of the connection see it
	}
}

// Mend allows connections again.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.cut = false
}

// Close stops the proxy and closes all its connections.
func (p *Proxy) Close() error {
	p.Cut()
	err := p.listener.Close()
	p.handlers.Wait()
	return err
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.handlers.Go(func() { p.connect(client) })
	}
}

func (p *Proxy) connect(client net.Conn) {
	defer client.Close() //nolint:errcheck // done with
	if !p.keep(client) {
		return
	}
	defer p.drop(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return // as if the API server had refused
	}
	defer server.Close() //nolint:errcheck // done with
	if !p.keep(server) {
		return
	}
	defer p.drop(server)
	var directions sync.WaitGroup
	directions.Go(func() { p.pass(server, client) })
	directions.Go(func() { p.pass(client, server) })
	directions.Wait()
}

// keep records a connection that Cut must break; it returns false if the connection must not be
// made.
func (p *Proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.cut {
		return false
	}
	p.mu.conns[conn] = struct{}{}
	return true
}

func (p *Proxy) drop(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.conns, conn)
}

// parcel is bytes in transit.
type parcel struct {
	data []byte
	due  time.Time
}

// pass copies one direction. When it ends, it closes the other too.
func (p *Proxy) pass(to, from net.Conn) {
	defer to.Close()   //nolint:errcheck // the other direction sees it
	defer from.Close() //nolint:errcheck // likewise
	way := make(chan parcel, 1024)
	var sender sync.WaitGroup
	sender.Go(func() {
		broken := false
		for next := range way {
			if broken {
				continue // the reader must not hang
			}
			time.Sleep(time.Until(next.due))
			if _, err := to.Write(next.data); err != nil {
				broken = true
				_ = from.Close()
			}
		}
	})
	defer sender.Wait()
	defer close(way)
	for {
		buffer := make([]byte, 32<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			way <- parcel{data: buffer[:n], due: time.Now().Add(time.Duration(p.delay.Load()))}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				_ = to.Close() // at once: a broken connection delivers nothing
			}
			return
		}
	}
}

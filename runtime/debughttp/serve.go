package debughttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/ours"
)

// Limits for requests.
const (
	readTimeout  = 30 * time.Second
	idleTimeout  = 90 * time.Second
	headerLimit  = 64 << 10
	lastRequests = 5 * time.Second // for requests in flight at the end
)

// Server serves a handler.
type Server struct {
	http     *http.Server
	listener net.Listener
	done     chan error
}

// Serve listens on an address and serves the handler over TLS, or without if config is nil.
// HTTP/2 is available only over TLS.
//
// # Errors
//
// It cannot listen on the address.
func Serve(network, address string, config *tls.Config, handler http.Handler, log *slog.Logger) (*Server, error) {
	if network == "unix" {
		if err := removeStale(address); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	if network == "unix" { // only for the user who runs the scheduler
		if err := os.Chmod(address, 0o600); err != nil {
			_ = listener.Close()
			return nil, err
		}
	}
	s := &Server{
		listener: listener, done: make(chan error, 1),
		http: &http.Server{
			Handler: handler, TLSConfig: config, MaxHeaderBytes: headerLimit,
			ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
			ErrorLog: slog.NewLogLogger(log.With("by", "http").Handler(), slog.LevelDebug),
		},
	}
	go func() {
		if config != nil {
			s.done <- s.http.ServeTLS(listener, "", "")
			return
		}
		s.done <- s.http.Serve(listener)
	}()
	return s, nil
}

// CheckFolder refuses a folder in which another user could replace our socket. A missing folder
// is accepted.
func CheckFolder(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir() || !ours.File(info) || info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s is not a folder that only this user can write to", dir)
	}
	return nil
}

// removeStale removes the socket of a scheduler that crashed. If something answers at it, it
// belongs to a running scheduler.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close()
		return fmt.Errorf("another scheduler listens on %s", path)
	}
	return os.Remove(path)
}

// Addr returns the address it listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close stops the server after the requests in flight.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lastRequests)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

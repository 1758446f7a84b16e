package e2e

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// foreign serves the OCI registry of another project at $REGISTRY, and at $HANGING one that accepts connections and never answers.
func (s *script) foreign([]string) error {
	served := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	s.Defer(served.Close)
	ended := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	s.Defer(func() { close(ended); hangs.Close() })
	s.Setenv("REGISTRY", strings.TrimPrefix(served.URL, "http://"))
	s.Setenv("HANGING", strings.TrimPrefix(hangs.URL, "http://"))
	return nil
}

// user has the commands that follow create, change and read objects as a user; $KUBECONFIG is the user's.
func (s *script) user(args []string) (err error) {
	if len(args) != 1 {
		return fmt.Errorf("want NAME")
	}
	kubeconfig, err := s.cluster.Kubeconfig(cluster.User(args[0]), "")
	if err != nil {
		return err
	}
	s.Setenv("KUBECONFIG", kubeconfig)
	s.objects, err = s.cluster.ObjectsOf(cluster.User(args[0]), s.namespace)
	return err
}

// port sets $PORT to one that is free.
func (s *script) port([]string) error {
	port, err := cluster.FreePort()
	s.Setenv("PORT", fmt.Sprint(port))
	return err
}

// until runs a program again and again until its output matches.
func (s *script) until(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("want PATTERN PROGRAM [ARG …]")
	}
	pattern, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		cmd := exec.CommandContext(s.ctx, args[1], args[2:]...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Getenv("KUBECONFIG"))
		out, err := cmd.CombinedOutput()
		if pattern.Match(out) {
			return nil
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("within %v %s never prints %s\n%s", patience, strings.Join(args[1:], " "), args[0], out), err)
		}
	}
}

// told waits until what the API server says of a pod has a text.
func (s *script) told(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want POD TEXT")
	}
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		text, err := s.view.report(s.ctx, args[0])
		if err != nil {
			return err
		}
		if strings.Contains(text, args[1]) {
			fmt.Fprint(s.Stdout(), text)
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("within %v nothing says %q:\n%s", patience, args[1], text)
		}
	}
}

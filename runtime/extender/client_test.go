package extender_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/extender"
)

// ask returns the result of a filter call to a server.
func ask(t *testing.T, c configv1.Extender) string {
	t.Helper()
	c.FilterVerb, c.NodeCacheCapable = "filter", true
	return strings.ReplaceAll(filtered(create(t, c), cycleOf(t, pod("p", ""))), c.URLPrefix, "URL")
}

// TestStatus: any status other than 200 is a failure, whatever the body says.
func TestStatus(t *testing.T) {
	s := serve(t, map[string]string{"filter": `{"NodeNames": ["a", "b", "c", "d"]}`})
	for status, want := range map[int]string{
		http.StatusOK:                  "a b c d",
		http.StatusCreated:             "error extender URL: filter: HTTP status 201 Created, want 200",
		http.StatusNotFound:            "error extender URL: filter: HTTP status 404 Not Found, want 200",
		http.StatusInternalServerError: "error extender URL: filter: HTTP status 500 Internal Server Error, want 200",
	} {
		s.status = status
		if got := ask(t, configv1.Extender{URLPrefix: s.URL}); got != want {
			t.Errorf("status %d: %s", status, got)
		}
	}
}

// TestSecrets: no error has the user, the password, or the query of an extender's URL.
func TestSecrets(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	address := strings.TrimPrefix(s.URL, "http://")
	for _, closed := range []bool{false, true} {
		if closed {
			s.Close()
		}
		for _, prefix := range []string{
			"http://user:hush@" + address, "http://hush@" + address + "/x?key=hush", "http://" + address + "/%zz?hush",
		} {
			c := configv1.Extender{URLPrefix: prefix, FilterVerb: "filter", NodeCacheCapable: true}
			got := filtered(create(t, c), cycleOf(t, pod("p", "")))
			if !strings.HasPrefix(got, "error extender ") || strings.Contains(got, "hush") || strings.Contains(got, "user") {
				t.Errorf("%s: %s", prefix, got)
			}
		}
	}
}

// TestRedirect: an extender that redirects has failed: what it was asked is sent to no other server.
func TestRedirect(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		s := httptest.NewServer(http.RedirectHandler(other.URL, status))
		if got := ask(t, configv1.Extender{URLPrefix: s.URL}); !strings.Contains(got, "error extender URL: filter: HTTP status 30") || asked > 0 {
			t.Errorf("%d: %s, %d requests", status, got, asked)
		}
		s.Close()
	}
}

// TestTimeout: a call takes at most httpTimeout, from the first byte to the last, and ends with
// the cycle's context.
func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow/filter" { // the header comes at once, the body does not
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(release)
	for _, path := range []string{"", "/slow"} {
		c := configv1.Extender{URLPrefix: s.URL + path, HTTPTimeout: metav1.Duration{Duration: 30 * time.Millisecond}}
		if got := ask(t, c); !strings.Contains(got, "Client.Timeout") {
			t.Errorf("%q: %s", path, got)
		}
		c.HTTPTimeout.Duration, c.FilterVerb = time.Hour, "filter"
		cycle := cycleOf(t, pod("p", ""))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		cycle.Context = ctx
		if got := filtered(create(t, c), cycle); !strings.Contains(got, "context deadline exceeded") {
			t.Errorf("%q: %s", path, got)
		}
		cancel()
	}
}

// TestUnreachable: nothing listens at the address.
func TestUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	if got := ask(t, configv1.Extender{URLPrefix: s.URL}); !strings.HasPrefix(got, "error extender URL: filter: ") || !strings.Contains(got, "refused") {
		t.Error(got)
	}
	if got := ask(t, configv1.Extender{URLPrefix: s.URL, Ignorable: true}); got != "a b c d" {
		t.Error(got)
	}
}

// endless is a body without an end.
type endless struct{ sent int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.sent += int64(len(p))
	return copy(p, bytes.Repeat([]byte("x"), len(p))), nil
}

// TestHugeAnswer: an answer is read up to a limit that depends on the request.
func TestHugeAnswer(t *testing.T) {
	for name, prefix := range map[string]string{"a string": `{"Error": "`, "after the answer": `{"NodeNames": ["a", "b", "c", "d"]}`} {
		body := &endless{}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, prefix)
			_, _ = io.Copy(w, body) // until the client closes
		}))
		got := ask(t, configv1.Extender{URLPrefix: s.URL, HTTPTimeout: metav1.Duration{Duration: time.Minute}})
		s.Close()
		const most = 20 << 20 // the limit, and buffers on the way
		if body.sent > most {
			t.Errorf("%s: %d bytes were sent", name, body.sent)
		}
		want := "a b c d"
		if prefix[2] == 'E' {
			want = "error extender URL: filter: the answer is longer than 105"
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %.200s", name, got)
		}
	}
}

// TestTLS: which servers are trusted, and with which certificates; data overrides files.
func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(&service{status: http.StatusOK, answers: map[string]string{"filter": `{"NodeNames": ["a", "b", "c", "d"]}`}})
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	asked := make(chan int, 10)
	handler := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- len(r.TLS.PeerCertificates)
		handler.ServeHTTP(w, r)
	})
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // for handshakes that should fail
	s.StartTLS()
	defer s.Close()

	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	caFile, keyFile, junk := file("ca", ca), file("key", keyPEM), file("junk", []byte("junk"))

	for name, test := range map[string]struct {
		https        bool
		config       *configv1.ExtenderTLSConfig
		want         string // the nodes, or part of the error
		certificates int    // number of certificates that the client sent
	}{
		"defaults":               {want: "certificate signed by unknown authority"},
		"enableHTTPS without CA": {https: true, want: "a b c d"},
		"insecure":               {config: &configv1.ExtenderTLSConfig{Insecure: true}, want: "a b c d"},
		"CA":                     {https: true, config: &configv1.ExtenderTLSConfig{CAData: ca}, want: "a b c d"},
		"CA in a file":           {config: &configv1.ExtenderTLSConfig{CAFile: caFile}, want: "a b c d"},
		"data before files":      {config: &configv1.ExtenderTLSConfig{CAData: ca, CAFile: junk}, want: "a b c d"},
		"server name":            {config: &configv1.ExtenderTLSConfig{CAData: ca, ServerName: "example.com"}, want: "a b c d"},
		"other server name":      {config: &configv1.ExtenderTLSConfig{CAData: ca, ServerName: "elsewhere.test"}, want: "not elsewhere.test"},
		"client certificate":     {config: &configv1.ExtenderTLSConfig{CAData: ca, CertData: ca, KeyFile: keyFile}, want: "a b c d", certificates: 1},
		"certificate, no key":    {config: &configv1.ExtenderTLSConfig{CAData: ca, CertData: ca}, want: "a b c d"},
	} {
		got := ask(t, configv1.Extender{URLPrefix: s.URL, EnableHTTPS: test.https, TLSConfig: test.config})
		if test.want == "a b c d" && got != test.want || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
			continue
		}
		if test.want != "a b c d" {
			continue
		}
		if n := <-asked; n != test.certificates {
			t.Errorf("%s: the client sent %d certificates, want %d", name, n, test.certificates)
		}
	}

	for name, test := range map[string]struct {
		config configv1.ExtenderTLSConfig
		want   string
	}{
		"no such file":      {configv1.ExtenderTLSConfig{CAFile: filepath.Join(dir, "none")}, "no such file"},
		"no certificate":    {configv1.ExtenderTLSConfig{CAFile: junk}, "the CA contains no PEM certificate"},
		"insecure and a CA": {configv1.ExtenderTLSConfig{Insecure: true, CAFile: caFile}, "insecure cannot be combined with a CA"},
		"no key":            {configv1.ExtenderTLSConfig{CertFile: caFile, KeyFile: junk}, "certificate and key: "},
		"no key file":       {configv1.ExtenderTLSConfig{CertFile: caFile, KeyFile: filepath.Join(dir, "none")}, "no such file"},
	} {
		_, err := extender.New([]configv1.Extender{{}, {URLPrefix: s.URL, TLSConfig: &test.config}}, extender.Deps{})
		if err == nil || !strings.HasPrefix(err.Error(), "extenders[1]: tlsConfig: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

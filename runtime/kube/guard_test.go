package kube_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/kube"
)

// newReviewer is an API server that knows the tokens token-of-NAME, and lets monitor
// get /metrics, and tenant get the pods of team-a.
func newReviewer(t *testing.T) kubernetes.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review any
		switch {
		case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
			in := read[authenticationv1.TokenReview](t, r)
			in.Status.Authenticated = strings.HasPrefix(in.Spec.Token, "token-of-")
			in.Status.User.Username = strings.TrimPrefix(in.Spec.Token, "token-of-")
			review = in
		case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
			in := read[authorizationv1.SubjectAccessReview](t, r)
			of := in.Spec.NonResourceAttributes
			if pod := in.Spec.ResourceAttributes; pod != nil {
				in.Status.Allowed = in.Spec.User == "tenant" && pod.Namespace == "team-a" &&
					pod.Verb == "get" && pod.Group == "" && pod.Resource == "pods"
			} else {
				in.Status.Allowed = in.Spec.User == "monitor" && of.Path == "/metrics" && of.Verb == "get"
			}
			review = in
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestGuard: open paths are everyone's, others of those whom the API server knows and
// allows to get them, and those about a pod also of those who may get the pod.
func TestGuard(t *testing.T) {
	client := newReviewer(t)
	guarded, err := kube.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }),
		kube.GuardConfig{
			OfPod: ofPod, Open: []string{"/healthz", "/readyz/*"}, TokenTTL: time.Second, AllowTTL: time.Second, DenyTTL: time.Second,
		},
		kube.GuardDeps{Authentication: client, Authorization: client})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, token string
		status      int
		text        string
	}{
		{"/healthz", "", 200, "in"},
		{"/readyz/loop", "", 200, "in"},
		{"/metrics", "", 403, "user system:anonymous may not get the nonResourceURL /metrics"},
		{"/metrics", "nonsense", 401, "Unauthorized"},
		{"/metrics", "token-of-monitor", 200, "in"},
		{"/configz", "token-of-monitor", 403, "user monitor may not get"},
		{"/pod/team-a", "token-of-tenant", 200, "in"},
		{"/pod/team-b", "token-of-tenant", 403, "user tenant may not get the nonResourceURL /pod/team-b, nor get the pod team-b/p"},
		{"/pod/team-a", "token-of-monitor", 403, "nor get the pod team-a/p"},
		{"/pod/team-a", "", 403, "user system:anonymous may not get the nonResourceURL /pod/team-a, nor get the pod team-a/p"},
		{"/metrics", "token-of-tenant", 403, "user tenant may not get the nonResourceURL /metrics\n"},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s with %q: %d %s", c.path, c.token, w.Code, w.Body)
		}
	}
}

// TestGuardWithoutReviews: who cannot be looked up is told why, and not that the token is wrong.
func TestGuardWithoutReviews(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no right to create reviews"}`)
	}))
	t.Cleanup(refusing.Close)
	of := func(server *httptest.Server) kubernetes.Interface {
		client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	up := newReviewer(t)
	for name, c := range map[string]struct {
		d    kube.GuardDeps
		want string
	}{
		"down":            {kube.GuardDeps{Authentication: of(gone), Authorization: up}, "who sends this: the API server does not answer: "},
		"may not":         {kube.GuardDeps{Authentication: of(refusing), Authorization: up}, "who sends this: no right to create reviews"},
		"later down":      {kube.GuardDeps{Authentication: up, Authorization: of(gone)}, "what monitor may do: the API server does not answer: "},
		"later forbidden": {kube.GuardDeps{Authentication: up, Authorization: of(refusing)}, "what monitor may do: no right to create reviews"},
	} {
		t.Run(name, func(t *testing.T) {
			guarded, err := kube.Guard(http.NotFoundHandler(), kube.GuardConfig{TokenTTL: time.Second, AllowTTL: time.Second, DenyTTL: time.Second}, c.d)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			r.Header.Set("Authorization", "Bearer token-of-monitor")
			w := httptest.NewRecorder()
			guarded.ServeHTTP(w, r)
			if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

// ofPod is of requests of /pod/NAMESPACE.
func ofPod(r *http.Request) (types.NamespacedName, *http.Request, bool) {
	namespace, ok := strings.CutPrefix(r.URL.Path, "/pod/")
	return types.NamespacedName{Namespace: namespace, Name: "p"}, r, ok
}

func read[T any](t *testing.T, r *http.Request) *T {
	t.Helper()
	var in T
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		t.Error(err)
	}
	return &in
}

// TestTLSConfig: without files a certificate is made; files can be replaced while
// they are served.
func TestTLSConfig(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	own, err := kube.TLSConfig{}.Serving(ctx)
	if err != nil || len(own.Certificates) != 1 {
		t.Fatalf("%v, %v", own, err)
	}
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	files := kube.TLSConfig{CertFile: certFile, KeyFile: keyFile, MinVersion: "VersionTLS13", CipherSuites: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}}
	write := func(host string) {
		t.Helper()
		c, k, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for file, data := range map[string][]byte{certFile: c, keyFile: k} {
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := files.Serving(ctx); err == nil {
		t.Error("files that are not there")
	}
	write("first")
	config, err := files.Serving(ctx)
	if err != nil {
		t.Fatal(err)
	}
	name := func() string {
		pair, err := config.GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.DNSNames[0]
	}
	if name() != "first" {
		t.Error(name())
	}
	write("second")
	eventually.Holds(t, "the second certificate", func() bool { return name() == "second" })
}

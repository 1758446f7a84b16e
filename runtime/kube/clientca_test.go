package kube_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/cert"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/kube"
)

// authority signs certificates of clients.
type authority struct {
	key         *rsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "authority"}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key, certificate}
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: a.certificate.Raw})
}

// request is one with a certificate of a user.
func (a *authority) request(t *testing.T, user, path string) *http.Request {
	t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: user}, NotBefore: a.certificate.NotBefore,
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.certificate, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
	return r
}

// TestClientCA: who has a certificate of an authority in the file, or in the cluster's
// ConfigMap, is known by its name; both are followed.
func TestClientCA(t *testing.T) {
	first, second := newAuthority(t), newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	published := &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"},
		Data:       map[string]string{"client-ca-file": string(first.pem())},
	}
	client := fake.NewClientset()
	reviewer := newReviewer(t)
	ctx := t.Context()
	if _, err := kube.ClientCAOfFile(ctx, file); err == nil {
		t.Error("a file that is not there")
	}
	if _, err := kube.ClientCAOfCluster(ctx, client, true); err == nil || !strings.HasPrefix(err.Error(), "read the certificate authorities of clients from the API server: ") {
		t.Errorf("a ConfigMap that is not there: %v", err)
	}
	write := func() {
		if err := os.WriteFile(file, first.pem(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	ofFile, err := kube.ClientCAOfFile(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	ofCluster, err := kube.ClientCAOfCluster(ctx, client, false) // it comes later
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps(published.Namespace).Create(ctx, published, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	known := func(ca dynamiccertificates.CAContentProvider, a *authority) bool {
		guarded, err := kube.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }),
			kube.GuardConfig{}, kube.GuardDeps{Authentication: reviewer, Authorization: reviewer, ClientCA: ca})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, a.request(t, "monitor", "/metrics"))
		return w.Code == http.StatusOK
	}
	for name, ca := range map[string]dynamiccertificates.CAContentProvider{"file": ofFile, "cluster": ofCluster} {
		eventually.Holds(t, name, func() bool { return known(ca, first) })
		if known(ca, second) {
			t.Errorf("%s: another authority", name)
		}
	}
	first, second = second, first
	write()
	published.Data["client-ca-file"] = string(first.pem())
	if _, err := client.CoreV1().ConfigMaps(published.Namespace).Update(ctx, published, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, ca := range map[string]dynamiccertificates.CAContentProvider{"file": ofFile, "cluster": ofCluster} {
		eventually.Holds(t, name+" changes", func() bool { return known(ca, first) && !known(ca, second) })
	}
}

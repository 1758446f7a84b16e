package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"
)

// TLSConfig configures serving over TLS.
type TLSConfig struct {
	// CertFile and KeyFile (optional) need each other and may be replaced while serving.
	// Without them, the server uses a self-signed certificate.
	CertFile, KeyFile string
	// MinVersion is by the names of component-base, like VersionTLS13; TLS 1.2 if empty.
	MinVersion string
	// CipherSuites (optional) is by the names of crypto/tls, for TLS 1.2.
	CipherSuites []string
	// ClientCertificates asks clients for theirs; a guard verifies them.
	ClientCertificates bool
}

// Serving returns the configuration of a server. It follows the files until ctx ends.
//
// # Errors
//
// The files cannot be read, or do not belong together; there is no such version or
// cipher suite.
func (c TLSConfig) Serving(ctx context.Context) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	var err error
	if c.MinVersion != "" {
		if config.MinVersion, err = cliflag.TLSVersion(c.MinVersion); err != nil {
			return nil, err
		}
	}
	if config.CipherSuites, err = cliflag.TLSCipherSuites(c.CipherSuites); err != nil {
		return nil, err
	}
	if c.ClientCertificates {
		config.ClientAuth = tls.RequestClientCert
	}
	if c.CertFile == "" {
		certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, []string{"localhost"})
		if err != nil {
			return nil, fmt.Errorf("create a self-signed certificate: %w", err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("create a self-signed certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
		return config, nil
	}
	if err := regular(c.CertFile, c.KeyFile); err != nil {
		return nil, err
	}
	content, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving", c.CertFile, c.KeyFile)
	if err != nil {
		return nil, err
	}
	go content.Run(ctx, 1)
	pairs := &pairs{content: content}
	if _, err := pairs.get(nil); err != nil {
		return nil, fmt.Errorf("%s and %s: %w", c.CertFile, c.KeyFile, err)
	}
	config.GetCertificate = pairs.get
	return config, nil
}

// pairs parses a certificate and key when they have changed.
type pairs struct {
	content dynamiccertificates.CertKeyContentProvider

	mu        sync.Mutex
	cert, key []byte
	pair      *tls.Certificate
}

func (p *pairs) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	certificate, key := p.content.CurrentCertKeyContent()
	if p.pair != nil && bytes.Equal(certificate, p.cert) && bytes.Equal(key, p.key) {
		return p.pair, nil
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	p.cert, p.key, p.pair = certificate, key, &pair
	return p.pair, nil
}

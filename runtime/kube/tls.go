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
)

// ServingTLS returns how to serve with the certificate and key of two files, which
// may be replaced while it is served; without them with a certificate that is made
// now and signed by itself. clientCA, which may be empty, is as in GuardConfig.
//
// # Errors
//
// The files cannot be read, or do not belong together.
func ServingTLS(ctx context.Context, certFile, keyFile, host, clientCA string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if clientCA != "" { // the guard verifies it
		config.ClientAuth = tls.RequestClientCert
	}
	if certFile == "" {
		certificate, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, []string{"localhost"})
		if err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
		return config, nil
	}
	content, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving", certFile, keyFile)
	if err != nil {
		return nil, err
	}
	go content.Run(ctx, 1)
	pairs := &pairs{content: content}
	if _, err := pairs.get(nil); err != nil {
		return nil, fmt.Errorf("%s and %s: %w", certFile, keyFile, err)
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

package extender

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// tlsConfig returns the TLS configuration for an extender; nil for the defaults of net/http. As
// in kube-scheduler, data overrides files, and enableHTTPS without a CA means that the
// extender's certificate is not verified.
func tlsConfig(c *configv1.Extender) (*tls.Config, error) {
	given := c.TLSConfig
	if given == nil {
		given = &configv1.ExtenderTLSConfig{}
	}
	ca, err := content(given.CAData, given.CAFile)
	if err != nil {
		return nil, err
	}
	insecure := given.Insecure
	if c.EnableHTTPS && len(ca) == 0 {
		insecure = true
	}
	if insecure && len(ca) > 0 {
		return nil, errors.New("insecure cannot be combined with a CA: leave one of them out")
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: given.ServerName, InsecureSkipVerify: insecure}
	if len(ca) > 0 {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("the CA contains no PEM certificate")
		}
	}
	certificate, err := content(given.CertData, given.CertFile)
	if err != nil {
		return nil, err
	}
	key, err := content(given.KeyData, given.KeyFile)
	if err != nil {
		return nil, err
	}
	authenticates := len(certificate) > 0 && len(key) > 0
	if authenticates {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("certificate and key: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	if len(ca) == 0 && !authenticates && !insecure && out.ServerName == "" {
		return nil, nil
	}
	return out, nil
}

// content returns data or the contents of a file; nil if neither is set.
func content(data []byte, file string) ([]byte, error) {
	if len(data) > 0 || file == "" {
		return data, nil
	}
	return bounded.Regular(file, bounded.Key)
}

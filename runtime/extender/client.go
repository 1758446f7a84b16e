package extender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
)

// DefaultTimeout is the timeout of a call if the configuration sets none.
const DefaultTimeout = 5 * time.Second

// An answer repeats at most what was in the request, with reasons. So it may be answerTimes as
// long as the request, plus answerNode bytes for each node in it, plus answerRoom bytes.
// Decoding takes up to ten times as much memory.
const (
	answerTimes = 2
	answerNode  = 1 << 10
	answerRoom  = 1 << 20
)

// maxHeader is the maximum size of the answer's headers, in bytes.
const maxHeader = 64 << 10

// drained is how many bytes after an answer are read, so that the connection can be reused.
const drained = 64 << 10

// client sends requests to one extender.
type client struct {
	url  string // without a trailing slash
	name string // the same without secrets, for texts
	http http.Client
}

func newClient(c *configv1.Extender) (*client, error) {
	secure, err := tlsConfig(c)
	if err != nil {
		return nil, fmt.Errorf("tlsConfig: %w", err)
	}
	timeout := c.HTTPTimeout.Duration
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	return &client{
		url:  strings.TrimRight(c.URLPrefix, "/"),
		name: strings.TrimRight(plain.URL(c.URLPrefix), "/"),
		http: http.Client{
			Transport: utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: secure, MaxResponseHeaderBytes: maxHeader}), Timeout: timeout,
			// The pods and nodes of a request go to nobody but the extender.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// call posts args, which are about a number of nodes, as JSON to a verb and decodes the answer
// into result.
//
// # Errors
//
// The request fails or times out; the status is not 200; the answer is too long or is not the
// expected JSON.
func (c *client) call(ctx context.Context, verb string, nodes int, args, result any) error {
	body, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("extender %s: %s: encode the request: %w", c.name, verb, err)
	}
	err = c.post(ctx, c.url+"/"+verb, body, int64(answerTimes*len(body)+answerNode*nodes+answerRoom), result)
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // its URL may have secrets
	}
	if err != nil {
		return fmt.Errorf("extender %s: %s: %w", c.name, verb, plain.Error(err, abi.MaxTextSize))
	}
	return nil
}

func (c *client) post(ctx context.Context, to string, body []byte, most int64, result any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer := http.MaxBytesReader(nil, response.Body, most)
	defer func() { _, _ = io.CopyN(io.Discard, answer, drained) }() // data after the answer does not matter
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status %s, want 200", response.Status)
	}
	err = json.NewDecoder(answer).Decode(result)
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return fmt.Errorf("the answer is longer than %d bytes", most)
	case errors.Is(err, io.EOF):
		return errors.New("the answer is empty")
	case err != nil:
		return fmt.Errorf("invalid answer: %w", err)
	}
	return nil
}

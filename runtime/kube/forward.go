package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// DialPod connects to a port of a pod as kubectl port-forward does: through the API server and
// the pod's kubelet, but without a local port. The caller needs no access to the pod's network.
//
// # Errors
//
// The pod does not exist, the user may not forward ports (the error names the missing
// permission), or the port is closed. The last one may only appear at the first Read.
func (v *Visitor) DialPod(ctx context.Context, pod types.NamespacedName, port int) (net.Conn, error) {
	type dialed struct {
		conn httpstream.Connection
		err  error
	}
	result := make(chan dialed, 1)
	go func() { // the dialers take no context
		conn, err := v.stream(pod)
		result <- dialed{conn, err}
	}()
	select {
	case <-ctx.Done():
		go func() {
			if late := <-result; late.err == nil {
				_ = late.conn.Close()
			}
		}()
		return nil, fmt.Errorf("pod %s: %w", pod, context.Cause(ctx))
	case d := <-result:
		switch {
		case apierrors.IsForbidden(d.err):
			return nil, fmt.Errorf("pod %s: %w (your user needs create on pods/portforward in namespace %s)", pod, d.err, pod.Namespace)
		case d.err != nil:
			return nil, fmt.Errorf("pod %s: %w", pod, d.err)
		}
		forwarded, err := forward(d.conn, port)
		if err != nil {
			_ = d.conn.Close()
			return nil, fmt.Errorf("pod %s: port %d: %w", pod, port, err)
		}
		return forwarded, nil
	}
}

// stream opens a connection for streams to a pod, as kubectl does: over a WebSocket, or over
// SPDY if a proxy does not support WebSockets or the user may create but not get.
func (v *Visitor) stream(pod types.NamespacedName) (httpstream.Connection, error) {
	url := v.client.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("portforward").URL()
	dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, v.config)
	if err != nil {
		return nil, err
	}
	conn, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) {
		transport, upgrader, failed := spdy.RoundTripperFor(v.config)
		if failed != nil {
			return nil, failed
		}
		noted := &refusals{next: transport}
		conn, protocol, err = spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: noted}, http.MethodPost, url).Dial(portforward.PortForwardProtocolV1Name)
		if err != nil && noted.refusal != nil {
			err = noted.refusal
		}
	}
	if err != nil {
		return nil, err
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		_ = conn.Close()
		return nil, fmt.Errorf("the API server speaks %q, not %q", protocol, portforward.PortForwardProtocolV1Name)
	}
	return conn, nil
}

// refusals records an error answer of the API server, because client-go's dialer returns
// only its text.
type refusals struct {
	next    http.RoundTripper
	refusal error
}

// RoundTrip implements http.RoundTripper.
func (r *refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(request)
	if err != nil || answer.StatusCode < http.StatusBadRequest {
		return answer, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	if err != nil {
		return answer, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	refusal := &apierrors.StatusError{}
	if err := json.Unmarshal(text, &refusal.ErrStatus); err == nil && refusal.ErrStatus.Kind == "Status" {
		r.refusal = refusal
	}
	return answer, nil
}

// forwarded is a connection to a port of a pod.
type forwarded struct {
	httpstream.Stream // what is sent and received

	all httpstream.Connection
	// failed has the kubelet's error, and is closed when the kubelet closes the stream.
	failed chan error
}

var _ net.Conn = (*forwarded)(nil)

// forward connects to a port with two streams. The first one carries the kubelet's errors
// about the second.
func forward(conn httpstream.Connection, port int) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(v1.PortHeader, strconv.Itoa(port))
	headers.Set(v1.PortForwardRequestIDHeader, "0")
	headers.Set(v1.StreamType, v1.StreamTypeError)
	said, err := conn.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	if err := said.Close(); err != nil { // nothing is sent there
		return nil, err
	}
	headers.Set(v1.StreamType, v1.StreamTypeData)
	data, err := conn.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	f := &forwarded{Stream: data, all: conn, failed: make(chan error, 1)}
	go func() {
		defer close(f.failed)
		if text, _ := io.ReadAll(io.LimitReader(said, 4096)); len(text) > 0 {
			f.failed <- fmt.Errorf("kubelet: %s", text)
		}
	}()
	return f, nil
}

// verdictTime is how long the kubelet may take to explain the end of the data stream.
const verdictTime = time.Second

// Read implements net.Conn.
func (f *forwarded) Read(b []byte) (int, error) {
	n, err := f.Stream.Read(b)
	if n == 0 && err != nil {
		patience := time.NewTimer(verdictTime) //nolint:forbidigo // of a person who asks
		defer patience.Stop()
		select {
		case failed := <-f.failed:
			if failed != nil {
				err = failed
			}
		case <-patience.C:
		}
	}
	return n, err
}

// Close implements net.Conn.
func (f *forwarded) Close() error { return f.all.Close() }

// LocalAddr implements net.Conn.
func (f *forwarded) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (f *forwarded) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements net.Conn: there are none, as for the others.
func (f *forwarded) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (f *forwarded) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (f *forwarded) SetWriteDeadline(time.Time) error { return nil }

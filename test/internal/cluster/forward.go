package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

// KubeletNode is the node of ForwardPorts. No pods are placed there.
const KubeletNode = "kubelet"

// ForwardPorts adds a node whose kubelet forwards ports of pods, with the code of container
// runtimes, to ports of this machine; ports maps the pods' ports to these. stop removes both.
func (c *Cluster) ForwardPorts(ctx context.Context, ports map[int32]int) (stop func() error, err error) {
	certificate, err := tls.LoadX509KeyPair(c.certificate(), c.privateKey())
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", hostPort(0))
	if err != nil {
		return nil, err
	}
	server := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog:  log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // SPDY takes over HTTP/1.1 connections
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			pod, ok := strings.CutPrefix(r.URL.Path, "/portForward/")
			if !ok {
				http.NotFound(w, r)
				return
			}
			options, err := portforward.NewV4Options(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			portforward.ServePortForward(w, r, forwarder(ports), pod, "", options, time.Minute, time.Minute, portforward.SupportedProtocols)
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: KubeletNode}, Spec: v1.NodeSpec{Unschedulable: true}}
	node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(listener.Addr().(*net.TCPAddr).Port)
	_, err = c.admin.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	stop = func() error {
		var gone error
		if err == nil {
			gone = c.admin.CoreV1().Nodes().Delete(context.WithoutCancel(ctx), KubeletNode, metav1.DeleteOptions{})
		}
		closed := server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			closed = errors.Join(closed, err)
		}
		return errors.Join(gone, closed)
	}
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// forwarder maps the ports of pods to those of this machine.
type forwarder map[int32]int

// PortForward implements portforward.PortForwarder.
func (f forwarder) PortForward(ctx context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	to, ok := f[port]
	if !ok {
		return fmt.Errorf("nothing listens on port %d of %s", port, pod)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", hostPort(to))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // both ways have ended
	go func() {
		_, _ = io.Copy(conn, stream)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, conn)
	return err
}

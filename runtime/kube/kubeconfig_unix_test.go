//go:build unix

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// TestKubeconfigOfPipe: a kubeconfig is read once, so that it may be a pipe.
func TestKubeconfigOfPipe(t *testing.T) {
	const text = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`
	for name, connect := range map[string]func(file string) error{
		"of a person": func(file string) error { _, err := kube.User{Kubeconfig: file}.Connect(t.Context()); return err },
		"of the scheduler": func(file string) error {
			c := kube.Connection{ClientConnectionConfiguration: componentconfigv1alpha1.ClientConnectionConfiguration{Kubeconfig: file}}
			_, err := c.Connect(t.Context(), componentconfigv1alpha1.LeaderElectionConfiguration{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(file, 0o600); err != nil {
				t.Fatal(err)
			}
			written := make(chan error, 1)
			go func() { written <- os.WriteFile(file, []byte(text), 0o600) }()
			if err := connect(file); err != nil {
				t.Error(err)
			}
			if err := <-written; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPipesThatStay: files that are read again and again are no pipes, which nobody may ever write to.
func TestPipesThatStay(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	named := func(cluster, user string) func() error {
		return func() error {
			file := filepath.Join(dir, "kubeconfig")
			text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
				"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', %s}}]\nusers: [{name: u, user: {%s}}]\n", cluster, user)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := kube.User{Kubeconfig: file}.Connect(t.Context())
			return err
		}
	}
	for name, read := range map[string]func() error{
		"authority":      named("certificate-authority: pipe", ""),
		"certificate":    named("", "client-certificate: pipe"),
		"key":            named("", "client-key: pipe"),
		"token":          named("", "tokenFile: pipe"),
		"own key":        func() error { _, err := kube.TLSConfig{CertFile: pipe, KeyFile: pipe}.Serving(t.Context()); return err },
		"users' issuers": func() error { _, err := kube.ClientCAOfFile(t.Context(), pipe); return err },
	} {
		if err := read(); err == nil || !strings.Contains(err.Error(), pipe+": it is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInterruptedKubeconfig: the kubeconfig of the environment is not waited for after an interrupt.
func TestInterruptedKubeconfig(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", pipe)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("interrupt signal received")
	cancel(gone)
	if _, err := (kube.User{}).Connect(ctx); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // what still waits for a writer ends
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

//go:build unix

package kube_test

import (
	"os"
	"path/filepath"
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

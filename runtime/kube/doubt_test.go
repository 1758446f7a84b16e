package kube_test

import (
	"context"
	"errors"
	"io"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

// TestBindInDoubt: the answer to a binding gets lost. It is written again until it is
// known where the pod is.
func TestBindInDoubt(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	forbidden := apierrors.NewForbidden(resource, "p", errors.New("no rules yet"))
	for _, test := range []struct {
		name    string
		answers []error // of the server; nil binds the pod
		isOn    string  // where the pod is when the first answer is given
		uid     string  // of who has its name then
		made    bool
	}{
		{"not carried out", []error{io.ErrUnexpectedEOF, nil}, "", "uid-p", true},
		{"carried out", []error{io.ErrUnexpectedEOF}, "n", "uid-p", true},
		{"away for a while", []error{io.ErrUnexpectedEOF, io.EOF, forbidden, nil}, "", "uid-p", true},
		{"bound by another", []error{io.ErrUnexpectedEOF}, "m", "uid-p", false},
		{"another of the name", []error{io.ErrUnexpectedEOF}, "n", "uid-q", false},
		{"storage away", []error{apierrors.NewInternalError(errors.New("etcdserver: request timed out"))}, "n", "uid-p", true},
		{"forbidden", []error{forbidden}, "", "uid-p", false},
		{"conflict", []error{apierrors.NewConflict(resource, "p", errors.New("already assigned"))}, "n", "uid-p", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pod("p", "", "default-scheduler")
			c, client := connect(t, p)
			now := p.DeepCopy()
			now.UID, now.Spec.NodeName = types.UID(test.uid), test.isOn
			client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, now, nil })
			tries := 0
			client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if tries++; tries <= len(test.answers) {
					return true, &v1.Binding{}, test.answers[tries-1]
				}
				return true, nil, apierrors.NewConflict(resource, "p", errors.New("already assigned"))
			})
			err := c.Bind(context.Background(), binding(p, nil, nil))
			if test.made != (err == nil) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// TestBindInDoubtEnds: a scheduler that is told to stop does not wait for an API server
// that is away.
func TestBindInDoubtEnds(t *testing.T) {
	p := pod("p", "", "default-scheduler")
	c, client := connect(t, p)
	ctx, cancel := context.WithCancel(context.Background())
	client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel()
		return true, nil, io.ErrUnexpectedEOF
	})
	if err := c.Bind(ctx, binding(p, nil, nil)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error is %v", err)
	}
}

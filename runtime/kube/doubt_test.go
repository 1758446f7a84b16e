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
		{"many come when it is back", []error{io.ErrUnexpectedEOF, apierrors.NewTooManyRequestsError("later"), nil}, "", "uid-p", true},
		{"many come", []error{apierrors.NewTooManyRequestsError("later")}, "n", "uid-p", false},
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

// TestLabelsInDoubt: labels that were written before the binding are taken back if it is
// known that the pod was not bound, or if nobody knows whether they were written.
func TestLabelsInDoubt(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	conflict := apierrors.NewConflict(resource, "p", errors.New("already assigned"))
	const forth = `patch  p {"metadata":{"labels":{"a":"1"},"resourceVersion":"1","uid":"uid-p"}}`
	const bind = "bind p uid-p to n with map[]"
	const back = `patch  p {"metadata":{"labels":{"a":null},"uid":"uid-p"}}`
	for _, test := range []struct {
		name        string
		patch, bind error
		want        []string
	}{
		{"bound", nil, nil, []string{forth, bind}},
		{"refused", nil, conflict, []string{forth, bind, back}},
		{"throttled", nil, apierrors.NewTooManyRequestsError("later"), []string{forth, bind, back}},
		{"no answer to the binding", nil, io.ErrUnexpectedEOF, []string{forth, bind}},
		{"storage away", nil, apierrors.NewInternalError(io.EOF), []string{forth, bind}},
		{"API server going", nil, apierrors.NewServiceUnavailable("shutting down"), []string{forth, bind}},
		{"labels refused", conflict, nil, []string{forth}},
		{"no answer to the labels", io.ErrUnexpectedEOF, nil, []string{forth, back}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pod("p", "", "default-scheduler")
			c, client := connect(t, p)
			ctx, stop := context.WithCancel(context.Background())
			tries := 0
			client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				tries++
				return tries == 1 && test.patch != nil, nil, test.patch
			})
			client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				stop() // so that doubts are not cleared
				return true, &v1.Binding{}, test.bind
			})
			err := c.Bind(ctx, binding(p, nil, map[string]string{"a": "1"}))
			if want := errors.Join(test.patch, test.bind); (err == nil) != (want == nil) {
				t.Errorf("error is %v, want %v", err, want)
			}
			expectWrites(t, client, test.want...)
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

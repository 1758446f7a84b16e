package kube

import (
	"errors"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// sink counts what it is called for.
type sink struct{ initialized, errors int }

func (s *sink) Init(logr.RuntimeInfo)       { s.initialized++ }
func (*sink) Enabled(int) bool              { return true }
func (*sink) Info(int, string, ...any)      {}
func (s *sink) Error(error, string, ...any) { s.errors++ }
func (s *sink) WithValues(...any) klog.LogSink {
	return s
}
func (s *sink) WithName(string) klog.LogSink { return s }

// TestWithoutForbidden: the elector's logger leaves out what leaseRights says, and changes nothing about that of others.
func TestWithoutForbidden(t *testing.T) {
	var s sink
	ctx := klog.NewContext(t.Context(), klog.New(&s))
	for range 2 {
		log := klog.FromContext(withoutForbidden(ctx)).WithName("elector").WithValues("a", 1)
		log.Error(apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "berth", nil), "failed")
		log.Error(errors.New("gone"), "failed")
	}
	if s.initialized != 1 || s.errors != 2 {
		t.Errorf("the sink was initialized %d times and got %d errors, want 1 and 2", s.initialized, s.errors)
	}
}

package kube_test

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// blocked is a client whose bindings call enter and leave, and whose patches of pods
// call patch; the fake client's own reactors run one at a time.
type blocked struct {
	kubernetes.Interface
	enter, leave, patch func()
}

func (b *blocked) CoreV1() typedv1.CoreV1Interface {
	return &blockedCore{b.Interface.CoreV1(), b}
}

type blockedCore struct {
	typedv1.CoreV1Interface
	blocked *blocked
}

func (c *blockedCore) Pods(namespace string) typedv1.PodInterface {
	return &blockedPods{c.CoreV1Interface.Pods(namespace), c.blocked}
}

type blockedPods struct {
	typedv1.PodInterface
	blocked *blocked
}

func (p *blockedPods) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*v1.Pod, error) {
	p.blocked.patch()
	return p.PodInterface.Patch(ctx, name, kind, data, options, subresources...)
}

func (p *blockedPods) Bind(context.Context, *v1.Binding, metav1.CreateOptions) error {
	p.blocked.enter()
	defer p.blocked.leave()
	return nil
}

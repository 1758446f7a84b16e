package load

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"

	"github.com/berth-scheduler/berth/test/internal/workload"
)

// Driver is the driver of devices, and DevicesEach how many a node has.
const (
	Driver      = "devices.example.com"
	DevicesEach = 8
)

// Devices creates a class with the devices of Driver, and the devices of the first nodes. extended (optional) is the
// extended resource that the class provides.
func Devices(ctx context.Context, client kubernetes.Interface, class string, extended *string, nodes int) error {
	if _, err := client.ResourceV1().DeviceClasses().Create(ctx, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: extended, Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + Driver + `"`}},
		}},
	}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return Each(ctx, nodes, func(ctx context.Context, i int) error {
		node := workload.NodeName(i)
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: slice(node)}, Spec: resourcev1.ResourceSliceSpec{
			Driver: Driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
		}}
		for j := range DevicesEach {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("d%d", j)})
		}
		_, err := client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
		return err
	})
}

func slice(node string) string { return node + "-devices" }

// NoDevices deletes the devices of the first nodes.
func NoDevices(ctx context.Context, client kubernetes.Interface, nodes int) error {
	return Each(ctx, nodes, func(ctx context.Context, i int) error {
		return client.ResourceV1().ResourceSlices().Delete(ctx, slice(workload.NodeName(i)), metav1.DeleteOptions{})
	})
}

// Template creates a template of claims for one device of a class.
func Template(ctx context.Context, client kubernetes.Interface, namespace, name, class string) error {
	_, err := client.ResourceV1().ResourceClaimTemplates(namespace).Create(ctx, &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "device", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class}}},
		}}},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// ControlClaims runs kube-controller-manager's controller of resource claims. The returned function ends it.
func ControlClaims(client kubernetes.Interface) (end func(), err error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	factory := informers.NewSharedInformerFactory(client, 0)
	controller, err := resourceclaim.NewController(logr.Discard(), client,
		factory.Core().V1().Pods(), nil, factory.Resource().V1().ResourceClaims(), factory.Resource().V1().ResourceClaimTemplates())
	if err != nil {
		cancel()
		return nil, err
	}
	factory.Start(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { controller.Run(ctx, 4) })
	return func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	}, nil
}

// ClearClaims deletes the claims of a namespace, allocated or not.
func ClearClaims(ctx context.Context, client kubernetes.Interface, namespace string) error {
	claims := client.ResourceV1().ResourceClaims(namespace)
	list, err := claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return Each(ctx, len(list.Items), func(ctx context.Context, i int) error {
		return insist(ctx, func() error {
			claim, err := claims.Get(ctx, list.Items[i].Name, metav1.GetOptions{})
			if err == nil && len(claim.Finalizers) > 0 {
				claim.Finalizers = nil
				_, err = claims.Update(ctx, claim, metav1.UpdateOptions{})
			}
			if err == nil {
				err = claims.Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{})
			}
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	})
}

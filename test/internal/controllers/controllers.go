// Package controllers runs controllers of kube-controller-manager in this process, by their own code: those that make
// pods of workloads, and those that give pods their volumes.
package controllers

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
)

// resync is how often the controller of volumes repeats what has failed.
const resync = time.Second

// Run runs the controllers of Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and PersistentVolumes. The returned
// function ends them.
func Run(client kubernetes.Interface) (end func(), err error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	factory := informers.NewSharedInformerFactory(client, 0)
	core, apps := factory.Core().V1(), factory.Apps().V1()
	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), client)
	if err != nil {
		cancel()
		return nil, err
	}
	daemons, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), client,
		flowcontrol.NewBackOff(time.Second, time.Minute))
	if err != nil {
		cancel()
		return nil, err
	}
	jobs, err := job.NewController(ctx, client, core.Pods(), factory.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	volumes, err := volumesOf(ctx, client, factory)
	if err != nil {
		cancel()
		return nil, err
	}
	replicas := replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), core.Pods(), client, replicaset.BurstReplicas)
	stateful := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(),
		apps.ControllerRevisions(), client)
	factory.Start(ctx.Done())
	var running sync.WaitGroup
	for _, run := range []func(context.Context, int){deployments.Run, replicas.Run, stateful.Run, daemons.Run, jobs.Run} {
		running.Go(func() { run(ctx, 2) })
	}
	running.Go(func() { volumes.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	}, nil
}

// RunVolumes runs the controller of PersistentVolumes alone. The returned function ends it.
func RunVolumes(client kubernetes.Interface) (end func(), err error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	factory := informers.NewSharedInformerFactory(client, 0)
	volumes, err := volumesOf(ctx, client, factory)
	if err != nil {
		cancel()
		return nil, err
	}
	factory.Start(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { volumes.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	}, nil
}

func volumesOf(ctx context.Context, client kubernetes.Interface,
	factory informers.SharedInformerFactory) (*persistentvolume.PersistentVolumeController, error) {
	core := factory.Core().V1()
	return persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
		KubeClient: client, SyncPeriod: resync, EnableDynamicProvisioning: true,
		VolumeInformer: core.PersistentVolumes(), ClaimInformer: core.PersistentVolumeClaims(),
		ClassInformer: factory.Storage().V1().StorageClasses(),
		PodInformer:   core.Pods(), NodeInformer: core.Nodes(),
	})
}

// Provision does what an external provisioner does: it makes a volume for each claim that waits for one, which can be
// reached from everywhere.
func Provision(ctx context.Context, client kubernetes.Interface) error {
	claims, err := client.CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, c := range claims.Items {
		// The controller of volumes asks for a volume by this annotation, once a claim that waits for a pod has a node.
		if c.Annotations["volume.kubernetes.io/storage-provisioner"] == "" || c.Spec.VolumeName != "" {
			continue
		}
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(c.UID)}, Spec: v1.PersistentVolumeSpec{
			Capacity: c.Spec.Resources.Requests, AccessModes: c.Spec.AccessModes, StorageClassName: volume.GetPersistentVolumeClaimClass(&c),
			VolumeMode: c.Spec.VolumeMode,
			ClaimRef: &v1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name,
				UID: c.UID},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "csi.example.com",
				VolumeHandle: string(c.UID)}},
		}}
		if _, err := client.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

package queueing

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	configtesting "k8s.io/kubernetes/pkg/scheduler/apis/config/testing"
	testutils "k8s.io/kubernetes/test/integration/util"
	"k8s.io/utils/ptr"
)

const (
	outsideQuiet    = 1500 * time.Millisecond // longer than the backoff
	outsidePatience = 15 * time.Second
)

// RunTestCoreResourceEnqueue looks from outside whether an event makes the process try pods again: at its
// count of attempts, since a pod's place in its queue cannot be seen.
func RunTestCoreResourceEnqueue(t *testing.T, tt *CoreResourceEnqueueTestCase) {
	if tt.EnableNodeDeclaredFeatures {
		t.Skip("compiles a feature of nodes in")
	}
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.InPlacePodVerticalScaling, true)
	if tt.EnableDRAExtendedResource {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAExtendedResource, true)
	}
	if tt.EnableGenericWorkload {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.GenericWorkload, true)
	}
	options := []scheduler.Option{scheduler.WithPodInitialBackoffSeconds(1), scheduler.WithPodMaxBackoffSeconds(1)}
	if tt.EnablePlugins != nil {
		set := configv1.PluginSet{Disabled: []configv1.Plugin{{Name: "*"}}, Enabled: []configv1.Plugin{{Name: "PrioritySort"}, {Name: "DefaultBinder"}}}
		for _, name := range tt.EnablePlugins {
			set.Enabled = append(set.Enabled, configv1.Plugin{Name: name})
		}
		config := configtesting.V1ToInternalWithDefaults(t, configv1.KubeSchedulerConfiguration{Profiles: []configv1.KubeSchedulerProfile{
			{SchedulerName: ptr.To("default-scheduler"), Plugins: &configv1.Plugins{MultiPoint: set}},
		}})
		options = append(options, scheduler.WithProfiles(config.Profiles...))
	}
	testCtx := testutils.InitTestSchedulerWithOptions(t, testutils.InitTestAPIServer(t, "core-res-enqueue", nil), 0, options...)
	testutils.SyncSchedulerInformerFactory(testCtx)
	createOutside(t, testCtx, tt)

	last, since := outsideAttempts(t, testCtx), time.Now()
	for start := time.Now(); time.Since(since) < outsideQuiet || tt.ExpectedInitialRejectingPhase != rejectingPhasePreEnqueue && !rejectedOutside(t, testCtx, tt); {
		if time.Since(start) > 2*outsidePatience {
			t.Fatalf("the pods are not all rejected after %d attempts", last)
		}
		time.Sleep(100 * time.Millisecond)
		if now := outsideAttempts(t, testCtx); now != last {
			last, since = now, time.Now()
		}
	}
	if _, err := tt.TriggerFn(testCtx); err != nil {
		t.Fatalf("event: %v", err)
	}
	want := len(tt.WantRequeuedPods)
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		tries := outsideAttempts(t, testCtx) - last
		switch waited := time.Since(start); {
		case want > 0 && tries >= want, want == 0 && tries == 0 && waited > 2*outsideQuiet:
			return
		case want == 0 && tries > 0, waited > outsidePatience:
			t.Fatalf("%d tries after the event, pods %v were to be tried", tries, tt.WantRequeuedPods)
		}
	}
}

// createOutside creates what is there at first.
func createOutside(t *testing.T, testCtx *testutils.TestContext, tt *CoreResourceEnqueueTestCase) {
	ctx, cs, ns := testCtx.Ctx, testCtx.ClientSet, testCtx.NS.Name
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range tt.InitialNodes {
		must(cs.CoreV1().Nodes().Create(ctx, o, metav1.CreateOptions{}))
	}
	for _, o := range tt.InitialDeviceClasses {
		must(cs.ResourceV1().DeviceClasses().Create(ctx, o, metav1.CreateOptions{}))
	}
	for _, o := range tt.InitialCSINodes {
		must(cs.StorageV1().CSINodes().Create(ctx, o, metav1.CreateOptions{}))
	}
	for _, o := range tt.InitialStorageCapacities {
		must(cs.StorageV1().CSIStorageCapacities(ns).Create(ctx, o, metav1.CreateOptions{}))
	}
	for _, o := range tt.InitialVolumeAttachment {
		must(cs.StorageV1().VolumeAttachments().Create(ctx, o, metav1.CreateOptions{}))
	}
	for _, o := range tt.InitialCSIDrivers {
		must(cs.StorageV1().CSIDrivers().Create(ctx, o, metav1.CreateOptions{}))
	}
	for _, o := range tt.InitialStorageClasses {
		must(cs.StorageV1().StorageClasses().Create(ctx, o, metav1.CreateOptions{}))
	}
	for _, o := range tt.InitialPVs {
		must(testutils.CreatePV(cs, o))
	}
	for _, o := range tt.InitialPVCs {
		o.Namespace = ns
		must(testutils.CreatePVC(cs, o))
	}
	for _, o := range tt.InitialPodGroups {
		o.Namespace = ns
		must(cs.SchedulingV1beta1().PodGroups(ns).Create(ctx, o, metav1.CreateOptions{}))
	}
	for _, o := range append(append([]*v1.Pod{}, tt.InitialPods...), tt.Pods...) {
		must(cs.CoreV1().Pods(ns).Create(ctx, o, metav1.CreateOptions{}))
	}
}

// rejectedOutside reports whether all pods of the case have been rejected.
func rejectedOutside(t *testing.T, testCtx *testutils.TestContext, tt *CoreResourceEnqueueTestCase) bool {
	for _, p := range tt.Pods {
		rejected, err := testutils.PodUnschedulable(testCtx.ClientSet, testCtx.NS.Name, p.Name)(testCtx.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !rejected {
			return false
		}
	}
	return true
}

// outsideAttempts is how often the process has tried to place a pod.
func outsideAttempts(t *testing.T, testCtx *testutils.TestContext) int {
	config := testCtx.KubeConfig
	request, err := http.NewRequestWithContext(testCtx.Ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/metrics", testCtx.Scheduler.OutsidePort()), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+config.BearerToken)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %s", answer.Status)
	}
	sum := 0.0
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), "} "); ok && strings.HasPrefix(name, "scheduler_schedule_attempts_total{") {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return int(sum)
}

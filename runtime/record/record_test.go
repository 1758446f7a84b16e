package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/state"
)

// frameHead is the size of a frame's head.
const frameHead = 32

// written records events and returns the recording.
func written(t testing.TB, config record.Config, events ...inbox.Event) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := record.NewWriter(&out, config)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		w.Enter(e)
	}
	w.Close()
	return out.Bytes()
}

// read returns the lines of the events that can be read, and the error at the end.
func read(t testing.TB, in []byte) (lines []string, err error) {
	t.Helper()
	r, err := record.NewReader(bytes.NewReader(in))
	if err != nil {
		return nil, err
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		line, err := inbox.Format(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
}

func many(n int) (out []inbox.Event) {
	for i := range n {
		out = append(out, &inbox.Clock{At: time.Unix(int64(i), 0)}, &inbox.NodeGone{Name: strings.Repeat("node-", 20)})
	}
	return out
}

// TestTwoForms: the text form of a recording is read as the recording.
func TestTwoForms(t *testing.T) {
	recording := written(t, record.Config{}, many(5000)...) // several frames
	lines, err := read(t, recording)
	if err != nil || len(lines) != 10_001 || lines[10_000] != "end" {
		t.Fatalf("%d events, %v", len(lines), err)
	}
	again, err := read(t, []byte("# "+record.Header+"\n# a comment\n"+strings.Join(lines, "\n")+"\n"))
	if err != nil || strings.Join(again, "\n") != strings.Join(lines, "\n") {
		t.Errorf("%d events, %v", len(again), err)
	}
	if len(recording) > 60_000 {
		t.Errorf("%d bytes", len(recording))
	}
}

// TestDamaged: a recording that was cut off says so, and one with other events says at which.
func TestDamaged(t *testing.T) {
	recording := written(t, record.Config{}, many(5000)...)
	for _, at := range []int{len(recording) - 1, len(recording) / 2, len(record.Header) + 1, len(record.Header)} {
		if lines, err := read(t, recording[:at]); !errors.Is(err, record.ErrCut) || len(lines) > 10_000 {
			t.Errorf("%d of %d bytes: %d events, %v", at, len(recording), len(lines), err)
		}
	}
	const (
		module = "module recorded/a.wasm sha256:a bytes=AGFzbQ\n"
		keeps  = "swap config=\"recorded/a.wasm\"\n"
		drops  = "swap config=\"\"\n"
	)
	if lines, err := read(t, []byte("# "+record.Header+module+keeps+drops+module+"end\n")); err != nil || len(lines) != 5 {
		t.Errorf("a module that came back: %q, %v", lines, err)
	}
	for in, want := range map[string]string{
		"":                                  "it is not a recording",
		"berth recording 12\n":              `has the format "berth recording 12"`,
		"# berth recording 12\nstep\nend\n": `has the format "berth recording 12"`,
		"berth recording 3\n":               `has the format "berth recording 3", and this berth reads "berth recording 11", the versions from 4 on, and the text form of older ones`,
		"berth recording 2\n":               `has the format "berth recording 2", and this berth reads "berth recording 11", the versions from 4 on, and the text form of older ones`,
		"berth recording 1\n":               `has the format "berth recording 1", and this berth reads "berth recording 11", the versions from 4 on, and the text form of older ones`,
		"# berth recording 1\nstep\noverrun default-scheduler a Filter row=1 fuel=7 detail=d\nend\n": "damaged after event 1: an overrun in the format \"berth recording 1\" does not say which call it was",
		"# " + record.Header + "step\nstumble\n":                                                     `the recording is damaged after event 1: "stumble" is not an event`,
		"# " + record.Header + "step\nste":                                                           record.ErrCut.Error(),
		"# " + record.Header + module + module + "end\n":                                             "damaged after event 1: the module recorded/a.wasm is there twice",
		"# " + record.Header + module + keeps + module + "end\n":                                     "damaged after event 2: the module recorded/a.wasm is there twice",
	} {
		if _, err := read(t, []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// TestOlder: the text of earlier versions is read.
func TestOlder(t *testing.T) {
	for version := 1; version <= 5; version++ {
		if lines, err := read(t, fmt.Appendf(nil, "# berth recording %d\nbound attempt=1\nend\n", version)); err != nil || len(lines) != 2 {
			t.Errorf("version %d: %q, %v", version, lines, err)
		}
	}
}

// TestDamagedSize: a size that was damaged is not taken for a recording that was cut off, however much of it is left,
// and neither are other bytes in the middle of it.
func TestDamagedSize(t *testing.T) {
	recording := written(t, record.Config{}, many(5000)...)
	for at, n := len(record.Header), 0; at < len(recording); n++ {
		for bit := n % 3; bit < frameHead*8; bit += 3 {
			other := bytes.Clone(recording)
			other[at+bit/8] ^= 1 << (bit % 8)
			if lines, err := read(t, other); err == nil || !strings.Contains(err.Error(), "the recording is damaged after event ") {
				t.Errorf("bit %d of the head of frame %d: %d events, %v", bit, n, len(lines), err)
			}
		}
		at += frameHead + int(binary.LittleEndian.Uint32(recording[at:]))
	}
	for at := len(record.Header); at < len(recording); at += 97 {
		other := bytes.Clone(recording)
		other[at] ^= 0x10
		if lines, err := read(t, other); err == nil || !strings.Contains(err.Error(), "the recording is damaged after event ") {
			t.Errorf("byte %d: %d events, %v", at, len(lines), err)
		}
		if lines, err := read(t, recording[:at]); !errors.Is(err, record.ErrCut) {
			t.Errorf("%d bytes: %d events, %v", at, len(lines), err)
		}
	}
}

// TestFollowed: of two recordings in one file the second is not passed over in silence.
func TestFollowed(t *testing.T) {
	first, text := written(t, record.Config{}, many(1)...), "# "+record.Header+"step\nend\n"
	for _, in := range []string{string(first) + string(first), string(first) + "x", text + text + "step\n", text + "step"} {
		if lines, err := read(t, []byte(in)); err == nil || !strings.Contains(err.Error(), "it continues after its end") {
			t.Errorf("%q: %d events, %v", in, len(lines), err)
		}
	}
	if lines, err := read(t, []byte(text+"\n# a comment")); err != nil || len(lines) != 2 {
		t.Errorf("%d events, %v", len(lines), err)
	}
}

// endless is a file that never ends. It counts what is read of it.
type endless struct{ read int }

func (f *endless) Read(p []byte) (int, error) {
	if f.read += len(p); f.read > 1<<20 {
		return 0, errors.New("that is too much")
	}
	return len(p), nil
}

// TestEndless: of a file that is no recording no more is read than a buffer.
func TestEndless(t *testing.T) {
	if _, err := record.NewReader(&endless{}); err == nil || !strings.Contains(err.Error(), "it is not a recording of berth") {
		t.Error(err)
	}
}

// full is a file on a full disk.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

// TestEndsEarly: a recording that cannot continue logs that once, and its scheduler continues.
func TestEndsEarly(t *testing.T) {
	for want, out := range map[string]io.Writer{"maximum size of 100 bytes": io.Discard, "no space left": &full{room: 50}} {
		var ended []string
		config := record.Config{Ended: func(err error) { ended = append(ended, err.Error()) }}
		if out == io.Discard {
			config.MaxBytes = 100
		}
		w, err := record.NewWriter(out, config)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range many(10_000) {
			w.Enter(e)
		}
		w.Close()
		if len(ended) != 1 || !strings.Contains(ended[0], want) {
			t.Errorf("%s: %q", want, ended)
		}
	}
}

// stuck is a disk that does not answer after some writes, until it is released.
type stuck struct {
	writes  int
	release chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	if s.writes--; s.writes < 0 {
		<-s.release
	}
	return len(p), nil
}

// TestSlowDisk: a disk that does not answer does not stop the scheduler. The recording ends at the first event that it lacks, and
// continues with the next segment, which knows what was swapped meanwhile.
func TestSlowDisk(t *testing.T) {
	disk := &stuck{writes: 2, release: make(chan struct{})} // the header and the settings
	var ended []error
	var next bytes.Buffer
	w, err := record.NewWriter(disk, record.Config{
		SegmentBytes: 1 << 40, Retry: time.Nanosecond, Patience: time.Millisecond,
		Next: func() (io.Writer, error) { return &next, nil }, Ended: func(err error) { ended = append(ended, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Enter(&inbox.Settings{Seed: 7})
	for _, e := range many(200_000) { // more than wait twice: the disk may stop with a first batch of as many
		w.Enter(e)
	}
	w.Enter(&inbox.Step{})
	w.Enter(&inbox.Swap{Config: "swapped"})
	if w.Full() {
		t.Error("a segment begins although the last one has not ended")
	}
	close(disk.release)
	w.Sync()
	if !w.Full() {
		t.Error("the recording does not continue")
	}
	w.Begin()
	w.Enter(&inbox.NodeGone{Name: "last"})
	w.Close()
	if len(ended) != 1 || !strings.Contains(ended[0].Error(), "the disk is too slow") {
		t.Errorf("%q", ended)
	}
	lines, err := read(t, next.Bytes())
	if err != nil || len(lines) != 3 || !strings.Contains(lines[0], "swapped") || !strings.Contains(lines[1], "last") {
		t.Errorf("the next segment has %q, %v", lines, err)
	}
}

// TestFlushed: events reach the file after a second, although nothing follows them.
func TestFlushed(t *testing.T) {
	path := t.TempDir() + "/recording"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := record.NewWriter(f, record.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Enter(&inbox.NodeGone{Name: "n"})
	eventually.Holds(t, "the event reaches the file", func() bool {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := read(t, data)
		return len(lines) == 1 && errors.Is(err, record.ErrCut)
	})
}

// TestRedacted: what may be secret is not in the recording; what decides is.
func TestRedacted(t *testing.T) {
	const secret = "hunter2"
	container := v1.Container{
		Name: "c", Image: "keep-image", Command: []string{secret}, Args: []string{secret}, Env: []v1.EnvVar{{Name: "PASSWORD", Value: secret}},
		EnvFrom:       []v1.EnvFromSource{{Prefix: secret}},
		LivenessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{HTTPHeaders: []v1.HTTPHeader{{Name: "Authorization", Value: secret}}}}},
		Lifecycle:     &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{secret}}}},
	}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "1", Annotations: map[string]string{"other": secret, "read": "keep-annotation", "gpu/index": "keep-prefix"}},
		Spec:       v1.PodSpec{Containers: []v1.Container{container}, InitContainers: []v1.Container{container}},
		Status: v1.PodStatus{Message: secret, Conditions: []v1.PodCondition{{Message: secret}}, ContainerStatuses: []v1.ContainerStatus{{Name: "c", State: v1.ContainerState{
			Terminated: &v1.ContainerStateTerminated{Message: secret}}}}},
	}
	node := func(annotation string) inbox.Event {
		return &inbox.Node{Node: state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{"other": annotation}}})}
	}
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "keep-class"}, Parameters: map[string]string{"password": secret}}
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
	volume.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "keep-driver", VolumeAttributes: map[string]string{"key": secret}}
	lines, err := read(t, written(t, record.Config{},
		&inbox.Settings{Annotations: []string{"read", "gpu/*"}}, &inbox.Pods{Pods: []*state.Pod{state.NewPod(pod)}},
		node(secret), node(secret), node(secret+"!"), &inbox.Object{Object: class}, &inbox.Raise{
			Event: state.ClusterEvent{Resource: state.PersistentVolumeResource, Action: state.Add}, Object: state.Object{New: volume},
		}))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n")
	for _, keep := range []string{"keep-image", "keep-annotation", "keep-prefix", "keep-class", "keep-driver"} {
		if !strings.Contains(text, keep) {
			t.Errorf("%s is missing in\n%s", keep, text)
		}
	}
	if strings.Contains(text, secret) || pod.Spec.Containers[0].Env == nil || len(pod.Annotations) != 3 {
		t.Errorf("the secret is in\n%s\nor was taken from the object", text)
	}
	if lines[2] != lines[3] || lines[3] == lines[4] {
		t.Errorf("changes of annotations are not told apart:\n%s", strings.Join(lines[2:5], "\n"))
	}
}

// TestVersion: a committed recording with all types of events stays readable, as what it was. If this fails, the format
// has changed: give it the next version (Header), and keep the files of this one under its number, because the next one reads
// them. Then -rewrite commits another recording.
func TestVersion(t *testing.T) {
	const compact, printed = "testdata/events.berthrec", "testdata/events.txt"
	recording, err := os.ReadFile(compact)
	check := golden.Compare
	if golden.Rewriting() && !bytes.HasPrefix(recording, []byte(record.Header)) {
		check = golden.Check
		recording = written(t, record.Config{}, all(t)...)
		check(t, compact, recording)
	} else if err != nil {
		t.Fatal(err)
	}
	check(t, printed, printedOf(t, recording))
	for _, version := range []string{"4", "5", "6", "7", "8", "9"} {
		before, err := os.ReadFile("testdata/events-" + version + ".berthrec")
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, "testdata/events-"+version+".txt", printedOf(t, before))
	}
}

func printedOf(t *testing.T, recording []byte) []byte {
	t.Helper()
	lines, err := read(t, recording)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// all returns events of all types but End.
func all(t *testing.T) (events []inbox.Event) {
	t.Helper()
	text, err := os.ReadFile("../inbox/testdata/events.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		e, err := inbox.Parse(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, end := e.(*inbox.End); !end {
			events = append(events, e)
		}
	}
	return events
}

// TestRedactedObjects: objects that no plugin sees have nothing that may be secret either, and what Kubernetes says with
// annotations.
func TestRedactedObjects(t *testing.T) {
	const secret = "hunter2"
	meta := metav1.ObjectMeta{Name: "keep-name", Namespace: "ns", Annotations: map[string]string{
		"other": secret, v1.LastAppliedConfigAnnotation: secret, "volume.kubernetes.io/selected-node": "keep-node", "read/this": "keep-read",
	}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: secret}}}
	env := []v1.EnvVar{{Name: "PASSWORD", Value: secret}}
	template := v1.PodTemplateSpec{ObjectMeta: meta, Spec: v1.PodSpec{Containers: []v1.Container{{Env: env}}}}
	attributes := map[string]string{"password": secret}
	volume := v1.PersistentVolumeSpec{MountOptions: []string{secret}, PersistentVolumeSource: v1.PersistentVolumeSource{
		CSI: &v1.CSIPersistentVolumeSource{VolumeAttributes: attributes}, FlexVolume: &v1.FlexPersistentVolumeSource{Options: attributes},
	}}
	device := resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: "d", Parameters: runtime.RawExtension{Raw: []byte(`{"password":"` + secret + `"}`)}}}
	claim := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Config: []resourcev1.DeviceClaimConfiguration{{DeviceConfiguration: device}}}}
	failed := &storagev1.VolumeError{Message: secret}
	all := []metav1.Object{
		&v1.PersistentVolume{ObjectMeta: meta, Spec: volume}, &v1.PersistentVolumeClaim{ObjectMeta: meta},
		&storagev1.StorageClass{ObjectMeta: meta, Parameters: attributes, MountOptions: []string{secret}},
		&storagev1.CSINode{ObjectMeta: meta}, &storagev1.CSIDriver{ObjectMeta: meta}, &storagev1.CSIStorageCapacity{ObjectMeta: meta},
		&storagev1.VolumeAttachment{
			ObjectMeta: meta, Spec: storagev1.VolumeAttachmentSpec{Source: storagev1.VolumeAttachmentSource{InlineVolumeSpec: &volume}},
			Status: storagev1.VolumeAttachmentStatus{AttachmentMetadata: attributes, AttachError: failed, DetachError: failed},
		},
		&resourcev1.ResourceClaim{ObjectMeta: meta, Spec: claim}, &resourcev1.ResourceSlice{ObjectMeta: meta},
		&resourcev1.DeviceClass{ObjectMeta: meta, Spec: resourcev1.DeviceClassSpec{Config: []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: device}}}},
		&v1.Service{ObjectMeta: meta}, &v1.ReplicationController{ObjectMeta: meta, Spec: v1.ReplicationControllerSpec{Template: &template}},
		&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Template: template}},
		&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Template: template, VolumeClaimTemplates: []v1.PersistentVolumeClaim{{ObjectMeta: meta}}}},
		&policyv1.PodDisruptionBudget{ObjectMeta: meta},
	}
	own := meta
	own.UID = "pod" // plugins see pods, and annotations only by name
	pod := &v1.Pod{ObjectMeta: own, Spec: v1.PodSpec{Volumes: []v1.Volume{
		{VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{VolumeAttributes: attributes}}}, {VolumeSource: v1.VolumeSource{FlexVolume: &v1.FlexVolumeSource{Options: attributes}}},
	}}}
	events := []inbox.Event{&inbox.Settings{Annotations: []string{"read/*", "kubectl.kubernetes.io/*"}}}
	for _, object := range all {
		events = append(events, &inbox.Object{Object: object})
	}
	for _, object := range append(all, pod) {
		events = append(events, &inbox.Raise{Event: state.ClusterEvent{Resource: state.PersistentVolumeResource, Action: state.Add}, Object: state.Object{New: object}})
	}
	lines, err := read(t, written(t, record.Config{}, append(events, &inbox.Pods{Pods: []*state.Pod{state.NewPod(pod)}})...))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1 : len(lines)-1] {
		if strings.Contains(line, secret) || !strings.Contains(line, "keep-name") || !strings.Contains(line, "keep-read") || strings.Contains(line, "keep-node") == strings.Contains(line, `"uid":"pod"`) {
			t.Error(line)
		}
	}
	if template.Spec.Containers[0].Env == nil || volume.CSI.VolumeAttributes == nil || len(meta.Annotations) != 4 {
		t.Error("secrets were taken from the objects")
	}
}

// FuzzRead: arbitrary bytes are refused, in time and memory that depend on their number.
func FuzzRead(f *testing.F) {
	f.Add(written(f, record.Config{}, many(3)...))
	f.Add([]byte("# " + record.Header + "step\nend\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if lines, err := read(t, in); err == nil && (len(lines) == 0 || lines[len(lines)-1] != "end") {
			t.Errorf("%d events without an end", len(lines))
		}
	})
}

// TestBegins: the settings are written before what follows them, so that a kill soon after leaves a recording.
func TestBegins(t *testing.T) {
	var out bytes.Buffer
	w, err := record.NewWriter(&out, record.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w.Enter(&inbox.Settings{Seed: 7})
	w.Enter(&inbox.Module{File: "a.wasm"})
	if out.String() != record.Header {
		t.Errorf("%q", out.String())
	}
	w.Enter(&inbox.Clock{})
	begun := bytes.Clone(out.Bytes()) // before another second is over
	w.Close()
	if lines, err := read(t, begun); !errors.Is(err, record.ErrCut) || len(lines) != 2 || !strings.HasPrefix(lines[0], "settings ") {
		t.Errorf("%v, %v", lines, err)
	}
}

package record_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/state"
)

// private are the names of fields that are in no recording, wherever they are in an object.
var private = []string{
	"Annotations", "Args", "Command", "Data", "Env", "EnvFrom", "HTTPHeaders", "ManagedFields", "Message", "MountOptions", "Raw", "Repository", "VolumeAttributes",
}

// fill gives a value everything that it can have. Private texts, and all bytes, are the path to them.
func fill(v reflect.Value, path string, secret bool) {
	switch v.Addr().Interface().(type) {
	case *resource.Quantity, *metav1.Time, *metav1.MicroTime, *intstr.IntOrString:
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path, secret)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(v.Field(i), path+"."+f.Name, secret || slices.Contains(private, f.Name))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`"secret` + path + `;"`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path, secret)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.SetString("other")
		fill(value, path, secret)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		if secret {
			v.SetString("secret" + path + ";")
		}
	}
}

// TestPrivate: fields with these names are in no recording, of whatever object they are.
func TestPrivate(t *testing.T) {
	for _, object := range []metav1.Object{
		&v1.Pod{}, &v1.Node{}, &v1.Namespace{}, &v1.PersistentVolume{}, &v1.PersistentVolumeClaim{}, &storagev1.StorageClass{}, &storagev1.CSINode{}, &storagev1.CSIDriver{},
		&storagev1.CSIStorageCapacity{}, &storagev1.VolumeAttachment{}, &resourcev1.ResourceClaim{}, &resourcev1.ResourceSlice{}, &resourcev1.DeviceClass{}, &v1.Service{},
		&v1.ReplicationController{}, &appsv1.ReplicaSet{}, &appsv1.StatefulSet{}, &policyv1.PodDisruptionBudget{},
	} {
		fill(reflect.ValueOf(object).Elem(), reflect.TypeOf(object).Elem().Name(), false)
		object.SetName("name")
		var events []inbox.Event
		switch x := object.(type) {
		case *v1.Pod:
			events = append(events, &inbox.Pods{Pods: []*state.Pod{{Object: x}}}, &inbox.Queued{Pod: &state.QueuedPod{Pod: &state.Pod{Object: x}}, Latest: &state.Pod{Object: x}},
				&inbox.Assumed{Pod: &state.Pod{Object: x}}, &inbox.InFlight{Pod: &state.Pod{Object: x}, Beside: []*state.Pod{{Object: x}}},
				&inbox.Missed{Event: state.EventForceActivate(), Object: state.Object{OldPod: &state.Pod{Object: x}, NewPod: &state.Pod{Object: x}}})
		case *v1.Node:
			events = append(events, &inbox.Node{Node: &state.Node{Object: x}}, &inbox.InFlight{NodeObject: &state.Node{Object: x}},
				&inbox.Missed{Event: state.EventForceActivate(), Object: state.Object{OldNode: &state.Node{Object: x}, NewNode: &state.Node{Object: x}}})
		case *v1.Namespace:
			events = append(events, &inbox.Namespace{Namespace: &state.Namespace{Object: x}}, &inbox.InFlight{Namespace: &state.Namespace{Object: x}})
		case *policyv1.PodDisruptionBudget:
			events = append(events, &inbox.Object{Object: x}, &inbox.Budgets{List: []*policyv1.PodDisruptionBudget{x}})
		case *resourcev1.ResourceClaim:
			events = append(events, &inbox.Object{Object: x}, &inbox.Written{Claim: x})
		default:
			events = append(events, &inbox.Object{Object: x}, &inbox.ObjectGone{Object: x}, &inbox.Missed{Event: state.EventForceActivate(), Object: state.Object{Old: x, New: x}})
		}
		for _, e := range events {
			packed := written(t, record.Config{}, e)[len(record.Header):]
			frame, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed[frameHead : frameHead+binary.LittleEndian.Uint32(packed)])))
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range bytes.Split(frame, []byte("secret"))[1:] {
				path, _, _ := bytes.Cut(found, []byte(";"))
				t.Errorf("a %T has %s", e, path)
			}
		}
	}
}

// TestDeviceStatus: a change of a driver's status of a device is in the recording, too.
func TestDeviceStatus(t *testing.T) {
	claim := func(data, message string) inbox.Event {
		return &inbox.Written{Claim: &resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{Devices: []resourcev1.AllocatedDeviceStatus{{
			Device: "d", Data: &runtime.RawExtension{Raw: []byte(data)}, Conditions: []metav1.Condition{{Type: "Ready", Message: message}},
		}}}}}
	}
	lines, err := read(t, written(t, record.Config{}, claim("1", "a"), claim("1", "a"), claim("2", "a"), claim("2", "b")))
	if err != nil || lines[0] != lines[1] || lines[1] == lines[2] || lines[2] == lines[3] {
		t.Errorf("%s, %v", strings.Join(lines, "\n"), err)
	}
}

// Package migration determines which volumes of in-tree plugins are served by a CSI driver
// (KEP-625), and translates them.
package migration

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/csi-translation-lib/plugins"
	"k8s.io/klog/v2"
)

// Served reports whether a CSI driver serves the volumes of an in-tree plugin in
// Kubernetes v1.37, as far as the scheduler is concerned.
func Served(inTree string) bool {
	switch inTree {
	case plugins.AWSEBSInTreePluginName, plugins.GCEPDInTreePluginName, plugins.AzureDiskInTreePluginName,
		plugins.CinderInTreePluginName, plugins.PortworxVolumePluginName:
		return true
	}
	return false
}

// OnNode reports whether a node's CSINode declares that it uses the CSI driver for an in-tree
// plugin.
func OnNode(inTree string, node *storagev1.CSINode) bool {
	if node == nil {
		return false
	}
	return slices.Contains(strings.Split(node.Annotations[v1.MigratedPluginsAnnotationKey], ","), inTree)
}

// InTree returns the in-tree plugin of a volume; false for a volume that no CSI driver can
// serve.
func InTree(pv *v1.PersistentVolume) (string, bool) {
	name, err := csitranslation.New().GetInTreePluginNameFromSpec(pv, nil)
	return name, err == nil
}

// Translate returns a copy of a volume as its CSI driver sees it.
func Translate(pv *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	return csitranslation.New().TranslateInTreePVToCSI(klog.Logger{}, pv)
}

// Provisioner returns the CSI driver for the provisioner of a storage class: the provisioner
// itself unless it is an in-tree plugin; false for an in-tree plugin that no driver serves.
func Provisioner(name string) (driver string, ok bool) {
	t := csitranslation.New()
	if !t.IsMigratableIntreePluginByName(name) {
		return name, true
	}
	if !Served(name) {
		return "", false
	}
	driver, err := t.GetCSINameFromInTreeName(name)
	return driver, err == nil
}

// Inline returns the in-tree plugin of an inline volume of a pod; false for a volume that no
// CSI driver can serve.
func Inline(v *v1.Volume) (inTree string, ok bool) {
	switch {
	case v.Projected != nil, v.ConfigMap != nil, v.Secret != nil, v.EmptyDir != nil, v.DownwardAPI != nil, v.HostPath != nil:
		return "", false // the fast path for nearly all volumes
	}
	inTree, err := csitranslation.New().GetInTreePluginNameFromSpec(nil, v)
	return inTree, err == nil
}

// TranslateInline returns an inline volume as its CSI driver sees it.
func TranslateInline(v *v1.Volume, namespace string) (*v1.PersistentVolume, error) {
	pv, err := csitranslation.New().TranslateInTreeInlineVolumeToCSI(klog.Logger{}, v, namespace)
	if err != nil {
		return nil, fmt.Errorf("converting volume(%s) from inline to csi: %w", v.Name, err)
	}
	return pv, nil
}

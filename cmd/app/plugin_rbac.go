package app

import (
	"fmt"
	"io"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi/wire"
)

// printRules prints the ClusterRole that lets Berth watch the objects that a module reads.
func printRules(w io.Writer, m *wire.Manifest) error {
	rights := m.Rights()
	if len(rights.Objects) == 0 {
		_, err := fmt.Fprintf(w, "# %s reads no objects: it needs no rules.\n", m.Name)
		return err
	}
	role := rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: "berth:objects:" + m.Name},
	}
	for _, resource := range rights.Objects {
		plural, group, _ := strings.Cut(resource, ".")
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{plural}, Verbs: []string{"list", "watch"}})
	}
	out, err := yaml.Marshal(&role)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "# Bind it to Berth's user, such as the service account of its Deployment.\n%s", out)
	return err
}

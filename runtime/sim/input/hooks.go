package input

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// laterHook returns the hook of Helm for which an object is made at another time than an installation, such as test; "" for other
// objects. An object that an API server has seen is there, whatever made it.
func laterHook(m *metav1.ObjectMeta) (later string) {
	if m.UID != "" {
		return ""
	}
	for hook := range strings.SplitSeq(m.Annotations["helm.sh/hook"], ",") {
		switch hook = strings.TrimSpace(hook); hook {
		case "pre-install", "post-install":
			return ""
		case "test", "test-success", "test-failure", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback":
			later = hook
		}
	}
	return later
}

package config

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// defaultBindTimeout is how long PreBind waits for volumes, in seconds.
const defaultBindTimeout int64 = 600

// defaultVolumes sets the default timeout. There is no default shape, as in kube-scheduler
// without the feature gate StorageCapacityScoring; without a shape there are no scores.
func defaultVolumes(a *configv1.VolumeBindingArgs) {
	if a.BindTimeoutSeconds == nil {
		seconds := defaultBindTimeout
		a.BindTimeoutSeconds = &seconds
	}
}

// checkVolumes requires a timeout of 0 or more, and checks the shape by kube-scheduler's rules
// for the feature gate. Without the gate kube-scheduler refuses any shape; here a shape turns
// the scores on.
func checkVolumes(r *report, path *field.Path, a *configv1.VolumeBindingArgs) {
	const most = int64(math.MaxInt64 / time.Second)
	if seconds := *a.BindTimeoutSeconds; seconds < 0 || seconds > most {
		r.add(path.Child("bindTimeoutSeconds"), fmt.Sprintf("%d is not a valid timeout", seconds), fmt.Sprintf("give 0 to %d seconds", most))
	}
	if a.Shape != nil {
		checkShape(r, path.Child("shape"), a.Shape)
	}
}

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

// defaultVolumes sets the default timeout, and the default shape, with which nodes score the higher the less of
// their storage is used (KEP-4049).
func defaultVolumes(cat Catalog) func(a *configv1.VolumeBindingArgs) {
	return func(a *configv1.VolumeBindingArgs) {
		if a.BindTimeoutSeconds == nil {
			seconds := defaultBindTimeout
			a.BindTimeoutSeconds = &seconds
		}
		if len(a.Shape) == 0 && !cat.NoStorageScores {
			a.Shape = []configv1.UtilizationShapePoint{{Utilization: 0, Score: maxShapeScore}, {Utilization: 100, Score: 0}}
		}
	}
}

// checkVolumes requires a timeout of 0 or more, and checks the shape.
func checkVolumes(cat Catalog) func(r *report, path *field.Path, a *configv1.VolumeBindingArgs) {
	const most = int64(math.MaxInt64 / time.Second)
	return func(r *report, path *field.Path, a *configv1.VolumeBindingArgs) {
		if seconds := *a.BindTimeoutSeconds; seconds < 0 || seconds > most {
			r.add(path.Child("bindTimeoutSeconds"), fmt.Sprintf("%d is not a valid timeout", seconds), fmt.Sprintf("give 0 to %d seconds", most))
		}
		if a.Shape != nil || !cat.NoStorageScores {
			checkShape(r, path.Child("shape"), a.Shape)
		}
	}
}

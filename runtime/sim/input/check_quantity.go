package input

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	helper "k8s.io/component-helpers/resource"
)

// maxAmount is the maximum amount of one resource of one object, CPU in thousandths. Sums of
// such amounts fit in an int64.
const maxAmount = 1 << 62

// quantities refuses negative amounts, amounts above maxAmount, invalid names, and fractions of
// resources that are counted. Names with a domain are extended resources.
func (c *checker) quantities(path string, list v1.ResourceList) {
	var wrong []v1.ResourceName
	for name, q := range list {
		if q.Sign() < 0 || len(validation.IsQualifiedName(string(name))) > 0 || tooLarge(name, q) || !whole(name, q) {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	for _, name := range wrong {
		q, at := list[name], path+"["+string(name)+"]"
		switch {
		case !c.key(at, string(name)):
		case q.Sign() < 0 && endless(q):
			c.bad(at, "it is negative", "write 0 or more")
		case q.Sign() < 0:
			c.bad(at, q.String()+" is negative", "write 0 or more")
		case tooLarge(name, q):
			c.tooLarge(at, name)
		default:
			c.bad(at, q.String()+" is not a whole number", "write a whole number, for "+string(name)+" cannot be divided")
		}
	}
}

// tooLarge reports whether a quantity is above maxAmount.
func tooLarge(name v1.ResourceName, q resource.Quantity) bool {
	if n, ok := q.AsInt64(); ok { // the common case
		return n > most(name)
	}
	if endless(q) {
		return q.Sign() > 0
	}
	limit := resource.NewQuantity(maxAmount, resource.DecimalSI)
	if name == v1.ResourceCPU {
		limit = resource.NewMilliQuantity(maxAmount, resource.DecimalSI)
	}
	return q.Cmp(*limit) > 0
}

// endless reports whether the quantity, such as 1e999999999, has so many digits that comparing
// or printing it would take minutes.
func endless(q resource.Quantity) bool { return q.AsDec().Scale() < -100 }

// most returns the largest whole number that is not tooLarge.
func most(name v1.ResourceName) int64 {
	if name == v1.ResourceCPU {
		return maxAmount / 1000
	}
	return maxAmount
}

// tooLarge reports an amount that is too large. It does not repeat the value, which may be very
// long, and which the type may have cut.
func (c *checker) tooLarge(path string, name v1.ResourceName) {
	c.bad(path, fmt.Sprintf("it is above the maximum, %d", most(name)), "write a smaller quantity")
}

func whole(name v1.ResourceName, q resource.Quantity) bool {
	return divisible(name) || q.Cmp(*resource.NewQuantity(q.Value(), q.Format)) == 0
}

// divisible reports whether a resource may be requested in thousandths.
func divisible(name v1.ResourceName) bool {
	domain, _, extended := strings.Cut(string(name), "/")
	if extended && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io") {
		return false
	}
	return name != v1.ResourcePods
}

// sums refuses a pod whose total requests are too large, including resized containers.
// Quantities have no limit; the scheduler's integers do.
func (c *checker) sums(p *v1.Pod) {
	if len(c.errs) > 0 {
		return
	}
	options := helper.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true} // as in state.NewPod
	var wrong []v1.ResourceName
	for name, q := range helper.PodRequests(p, options) {
		if tooLarge(name, q) {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	for _, name := range wrong {
		c.bad("spec.containers", fmt.Sprintf("the total requests of %s are above the maximum, %d", name, most(name)), "write smaller quantities")
	}
}

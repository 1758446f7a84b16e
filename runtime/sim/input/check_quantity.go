package input

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

// quantities refuses negative amounts, and fractions of resources that are counted. Names with a
// domain are extended resources.
func (c *checker) quantities(path string, list v1.ResourceList) {
	var wrong []v1.ResourceName
	for name, q := range list {
		if q.Sign() < 0 || !whole(name, q.DeepCopy()) {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	for _, name := range wrong {
		q, at := list[name], path+"["+string(name)+"]"
		switch {
		case q.Sign() < 0 && quantity.Endless(q):
			c.bad(at, "it is negative", "write 0 or more")
		case q.Sign() < 0:
			c.bad(at, q.String()+" is negative", "write 0 or more")
		default:
			c.bad(at, q.String()+" is not a whole number", "write a whole number, for "+string(name)+" cannot be divided")
		}
	}
}

// resourceNames refuses invalid names of what a pod requests. A node may report any.
func (c *checker) resourceNames(path string, list v1.ResourceList) {
	var wrong []string
	for name := range list {
		if len(validation.IsQualifiedName(string(name))) > 0 {
			wrong = append(wrong, string(name))
		}
	}
	slices.Sort(wrong)
	for _, name := range wrong {
		c.key(path+"["+name+"]", name)
	}
}

// whole reports whether a quantity is a whole number, or of a resource that has fractions. Like the
// API server, it looks at thousandths.
func whole(name v1.ResourceName, q resource.Quantity) bool {
	return divisible(name) || quantity.Whole(q) > resource.MaxMilliValue || quantity.Milli(q)%1000 == 0
}

// divisible reports whether a resource may be requested in thousandths: all but pods and extended
// resources (pkg/apis/core/helper of k8s.io/kubernetes).
func divisible(name v1.ResourceName) bool {
	s := string(name)
	extended := strings.Contains(s, "/") && !strings.Contains(s, v1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(s, v1.DefaultResourceRequestsPrefix) && len(validation.IsQualifiedName(v1.DefaultResourceRequestsPrefix+s)) == 0
	return !extended && name != v1.ResourcePods
}

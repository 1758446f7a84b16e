package app

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/runtime/equivalence"
)

// reuseMemory is the flag that bounds the answers of plugins that are kept.
type reuseMemory struct{ quantity string }

func (o *reuseMemory) flag(f *pflag.FlagSet) {
	f.StringVar(&o.quantity, "reuse-memory", "auto", "memory for answers of plugins that are kept for equivalent pods, as a `QUANTITY`; "+
		"auto for 32Mi and 4Ki for each node, 0 to ask every time")
}

func (o *reuseMemory) config() (equivalence.Config, error) {
	if o.quantity == "auto" {
		return equivalence.Default(), nil
	}
	q, err := resource.ParseQuantity(o.quantity)
	if err != nil || q.Sign() < 0 {
		return equivalence.Config{}, fmt.Errorf("--reuse-memory: %q is not a size: write 256Mi, 0 or auto", o.quantity)
	}
	return equivalence.Config{Bytes: q.Value()}, nil
}

package app

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/config"
)

// gateOptions holds kube-scheduler's flag for feature gates.
type gateOptions struct {
	given []string
	gates config.Gates // that parse read
}

func (o *gateOptions) flag(f *pflag.FlagSet) {
	f.StringSliceVar(&o.given, "feature-gates", nil, "kube-scheduler's feature `GATES`, as in "+config.TolerationOperators+"=true")
}

// parse checks the flag.
func (o *gateOptions) parse() (warnings []config.Warning, err error) {
	if o.gates, warnings, err = config.ParseGates(o.given); err != nil {
		return nil, fmt.Errorf("--feature-gates: %w", err)
	}
	for i := range warnings {
		warnings[i].Detail = "--feature-gates: " + warnings[i].Detail
	}
	return warnings, nil
}

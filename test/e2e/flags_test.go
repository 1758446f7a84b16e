package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// knowsFlags starts Berth with each flag of kube-scheduler: flags that it does not have are
// rejected with what to do instead.
func knowsFlags(t *testing.T) {
	bin := start(t).Binaries().Berth
	flags := options.NewOptions().Flags
	n := 0
	for _, set := range flags.FlagSets {
		set.VisitAll(func(f *pflag.Flag) {
			n++
			out, err := exec.CommandContext(t.Context(), bin, "run", "--kubeconfig=/does/not/exist", "--"+f.Name+"="+f.DefValue).CombinedOutput()
			if text := string(out); err == nil || strings.Contains(text, "unknown flag") {
				t.Errorf("--%s: %v: %s", f.Name, err, text)
			}
		})
	}
	if n < 50 {
		t.Errorf("kube-scheduler has %d flags, want more", n)
	}
}

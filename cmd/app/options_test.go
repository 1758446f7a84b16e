package app

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// TestOptionsRefused: a program whose plugins cannot be used does nothing at all, and says what to do.
func TestOptionsRefused(t *testing.T) {
	hosted := func(context.Context, runtime.Object, framework.Handle) (framework.Plugin, error) { panic("made") }
	own := func(any) (plugin.Plugin, error) { panic("made") }
	for name, c := range map[string]struct {
		options []Option
		want    []string
	}{
		"fine":       {options: []Option{WithPlugin("A", hosted), WithHostPlugin("B", own)}},
		"nameless":   {[]Option{WithPlugin("", hosted)}, []string{`berth: app.WithPlugin: "" is not a name of a plugin: give the name`}},
		"nil":        {[]Option{WithPlugin("A", nil), WithHostPlugin("B", nil)}, []string{`berth: app.WithPlugin: the factory of "A" is nil`, `berth: app.WithHostPlugin: the factory of "B" is nil`}},
		"twice":      {[]Option{WithPlugin("A", hosted), WithHostPlugin("A", own)}, []string{`berth: app.WithHostPlugin: a plugin "A" is compiled in already: leave one out`}},
		"default":    {[]Option{WithPlugin("NodeName", hosted)}, []string{`berth: the plugin "NodeName" that is compiled in has the name of one of kube-scheduler's: give it another name`}},
		"not in 1.0": {[]Option{WithPlugin("GangScheduling", hosted)}, []string{`berth: the plugin "GangScheduling" that is compiled in has the name`}},
	} {
		for _, args := range [][]string{nil, {"version"}, {"simulate", "--cluster", "testdata/cluster"}, {"run"}, {"config", "check", "x"}, {compileCommand}} {
			if c.want == nil && len(args) > 0 && args[0] != "version" && args[0] != "simulate" {
				continue
			}
			var stdout, stderr bytes.Buffer
			status := execute(t.Context(), Command(c.options...), args, &stdout, &stderr)
			if (status == exitOK) != (c.want == nil) {
				t.Errorf("%s: %q: status %d: %s", name, args, status, &stderr)
			}
			lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			if c.want != nil && (len(lines) != len(c.want) || stdout.Len() > 0) {
				t.Errorf("%s: %q: printed %s%s", name, args, &stdout, &stderr)
				continue
			}
			for i, want := range c.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("%s: %q: got %s\nwant %s", name, args, lines[i], want)
				}
			}
		}
	}
}

// TestWithVersion: the version of another program, or dev.
func TestWithVersion(t *testing.T) {
	for version, want := range map[string]string{"": "berth dev, ABI 1.2\n", "v1.2-mine": "berth v1.2-mine, ABI 1.2\n"} {
		var out bytes.Buffer
		if execute(t.Context(), Command(WithVersion(version)), []string{"version"}, &out, &out); out.String() != want {
			t.Errorf("%q, want %q", &out, want)
		}
	}
}

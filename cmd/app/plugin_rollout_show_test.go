package app

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestRolloutShown: the command prints the conditions, the versions, the step and the history of an object.
func TestRolloutShown(t *testing.T) {
	const status = `{
		"observedGeneration": 0, "observed": "12 attempts, 5.0% of all; 0 with faults, 1 left pending",
		"conditions": [
			{"type":"Ready","status":"True","reason":"Running","message":"the plugin runs"},
			{"type":"RolledOut","status":"Unknown","reason":"Progressing","message":"step 2 of 3: the new version decides for 5% of the pods"}],
		"rollout": {
			"stable":{"module":{"image":"r.test/p:1"},"digest":"sha256:1"},
			"canary":{"module":{"image":"r.test/p:2"},"digest":"sha256:2","step":2,"percent":5,"since":"2020-01-01T00:00:00Z"},
			"history":[{"at":"2020-01-01T00:00:00Z","what":"Started","digest":"sha256:2","percent":1},{"at":"2020-01-01T00:00:00Z","what":"Advanced","digest":"sha256:2","percent":5,"message":"at 1%: 300 attempts"}]}}`
	ask := func(spec, status string, args ...string) string {
		kubeconfig, patches := pluginAPI(t, spec, status)
		var out bytes.Buffer
		root := Command()
		root.SetOut(&out)
		root.SetErr(io.Discard)
		root.SilenceErrors, root.SilenceUsage = true, true
		root.SetArgs(append([]string{"plugin", "rollout", "--kubeconfig", kubeconfig}, args...))
		if err := root.ExecuteContext(t.Context()); err != nil {
			out.WriteString("error: " + err.Error())
		}
		if len(*patches) > 0 {
			t.Errorf("it wrote %q", *patches)
		}
		return out.String()
	}
	text := ask(`{"rollout":{"steps":[{"percent":1},{"percent":5,"pause":"90s","minAttempts":70},{"percent":50}]}}`, status, "team-a/pool")
	for _, want := range []string{
		"Ready is True, Running: the plugin runs\n", "RolledOut is Unknown, Progressing: step 2 of 3: the new version decides for 5% of the pods\n",
		"stable   r.test/p:1  sha256:1  95%", "canary   r.test/p:2  sha256:2  5%", "It takes at least 90s and 70 attempts.\n", "Observed, up to 30 seconds ago: 12 attempts, 5.0% of all",
		"Advanced  sha256:2           5%  at 1%: 300 attempts\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if advanced, started := strings.Index(text, "Advanced"), strings.Index(text, "Started"); advanced > started {
		t.Errorf("the latest change is not the first:\n%s", text)
	}
	if got := ask(`{}`, `{}`, "zones"); got != "zones has no status yet: no scheduler that leads has seen it.\n" {
		t.Errorf("%q", got)
	}
	if got := ask(`{}`, strings.Replace(status, `"observedGeneration": 0`, `"observedGeneration": 3`, 1), "zones"); !strings.HasPrefix(got, "The object has changed") {
		t.Errorf("%q", got)
	}
	if got := ask(`{}`, status, "zones", "-o", "json"); !strings.Contains(got, `"reason": "Progressing"`) {
		t.Errorf("%q", got)
	}
	if got := ask(`{}`, status); got != "error: name one PLUGIN: a SchedulerPlugin, or NAMESPACE/NAME of a TenantPlugin" {
		t.Errorf("%q", got)
	}
}

package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// pluginAPI serves plugins, and keeps the patches of them. team-a/stopped was disabled by --all.
func pluginAPI(t *testing.T, spec, status string) (kubeconfig string, patches *[]string) {
	t.Helper()
	patches = new([]string)
	object := func(kind, metadata string) string {
		return fmt.Sprintf(`{"apiVersion":"berth.dev/v1alpha1","kind":%q,"metadata":{%s"resourceVersion":"7"},"spec":%s,"status":%s}`, kind, metadata, spec, status)
	}
	platform, tenant := object("SchedulerPlugin", `"name":"zones",`), object("TenantPlugin", `"namespace":"team-a","name":"pool","annotations":{"a":"b"},`)
	marked := object("SchedulerPlugin", `"name":"marked","annotations":{"berth.dev/before-disable":"{\"mode\":\"Shadow\",\"whenDisabled\":\"Hold\",\"wrote\":\"Release\"}"},`)
	applied := object("SchedulerPlugin", `"name":"applied","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"kind\":\"SchedulerPlugin\",\"spec\":`+strings.ReplaceAll(spec, `"`, `\"`)+`}"},`)
	stopped := object("TenantPlugin", `"namespace":"team-a","name":"stopped","annotations":{"berth.dev/before-disable":"{\"all\":true}"},`)
	mux := http.NewServeMux()
	for path, body := range map[string]string{
		"schedulerplugins/zones": platform, "schedulerplugins/marked": marked, "schedulerplugins/applied": applied, "namespaces/team-a/tenantplugins/pool": tenant, "namespaces/team-a/tenantplugins/stopped": stopped,
		"schedulerplugins": `{"items":[` + platform + `]}`, "tenantplugins": `{"items":[` + tenant + "," + stopped + `]}`,
	} {
		mux.HandleFunc("/apis/berth.dev/v1alpha1/"+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPatch {
				patch, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				*patches = append(*patches, fmt.Sprintf("%s by %s: %s", path, r.URL.Query().Get("fieldManager"), patch))
			}
			_, _ = io.WriteString(w, body)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return kubeconfigOf(t, server.URL), patches
}

// kubeconfigOf writes a kubeconfig without credentials.
func kubeconfigOf(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: x}}]\nclusters: [{name: x, cluster: {server: \"" + url + "\"}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestVerbMeanwhile: a verb whose object changes between its read and its patch, as the scheduler's status does, decides again. A patch
// that the API server refuses for another reason ends it.
func TestVerbMeanwhile(t *testing.T) {
	for _, test := range []struct {
		name    string
		refused int // the first patches
		changes bool
		patched int
		says    string
	}{
		{"twice", 2, true, 3, "zones: the plugin is stopped"},
		{"all the time", 100, true, mostTries, "rejected our request"},
		{"another reason", 100, false, 1, "rejected our request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			version, patched := 7, 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method == http.MethodPatch {
					if patched++; patched <= test.refused {
						if test.changes {
							version++
						}
						w.WriteHeader(http.StatusUnprocessableEntity)
						_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"the server rejected our request"}`)
						return
					}
				}
				_, _ = fmt.Fprintf(w, `{"apiVersion":"berth.dev/v1alpha1","kind":"SchedulerPlugin","metadata":{"name":"zones","resourceVersion":"%d"},"spec":{}}`, version)
			}))
			defer server.Close()
			var out bytes.Buffer
			root := Command()
			root.SetOut(&out)
			root.SetErr(io.Discard)
			root.SilenceErrors, root.SilenceUsage = true, true
			root.SetArgs([]string{"plugin", "disable", "zones", "--kubeconfig", kubeconfigOf(t, server.URL)})
			err := root.ExecuteContext(t.Context())
			says := out.String() + fmt.Sprint(err)
			if patched != test.patched || !strings.Contains(says, test.says) || (err == nil) != (test.patched > test.refused) {
				t.Errorf("%d patches, want %d: %s", patched, test.patched, says)
			}
		})
	}
}

// TestRolloutVerbs: each verb is one patch of the object that was read, which kubectl could send as well.
func TestRolloutVerbs(t *testing.T) {
	const (
		canary = `{"rollout":{"stable":{"module":{"image":"r.test/p:1@sha256:11"},"config":{"a":1},"digest":"sha256:1"},"canary":{"module":{"image":"r.test/p:2@sha256:22"},"digest":"sha256:2","step":1,"percent":5,"since":"2026-01-01T00:00:00Z"}}}`
		done   = `{"rollout":{"stable":{"module":{"image":"r.test/p:2"},"digest":"sha256:2"},"old":{"module":{"url":"https://r.test/p","digest":"sha256:1"},"digest":"sha256:1","until":"2026-01-01T00:00:00Z"}}}`
	)
	const zones, pool = "schedulerplugins/zones by berth-plugin-", "namespaces/team-a/tenantplugins/pool by berth-plugin-"
	const stopped = "namespaces/team-a/tenantplugins/stopped by berth-plugin-"
	const marked = "schedulerplugins/marked by berth-plugin-"
	const disabled = `{"op":"add","path":"/spec/mode","value":"Disabled"}`
	const test = `[{"op":"test","path":"/metadata/resourceVersion","value":"7"},`
	for name, c := range map[string]struct {
		spec, status, command string
		patches               []string
		says                  string
	}{
		"promote":               {`{"module":{"image":"r.test/p:2"}}`, canary, "promote zones", []string{zones + `promote: ` + test + `{"op":"add","path":"/spec/mode","value":"Enforce"},{"op":"add","path":"/spec/module/image","value":"r.test/p:2@sha256:22"}]`}, "zones: sha256:2 decides for all pods\n"},
		"another version since": {`{"module":{"image":"r.test/p:3"}}`, canary, "promote zones", nil, "error: zones: the object names another version than the canary, sha256:2: wait until status.rollout has it, or roll back"},
		"no canary":             {`{}`, done, "promote zones", nil, "error: zones: no canary decides for any pod, so there is nothing to promote: see status.rollout"},
		"pause":                 {`{}`, canary, "pause team-a/pool", []string{pool + `pause: ` + test + `{"op":"add","path":"/spec/rollout","value":{"paused":true}}]`}, "team-a/pool: the rollout is paused\n"},
		"resume":                {`{"rollout":{"paused":true}}`, canary, "pause zones --resume", []string{zones + `pause: ` + test + `{"op":"add","path":"/spec/rollout/paused","value":false}]`}, "zones: the rollout continues\n"},
		"rollback": {
			`{}`, canary, "rollback zones",
			[]string{zones + `rollback: ` + test + `{"op":"add","path":"/spec/module","value":{"image":"r.test/p:1@sha256:11"}},{"op":"add","path":"/spec/mode","value":"Enforce"},{"op":"add","path":"/spec/config","value":{"a":1}}]`},
			"zones: sha256:1 decides for all pods\n",
		},
		"rollback later": {
			`{}`, done, "rollback zones",
			[]string{zones + `rollback: ` + test + `{"op":"add","path":"/spec/module","value":{"url":"https://r.test/p","digest":"sha256:1"}},{"op":"add","path":"/spec/mode","value":"Enforce"},{"op":"add","path":"/spec/config","value":{}}]`},
			"zones: sha256:1 decides for all pods\n",
		},
		"nothing before": {`{}`, `{}`, "rollback zones", nil, "error: zones: there is no version to go back to: status.rollout has neither a canary nor an old version"},
		"disable": {
			`{}`, `{}`, "disable zones", []string{
				zones + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations","value":{"berth.dev/before-disable":"{}"}}]`,
			},
			"zones: the plugin is stopped, and its pods wait if its module can reject nodes or pods; if it only scores nodes, they are placed without it\n",
		},
		"disable what ignores": {
			`{"failurePolicy":"Ignore"}`, `{}`, "disable zones", []string{
				zones + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations","value":{"berth.dev/before-disable":"{}"}}]`,
			},
			"zones: the plugin is stopped, and its pods are placed without it\n",
		},
		"disable all": {
			`{}`, `{}`, "disable --all --release", []string{
				zones + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations","value":{"berth.dev/before-disable":"{\"wrote\":\"Release\",\"all\":true}"}},{"op":"add","path":"/spec/whenDisabled","value":"Release"}]`,
				pool + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations/berth.dev~1before-disable","value":"{\"wrote\":\"Release\",\"all\":true}"},{"op":"add","path":"/spec/whenDisabled","value":"Release"}]`,
				stopped + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations/berth.dev~1before-disable","value":"{\"wrote\":\"Release\",\"all\":true}"},{"op":"add","path":"/spec/whenDisabled","value":"Release"}]`,
			},
			"zones: the plugin is stopped, and its pods are placed without it\nteam-a/pool: the plugin is stopped, and its pods are placed without it\nteam-a/stopped: the plugin is stopped, and its pods are placed without it\n",
		},
		"disable all in shadow": {
			`{"mode":"Shadow"}`, `{}`, "disable --all", []string{
				zones + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations","value":{"berth.dev/before-disable":"{\"mode\":\"Shadow\",\"wrote\":\"Release\",\"all\":true}"}},{"op":"add","path":"/spec/whenDisabled","value":"Release"}]`,
				pool + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations/berth.dev~1before-disable","value":"{\"mode\":\"Shadow\",\"wrote\":\"Release\",\"all\":true}"},{"op":"add","path":"/spec/whenDisabled","value":"Release"}]`,
				stopped + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations/berth.dev~1before-disable","value":"{\"mode\":\"Shadow\",\"wrote\":\"Release\",\"all\":true}"},{"op":"add","path":"/spec/whenDisabled","value":"Release"}]`,
			},
			"zones: the plugin is stopped, and its pods are placed without it\nteam-a/pool: the plugin is stopped, and its pods are placed without it\nteam-a/stopped: the plugin is stopped, and its pods are placed without it\n",
		},
		"disable all again": {
			`{"mode":"Disabled","whenDisabled":"Hold"}`, `{}`, "disable --all", nil,
			"zones: the plugin is disabled already, and its pods wait\nteam-a/pool: the plugin is disabled already, and its pods wait\nteam-a/stopped: the plugin is disabled already, and its pods wait\n",
		},
		"disable again": {
			`{"mode":"Disabled","whenDisabled":"Release"}`, `{}`, "disable zones", nil,
			"zones: the plugin is disabled already, and its pods are placed without it\n",
		},
		"release what is disabled": {
			`{"mode":"Disabled"}`, `{}`, "disable team-a/stopped --release", []string{
				stopped + `disable: ` + test + `{"op":"add","path":"/metadata/annotations/berth.dev~1before-disable","value":"{\"wrote\":\"Release\"}"},{"op":"add","path":"/spec/whenDisabled","value":"Release"}]`,
			},
			"team-a/stopped: the plugin is stopped, and its pods are placed without it\n",
		},
		"enable all": {
			`{"mode":"Disabled"}`, `{}`, "disable --all --undo", []string{
				stopped + `disable: ` + test + `{"op":"remove","path":"/spec/mode"},{"op":"remove","path":"/metadata/annotations/berth.dev~1before-disable"}]`,
			},
			"zones: the plugin was disabled before --all and stays disabled\nteam-a/pool: the plugin was disabled before --all and stays disabled\nteam-a/stopped: the plugin decides again\n",
		},
		"enable all, none is disabled": {
			`{}`, `{}`, "disable --all --undo", nil,
			"zones: the plugin was not disabled\nteam-a/pool: the plugin was not disabled\nteam-a/stopped: the plugin was not disabled\n",
		},
		"disable by name since": {
			`{"mode":"Disabled"}`, `{}`, "disable team-a/stopped", []string{
				stopped + `disable: ` + test + `{"op":"add","path":"/metadata/annotations/berth.dev~1before-disable","value":"{}"}]`,
			},
			"team-a/stopped: the plugin is stopped, and its pods wait if its module can reject nodes or pods; if it only scores nodes, they are placed without it\n",
		},
		"released long ago": {
			`{"whenDisabled":"Release"}`, `{}`, "disable marked", []string{
				marked + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations/berth.dev~1before-disable","value":"{\"whenDisabled\":\"Hold\",\"wrote\":\"Hold\"}"},{"op":"add","path":"/spec/whenDisabled","value":"Hold"}]`,
			},
			"marked: the plugin is stopped, and its pods wait\n",
		},
		"released by the spec": {
			`{"whenDisabled":"Release"}`, `{}`, "disable zones", []string{
				zones + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations","value":{"berth.dev/before-disable":"{\"whenDisabled\":\"Release\",\"wrote\":\"Release\"}"}}]`,
			},
			"zones: the plugin is stopped, and its pods are placed without it\n",
		},
		"held by the spec since": {
			`{"whenDisabled":"Hold"}`, `{}`, "disable team-a/stopped --release", []string{
				stopped + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations/berth.dev~1before-disable","value":"{\"whenDisabled\":\"Hold\",\"wrote\":\"Release\"}"},{"op":"add","path":"/spec/whenDisabled","value":"Release"}]`,
			},
			"team-a/stopped: the plugin is stopped, and its pods are placed without it\n",
		},
		"enable": {
			`{"mode":"Disabled"}`, `{}`, "disable zones --undo", []string{
				zones + `disable: ` + test + `{"op":"add","path":"/spec/mode","value":"Enforce"}]`,
			},
			"zones: the plugin decides again\n",
		},
		"enable in a rollout": {
			`{"mode":"Disabled","module":{"image":"r.test/p:2"}}`, canary, "disable team-a/stopped --undo", []string{
				stopped + `disable: ` + test + `{"op":"add","path":"/spec/mode","value":"Canary"},{"op":"remove","path":"/metadata/annotations/berth.dev~1before-disable"}]`,
			},
			"team-a/stopped: sha256:1 decides again, and the rollout starts from its first step\n",
		},
		"enable after one": {
			`{"mode":"Disabled","module":{"image":"r.test/p:2"}}`, done, "disable zones --undo", []string{
				zones + `disable: ` + test + `{"op":"add","path":"/spec/mode","value":"Enforce"}]`,
			},
			"zones: the plugin decides again\n",
		},
		"disable in shadow": {
			`{"mode":"Shadow","whenDisabled":"Hold"}`, `{}`, "disable zones", []string{
				zones + `disable: ` + test + disabled + `,{"op":"add","path":"/metadata/annotations","value":{"berth.dev/before-disable":"{\"mode\":\"Shadow\",\"whenDisabled\":\"Hold\",\"wrote\":\"Hold\"}"}}]`,
			},
			"zones: the plugin is stopped, and its pods wait\n",
		},
		"enable in shadow": {
			`{"mode":"Disabled","whenDisabled":"Release"}`, `{}`, "disable marked --undo", []string{
				marked + `disable: ` + test + `{"op":"add","path":"/spec/mode","value":"Shadow"},{"op":"remove","path":"/metadata/annotations/berth.dev~1before-disable"},{"op":"add","path":"/spec/whenDisabled","value":"Hold"}]`,
			},
			"marked: the plugin is tried again\n",
		},
		"enable, held by hand since": {
			`{"mode":"Disabled","whenDisabled":"Hold"}`, `{}`, "disable marked --undo", []string{
				marked + `disable: ` + test + `{"op":"add","path":"/spec/mode","value":"Shadow"},{"op":"remove","path":"/metadata/annotations/berth.dev~1before-disable"}]`,
			},
			"marked: the plugin is tried again\n",
		},
		"contradiction": {`{}`, `{}`, "disable zones --hold --release", nil, "error: name at most one of --hold, --release and --undo"},
		"not stopped":   {`{}`, `{}`, "disable zones --undo", nil, "error: zones: the plugin is not disabled"},
		"print": {
			`{}`, `{}`, "disable team-a/pool --hold --print", nil,
			`kubectl patch tenantplugin -n team-a pool --type json -p '[` + disabled + `,{"op":"add","path":"/metadata/annotations/berth.dev~1before-disable","value":"{\"wrote\":\"Hold\"}"},{"op":"add","path":"/spec/whenDisabled","value":"Hold"}]'` + "\n",
		},
		"which":  {`{}`, `{}`, "disable", nil, "error: name one PLUGIN: a SchedulerPlugin, or NAMESPACE/NAME of a TenantPlugin; or --all"},
		"both":   {`{}`, `{}`, "disable zones --all", nil, "error: name one PLUGIN: a SchedulerPlugin, or NAMESPACE/NAME of a TenantPlugin; or --all"},
		"odd":    {`{}`, `{}`, "pause a/b/c", nil, "error: name one PLUGIN: a SchedulerPlugin, or NAMESPACE/NAME of a TenantPlugin"},
		"absent": {`{}`, `{}`, "promote other", nil, "error: the server could not find the requested resource"},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig, patches := pluginAPI(t, c.spec, c.status)
			var out bytes.Buffer
			root := Command()
			root.SetOut(&out)
			root.SetErr(io.Discard)
			root.SilenceErrors, root.SilenceUsage = true, true
			root.SetArgs(append([]string{"plugin"}, append(strings.Fields(c.command), "--kubeconfig", kubeconfig)...))
			err := root.ExecuteContext(t.Context())
			got := out.String()
			if err != nil {
				got += "error: " + err.Error()
			}
			if strings.HasPrefix(c.says, "error: the server") { // what follows is client-go's
				got = got[:min(len(got), len(c.says))]
			}
			if got != c.says {
				t.Errorf("%q, want %q", got, c.says)
			}
			if fmt.Sprint(*patches) != fmt.Sprint(c.patches) {
				t.Errorf("patches\n%s\nwant\n%s", strings.Join(*patches, "\n"), strings.Join(c.patches, "\n"))
			}
			for _, patch := range *patches {
				_, text, _ := strings.Cut(patch, ": ")
				if !json.Valid([]byte(text)) {
					t.Errorf("%s is no JSON", text)
				}
			}
		})
	}
}

// TestNextApply: what promote and rollback wrote does not outlive the next kubectl apply.
func TestNextApply(t *testing.T) {
	const (
		applied = `{"apiVersion":"berth.dev/v1alpha1","kind":"SchedulerPlugin","metadata":{"name":"zones"},"spec":{"config":{"b":1},"mode":"Canary","module":{"image":"r.test/p:2"}}}`
		next    = `{"apiVersion":"berth.dev/v1alpha1","kind":"SchedulerPlugin","metadata":{"name":"zones"},"spec":{"config":{"c":1},"mode":"Canary","module":{"image":"r.test/p:3"}}}`
		plain   = `{"apiVersion":"berth.dev/v1alpha1","kind":"SchedulerPlugin","metadata":{"name":"zones"},"spec":{"module":{"image":"r.test/p:3"},"mode":"Canary"}}`
		status  = `{"rollout":{"stable":{"module":{"image":"r.test/p:1@sha256:11"},"config":{"a":{"x":1}},"digest":"sha256:1"},` +
			`"canary":{"module":{"image":"r.test/p:2@sha256:22"},"config":{"b":1},"digest":"sha256:2","step":1,"percent":5,"since":"2026-01-01T00:00:00Z"}}}`
	)
	for _, verb := range []string{"promote", "rollback"} {
		for _, file := range []string{next, plain} {
			kubeconfig, patches := pluginAPI(t, `{"config":{"b":1},"mode":"Canary","module":{"image":"r.test/p:2"}}`, status)
			root := Command()
			root.SetOut(io.Discard)
			root.SetArgs([]string{"plugin", verb, "applied", "--kubeconfig", kubeconfig})
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			var object, spec map[string]any
			if err := json.Unmarshal([]byte(applied), &object); err != nil {
				t.Fatal(err)
			}
			object["metadata"].(map[string]any)["annotations"] = map[string]any{lastApplied: applied}
			_, patch, _ := strings.Cut((*patches)[0], ": ")
			for _, c := range changes(t, patch) {
				at := object
				path := strings.Split(c.Path[1:], "/")
				for _, key := range path[:len(path)-1] {
					at = at[key].(map[string]any)
				}
				at[strings.ReplaceAll(path[len(path)-1], "~1", "/")] = c.Value
			}
			now, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			noted := object["metadata"].(map[string]any)["annotations"].(map[string]any)[lastApplied].(string)
			merge, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(noted), []byte(file), now) // as kubectl apply does
			if err != nil {
				t.Fatal(err)
			}
			after, err := jsonpatch.MergePatch(now, merge)
			if err == nil {
				err = json.Unmarshal(after, &object)
			}
			if err == nil {
				err = json.Unmarshal([]byte(file), &spec)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := object["spec"]; !reflect.DeepEqual(got, spec["spec"]) {
				t.Errorf("after %s and %s the spec is %v", verb, file, got)
			}
		}
	}
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// changes are those of a patch, without the first one, which tests the object's version.
func changes(t *testing.T, patch string) (out []kube.Change) {
	t.Helper()
	if err := json.Unmarshal([]byte(patch), &out); err != nil || len(out) < 2 {
		t.Fatalf("%v: %s", err, patch)
	}
	return out[1:]
}

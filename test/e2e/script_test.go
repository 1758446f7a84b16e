package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// patience is how long a script waits. It is long enough for a busy machine and short compared
// with kube-scheduler's flush of unschedulable pods (5 minutes), so that a missed event is a
// failure.
const patience = 45 * time.Second

// profile is kube-scheduler's default one.
const profile = `
profiles:
- schedulerName: default-scheduler
`

// TestUpstream runs the scripts in testdata/upstream, whose expected output is kube-scheduler's
// (-rewrite): events, conditions and nominations, verbatim.
func TestUpstream(t *testing.T) {
	if golden.Rewriting() && program() != cluster.UpstreamProgram {
		t.Fatal("-rewrite records what kube-scheduler does here: add -scheduler kube-scheduler")
	}
	c := start(t)
	scripts(serial{t}, func(*testing.T) *cluster.Cluster { return c }, filesOf(t, "upstream"))
}

// stories are scripts that mostly wait for the status of objects, which is written every 30
// seconds at most.
var stories = []string{"companies", "rollouts", "tenants"}

// berthScripts runs the scripts in testdata/berth, for features that only Berth has.
func berthScripts(t *testing.T) {
	isStory := func(file string) bool {
		return slices.Contains(stories, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	}
	all := filesOf(t, "berth")
	c := start(t)
	scripts(serial{t}, func(*testing.T) *cluster.Cluster { return c }, slices.DeleteFunc(slices.Clone(all), isStory))
	scripts(parallel{serial{t}}, own, slices.DeleteFunc(all, func(file string) bool { return !isStory(file) }))
}

func filesOf(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}

// scripts runs scripts on the cluster that on returns. Each has a namespace of its own, named as the script, $BERTH is
// the program to run others of its commands, $ADMIN a kubeconfig that may do everything, and $DEPLOY the folder deploy. Commands besides testscript's own, where FILE is one of the script and KIND is as in "pod":
//
//	scheduler [FILE [FLAG …]]    start the scheduler, with the default profile or a configuration; $VARIABLES are replaced;
//	                             it has the rights of $SCHEDULER_USER, kube-scheduler's if empty
//	program FOLDER               run the program of a folder of this repository, a module that embeds Berth, in place of Berth
//	sigterm                      end the scheduler with SIGTERM
//	sigkill                      end the scheduler with SIGKILL
//	apply FILE …                 create or change objects, also of kinds that are installed a moment later; $VARIABLES are replaced
//	patch KIND NAME JSON [SUB]   change an object, or a subresource of it
//	delete KIND NAME             delete an object at once
//	await STATE POD …            wait until pods are placed, bound, rejected, nominated, leaving, gone, preempted
//	rejected POD TEXT            wait until the reason why a pod fits nowhere contains a text
//	reserved VOLUME              wait until the scheduler has chosen the claim of a volume
//	nothing                      wait a second in which nothing is to happen
//	report POD …                 print what the scheduler made of pods
//	extender                     start an HTTP extender at $EXTENDER
//	module EXAMPLE VERSION FILE [FEED …]
//	                             build a plugin of wasm-examples, which requires feeds; its digest is in $DIGEST
//	logged TEXT [TIMES]          wait until the scheduler has logged a text, and require how often
//	expand FILE …                replace $VARIABLES in files
//	answers PATH RE              wait until what the scheduler serves at $PORT matches
//	files                        serve the script's files over HTTP at $FILES
//	registry FILE …              serve plugins as an OCI registry does, at $REGISTRY/FILE:v1, without .wasm
//	serve                        run berth registry serve at $REGISTRY
//	publish FILE VERSION KEY     push a module as $REGISTRY/tenant-pool:VERSION, and sign it
//	kinds                        install the kinds of berth.dev, until the script ends
//	ready KIND NAME REASON [RE]  wait until the condition Ready of an object has a reason, and print the status
//	indented VARIABLE FILE       set a variable to a file's text, indented by ten spaces
//	load RATE                    create so many pods in a second, until the script ends
//	placed NAMESPACE POD         wait until a pod of another namespace is bound
//	unseen TEXT POD SOCKET       require that nothing about the namespace has a text of another one's pod
//	foreign                      serve another project's registry at $REGISTRY, and at $HANGING one that never answers
//	user NAME                    act as a user from now on; $KUBECONFIG is the user's
//	port                         set $PORT to a free one
//	until RE PROGRAM ARG …       run a program until what it prints matches
//	told POD TEXT                wait until a condition or an event of a pod has a text, and print all of them
//	metrics SOCKET               print the metrics that Berth serves at its debug socket
//
// ready and await wait for at most $WITHIN, if it is set.
func scripts(t testscript.T, on func(*testing.T) *cluster.Cluster, files []string) {
	testscript.RunT(t, testscript.Params{
		Files: files, UpdateScripts: golden.Rewriting(), RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error { return setup(env, on(env.T().(serial).T)) },
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"program": command((*script).program), "scheduler": command((*script).scheduler), "sigkill": command((*script).sigkill), "sigterm": command((*script).sigterm),
			"apply": command((*script).apply), "patch": command((*script).patch), "delete": command((*script).delete),
			"await": command((*script).await), "rejected": command((*script).rejected), "reserved": command((*script).reserved),
			"nothing": command((*script).nothing), "report": command((*script).report), "extender": command((*script).extender),
			"module": command((*script).module), "logged": command((*script).logged),
			"files": command((*script).files), "registry": command((*script).registry), "metrics": command((*script).metrics),
			"serve": command((*script).serve), "publish": command((*script).publish), "kinds": command((*script).kinds), "ready": command((*script).ready),
			"indented": command((*script).indented), "placed": command((*script).placed), "unseen": command((*script).unseen),
			"load": command((*script).load), "foreign": command((*script).foreign), "user": command((*script).user),
			"port": command((*script).port), "told": command((*script).told), "expand": command((*script).expand),
			"answers": command((*script).answers), "until": command((*script).until),
		},
	})
}

// serial is a test whose scripts do not run in parallel.
type serial struct{ *testing.T }

func (serial) Parallel() {}

func (serial) Verbose() bool { return testing.Verbose() }

func (s serial) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(serial{t}) })
}

// parallel is a test whose scripts run in parallel.
type parallel struct{ serial }

func (p parallel) Run(name string, f func(testscript.T)) {
	p.T.Run(name, func(t *testing.T) {
		t.Parallel()
		f(serial{t})
	})
}

// script is a script that runs.
type script struct {
	*testscript.TestScript
	t         testing.TB
	ctx       context.Context //nolint:containedctx // of the run
	cluster   *cluster.Cluster
	objects   *cluster.Objects
	view      view
	namespace string
	binary    string // the scheduler, if not Berth's
	process   *cluster.Process
}

type scriptKey struct{}

func setup(env *testscript.Env, c *cluster.Cluster) error {
	t := env.T().(serial).T
	s := &script{t: t, ctx: t.Context(), cluster: c}
	s.namespace = strings.ReplaceAll(strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"), "_", "-")
	env.Setenv("NAMESPACE", s.namespace)
	env.Setenv("BERTH", c.Binaries().Berth)
	env.Values[scriptKey{}] = s
	client, err := c.Client(cluster.Admin)
	if err != nil {
		return err
	}
	s.view = view{client: client, namespace: s.namespace}
	kubeconfig, err := c.Kubeconfig(cluster.Admin, "")
	if err != nil {
		return err
	}
	env.Setenv("ADMIN", kubeconfig)
	if s.objects, err = c.Objects(s.namespace); err != nil {
		return err
	}
	admin := s.objects
	folder, err := filepath.Abs(deploy())
	if err != nil {
		return err
	}
	env.Setenv("DEPLOY", folder)
	if _, err := client.CoreV1().Namespaces().Create(s.ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	began, err := c.Revision(s.ctx)
	if err != nil {
		return err
	}
	env.Defer(func() {
		ctx := context.Background()
		if err := admin.Clear(ctx); err != nil {
			t.Error(err)
		}
		if !t.Failed() {
			accepted(t, c, began, nil)
		}
	})
	return nil
}

// command turns a method into a command of the script language.
func command(run func(s *script, args []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		s := ts.Value(scriptKey{}).(*script)
		s.TestScript = ts
		err := run(s, args)
		if neg && err == nil {
			ts.Fatalf("the command succeeded, want an error")
		}
		if !neg {
			ts.Check(err)
		} else {
			fmt.Fprintln(ts.Stderr(), err)
		}
	}
}

func (s *script) program(args []string) (err error) {
	if len(args) != 1 {
		return fmt.Errorf("want FOLDER")
	}
	module, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	s.binary, err = cluster.BuildOwn(s.ctx, module, args[0], ".")
	return err
}

func (s *script) scheduler(args []string) error {
	options := cluster.Scheduler{Binary: s.binary, Config: profile, User: cluster.User(s.Getenv("SCHEDULER_USER"))}
	if len(args) > 0 {
		options.Config = os.Expand(s.ReadFile(args[0]), s.Getenv)
		options.Flags = args[1:]
	}
	s.process = run(s.t, s.cluster, options)
	return nil
}

func (s *script) sigterm([]string) error { return s.process.Stop(patience) }

func (s *script) sigkill([]string) error { return s.process.Kill() }

func (s *script) apply(files []string) error {
	for _, file := range files {
		documents := []byte(os.Expand(s.ReadFile(file), s.Getenv))
		err := s.objects.Apply(s.ctx, documents)
		for end := time.Now().Add(patience); meta.IsNoMatchError(err) || apierrors.IsNotFound(err); { // a kind that was installed a moment ago
			if time.Now().After(end) {
				break
			}
			time.Sleep(100 * time.Millisecond)
			if s.objects, err = s.cluster.Objects(s.namespace); err == nil {
				err = s.objects.Apply(s.ctx, documents)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func (s *script) patch(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("want KIND NAME JSON [SUBRESOURCE]")
	}
	return s.objects.Patch(s.ctx, args[0], args[1], args[2], strings.Join(args[3:], ""))
}

func (s *script) delete(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want KIND NAME")
	}
	return s.objects.Delete(s.ctx, args[0], args[1])
}

func (s *script) await(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("want STATE POD …")
	}
	for _, pod := range args[1:] {
		if err := s.view.await(s.ctx, pod, state(args[0]), "", s.within(patience)); err != nil {
			return err
		}
	}
	return nil
}

// within returns how long to wait: $WITHIN, or else most.
func (s *script) within(most time.Duration) time.Duration {
	if d, err := time.ParseDuration(s.Getenv("WITHIN")); err == nil {
		return d
	}
	return most
}

func (s *script) rejected(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want POD TEXT")
	}
	return s.view.await(s.ctx, args[0], rejected, args[1], patience)
}

func (s *script) reserved(args []string) error {
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		volume, err := s.view.client.CoreV1().PersistentVolumes().Get(s.ctx, args[0], metav1.GetOptions{})
		if err != nil {
			return err
		}
		if volume.Spec.ClaimRef != nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("volume %s has no claim after %v", args[0], patience)
		}
	}
}

func (s *script) nothing([]string) error {
	time.Sleep(time.Second)
	return nil
}

func (s *script) report(pods []string) error {
	for _, pod := range pods {
		text, err := s.view.report(s.ctx, pod)
		if err != nil {
			return err
		}
		fmt.Fprint(s.Stdout(), text)
	}
	return nil
}

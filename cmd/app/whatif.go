package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/tenancy/follow"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// whatIfOptions holds the flags of berth whatif.
type whatIfOptions struct {
	gates            gateOptions
	program          *program
	server           serverOptions
	pods             []string
	strict           bool
	addNodes         []string
	initialized      bool
	removeNodes      []string
	cluster          []string
	recording        string
	at               string
	config           string
	feeds            string
	seed             int64
	explain          bool
	failOnUnschedule bool
	modules          moduleOptions
}

func newWhatIf(p *program) *cobra.Command {
	o := whatIfOptions{program: p}
	cmd := &cobra.Command{
		Use:   "whatif --pods FILE ... [--cluster FILE|DIR ...]",
		Short: "Ask where pods would go, without placing them",
		Long: `Whatif shows where pods would go, without placing them: which pods fit and where, which do
not and why, and which pods would be preempted. Nodes can be added and removed first. Pods
of removed nodes are then part of the question, if a controller would recreate them.

It asks a running scheduler about its cluster, as berth explain does. With --cluster, it
answers about a cluster in files, with the configuration in --config. With --recording, it
answers about the cluster, the configuration and the plugins of a recording, at its end or
at a time.

Files of pods may be any manifests: Deployments, StatefulSets, DaemonSets, Jobs, CronJobs,
ReplicaSets and ReplicationControllers stand for the pods that their controllers make. What
makes no pods is left out. The file - is the standard input, so the output of helm template
and kustomize can be piped in. Other pending pods are not part of the question. HTTP extenders
and admission webhooks are not called; the answer names them.

The exit status is 0; 1 if no scheduler answers, or with --fail-on-unschedulable if a pod
does not fit; and 2 for input that cannot be used.`,
		Example: `  berth whatif --pods deployment.yaml
  berth whatif --pods deployment.yaml --add-nodes pool.yaml=3 -o json
  berth whatif --remove-node worker-7 --kubeconfig ~/.kube/config
  berth whatif --pods deployment.yaml --cluster cluster/ --config scheduler.yaml
  berth whatif --pods deployment.yaml --recording day.berthrec --at 2026-01-31T12:00:00Z`,
		Args:    noArguments("--pods"),
		PreRunE: o.server.settle,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd.Flags().Changed); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.pods, "pods", nil, "pods to be placed: a `FILE` in YAML or JSON, or a folder of them, or - for the standard input; repeatable")
	f.StringArrayVar(&o.addNodes, "add-nodes", nil, "add the nodes of a `FILE`, or FILE=N for N copies of each; repeatable")
	f.BoolVar(&o.initialized, "initialized", false, "leave out taints of added nodes that are removed once a node is ready, such as node.cloudprovider.kubernetes.io/uninitialized")
	f.StringArrayVar(&o.removeNodes, "remove-node", nil, "remove the node of this `NAME`; repeatable")
	f.StringArrayVar(&o.cluster, "cluster", nil, "ask about a cluster in Kubernetes YAML or JSON: a `FILE`, or a folder of them; repeatable")
	f.BoolVar(&o.strict, "strict", false,
		"with --cluster: refuse objects of the cluster that cannot be used, and all unknown fields, which are left out otherwise")
	f.StringVar(&o.recording, "recording", "", "ask about the cluster in this recording, a `FILE` of berth run --record or berth simulate --record")
	f.StringVar(&o.at, "at", "", "with --recording: ask about this `TIME`, such as 2026-01-31T12:00:00Z; the end of the recording if not given")
	f.StringVar(&o.config, "config", "", "with --cluster: KubeSchedulerConfiguration `FILE`; kube-scheduler's defaults if not given")
	f.StringVar(&o.feeds, "feeds", "", "with --cluster: `FILE` that declares feeds for plugins; their sources must be files")
	o.gates.flag(f)
	f.Lookup("feature-gates").Usage = "with --cluster: " + f.Lookup("feature-gates").Usage
	f.Int64Var(&o.seed, "seed", 42, "with --cluster: seed of all random choices")
	o.modules.harmless = true
	o.modules.flags(f)
	o.server.flags(f)
	f.BoolVar(&o.explain, "explain", false, "look for a single change with which a pending pod would fit")
	f.BoolVar(&o.failOnUnschedule, "fail-on-unschedulable", false, "exit with status 1 if a pod does not fit")
	return cmd
}

// check refuses flags that do not go together. given reports whether a flag was set.
func (o *whatIfOptions) check(given func(flag string) bool) error {
	var errs []error
	without := func(needed, why string, flags ...string) {
		if given(needed) {
			return
		}
		for _, flag := range flags {
			if given(flag) {
				errs = append(errs, fmt.Errorf("--%s needs --%s: %s", flag, needed, why))
			}
		}
	}
	if o.server.output != "text" && o.server.output != "json" {
		errs = append(errs, fmt.Errorf("--output: %q is neither text nor json", o.server.output))
	}
	if len(o.pods)+len(o.removeNodes) == 0 {
		errs = append(errs, errors.New("there is nothing to ask: name pods with --pods, or a node with --remove-node"))
	}
	if len(o.cluster) > 0 && o.recording != "" {
		errs = append(errs, errors.New("--cluster and --recording exclude each other: ask about one or the other"))
	}
	without("cluster", "a running scheduler, and a recording, answer with their own configuration",
		"config", "plugin", "feature-gates", "seed", "feeds")
	without("cluster", "it is about the files of a cluster", "strict")
	without("recording", "it is a time of a recording", "at")
	without("add-nodes", "it is about the added nodes", "initialized")
	return errors.Join(errs...)
}

func (o *whatIfOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	answer, err := o.ask(ctx, stderr)
	if err != nil {
		return err
	}
	if o.server.output == "json" {
		e := json.NewEncoder(stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(answer)
	} else {
		p := &printer{w: stdout, width: width(stdout)}
		p.whatIf(answer)
		err = p.err
	}
	switch {
	case err != nil:
		return &failure{fmt.Errorf("print the answer: %w", err)}
	case o.failOnUnschedule && answer.Summary.DoNotFit+answer.Summary.Gated+answer.Summary.NotAdmitted > 0:
		return &failure{errSilent}
	}
	return nil
}

// ask returns the answer of a running scheduler, or of one made from files.
func (o *whatIfOptions) ask(ctx context.Context, stderr io.Writer) (*whatif.Answer, error) {
	if len(o.cluster) > 0 {
		return o.askFiles(ctx, stderr)
	}
	if o.recording != "" {
		return o.askRecording(ctx, stderr)
	}
	r, err := o.request(ctx, nil, stderr)
	if err != nil {
		return nil, err
	}
	answer, err := o.askServer(ctx, r)
	if err != nil || len(answer.NotKnown) == 0 || !o.server.led {
		return answer, err
	}
	visitor, err := o.server.leader.user.Connect(ctx)
	if err != nil {
		return nil, &failure{err}
	}
	objects, kinds := visitor.Optional(ctx)
	if len(kinds) == 0 {
		return answer, nil
	}
	r.Known = *knownOf(objects, kinds).With(&r.Known)
	return o.askServer(ctx, r)
}

// knownOf is what was read of the objects that decide what becomes of new pods.
func knownOf(objects []runtime.Object, kinds []string) *input.Known {
	known := &input.Known{Kinds: kinds}
	for _, o := range objects {
		known.Add(o)
	}
	return known
}

// askServer asks a running scheduler.
func (o *whatIfOptions) askServer(ctx context.Context, r *whatif.Request) (*whatif.Answer, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, &failure{fmt.Errorf("write the question: %w", err)}
	}
	if len(text) > whatif.MaxSize {
		return nil, fmt.Errorf("the question has %d bytes, at most %d are allowed: ask about fewer pods at a time", len(text), whatif.MaxSize)
	}
	body, err := o.server.ask(ctx, http.MethodPost, debughttp.WhatIfPath, string(text))
	if err != nil {
		return nil, err
	}
	answer := &whatif.Answer{}
	if err := readAnswer(ctx, plain.JSON(body), answer); err != nil {
		return nil, err
	}
	answer.Idle = r.Idle
	return answer, nil
}

// request reads the files of the question. known are the cluster's objects; nil if they are not at hand.
func (o *whatIfOptions) request(ctx context.Context, known *input.Known, stderr io.Writer) (*whatif.Request, error) {
	templates := &input.Templates{}
	if len(o.pods) > 0 {
		var err error
		if templates, err = input.LoadTemplates(ctx, o.pods, known, o.strict); err != nil {
			return nil, stopped(ctx, err)
		}
		leftOut(stderr, templates.LeftOut)
		doubts(stderr, templates.Warnings)
		if templates.Asked+len(o.removeNodes) == 0 {
			return nil, fmt.Errorf("--pods: nothing in %s asks to be placed: name files with pods or their controllers, such as Deployments; "+
				"nodes are added with --add-nodes", strings.Join(o.pods, ", "))
		}
	}
	r := whatif.NewRequest(templates)
	r.RemoveNodes, r.Explain = o.removeNodes, o.explain
	for _, value := range o.addNodes {
		path, number, several := strings.Cut(value, "=")
		n := 1
		if several {
			var err error
			if n, err = strconv.Atoi(number); err != nil || n < 1 {
				return nil, fmt.Errorf("--add-nodes: %q is not FILE or FILE=N with a number of at least 1", value)
			}
		}
		nodes, warnings, err := input.LoadNodes(ctx, path, o.strict)
		if err != nil {
			return nil, stopped(ctx, err)
		}
		doubts(stderr, warnings)
		for _, node := range nodes {
			r.AddNodes = append(r.AddNodes, whatif.Nodes{Node: node, Count: n, Initialized: o.initialized})
		}
	}
	return r, r.Check()
}

// askFiles answers about a cluster in files.
func (o *whatIfOptions) askFiles(ctx context.Context, stderr io.Writer) (*whatif.Answer, error) {
	log, err := o.modules.logger(stderr)
	if err != nil {
		return nil, err
	}
	modules, err := o.modules.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = modules.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
	more, err := o.gates.parse()
	if err != nil {
		return nil, err
	}
	scheduler, warnings, err := o.modules.load(ctx, "config", o.config, assembly.Catalog(o.program.names...).WithGates(o.gates.gates), modules)
	if err != nil {
		return nil, err
	}
	objects, err := input.LoadCluster(ctx, o.cluster, o.strict)
	if err != nil {
		return nil, stopped(ctx, err)
	}
	declared, says, err := feedOnce(ctx, o.feeds, objects.Nodes, time.Time{})
	if err != nil {
		return nil, err
	}
	warn(plainly(stderr), append(warnings, more...))
	tenants := resolve(objects, modules, scheduler)
	attached := follow.Attachments(tenants)
	read, err := readObjects(ctx, stderr, o.cluster, objects, scheduler, attached)
	if err != nil {
		return nil, stopped(ctx, err)
	}
	leftOut(stderr, objects.LeftOut)
	doubts(stderr, objects.Warnings)
	r, err := o.request(ctx, &objects.Known, stderr)
	if err != nil {
		return nil, err
	}
	for _, x := range attachedObjects(tenants, nil, nil) {
		if !x.Ready {
			fmt.Fprintf(stderr, "warning: %s %s: %s: %s\n", x.Kind, strings.TrimPrefix(x.Namespace+"/"+x.Name, "/"), x.Reason, x.Message)
		}
	}
	c := &whatif.Cluster{
		Scheduler: o.program.addTo(assembly.Config{Seed: uint64(o.seed), Gates: o.gates.gates, Modules: modules, Scheduler: scheduler,
			Reuse: equivalence.Default(), Attached: attached, Feeds: declared}),
		Nodes: objects.Nodes, Namespaces: objects.Namespaces, PodDisruptionBudgets: objects.PodDisruptionBudgets,
		Storage: objects.Storage(), Owners: objects.Owners(), Known: objects.Known, Feeds: append(says, read...), Log: log,
	}
	for _, pod := range objects.Pods {
		switch {
		case pod.Spec.NodeName != "":
			c.Bound = append(c.Bound, state.NewPod(pod))
		case pod.Status.NominatedNodeName != "":
			c.Nominated = append(c.Nominated, pod)
		}
	}
	answer, err := c.Ask(ctx, r)
	if err := stopped(ctx, err); err != nil {
		return nil, err
	}
	return answer, nil
}

// doubts prints the warnings about files.
func doubts(stderr io.Writer, warnings []input.Warning) {
	for _, doubt := range warnings {
		fmt.Fprintf(stderr, "warning: %s\n", doubt)
	}
}

// leftOut says which objects of files were left out; "" for none.
func leftOut(stderr io.Writer, objects string) {
	if objects != "" {
		fmt.Fprintf(stderr, "left out: %s\n", objects)
	}
}

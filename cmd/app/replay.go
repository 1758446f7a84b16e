package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/experiment"
	"github.com/berth-scheduler/berth/runtime/inbox"
	records "github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/replay"
	"github.com/berth-scheduler/berth/runtime/report"
)

// replayOptions holds the flags of berth replay.
type replayOptions struct {
	file    string
	pod     string
	try     int
	text    bool
	config  string
	output  string
	report  string
	workers int
	modules moduleOptions
	reuse   reuseMemory
}

func newReplay() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Repeat a recording, or try another plugin on it",
		Long: `Replay repeats what a scheduler did, from a recording of berth run --record or
berth simulate --record. It needs no cluster. The scheduler handles the recorded
events in their order, with the plugins and the settings of the recording. Each
decision must equal the recorded one: the node, the rejected nodes, the scores of the
best nodes, the victims and the directives of plugins. Other texts are reported.

With --pod, replay stops after an attempt for that pod and explains it in full.

With --config or --plugin, replay tries another configuration, or another plugin in
addition. Nodes, pods and other objects come and go as in the recording. A simulation
places the pods twice: with the recorded configuration and with the other one. It
prints which pods would be elsewhere, pending or preempted, and why.

The exit status is 0; 1 if a decision differs; and 2 for a recording that cannot be
used.`,
		Example: `  berth simulate --cluster cluster/ --record day.berthrec
  berth replay day.berthrec
  berth replay day.berthrec --pod team-a/web-0 --try 2
  berth replay day.berthrec --plugin ./spread.wasm --report moves.html`,
		Args:    oneArgument("recording", "FILE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.pod, "pod", "", "stop after an attempt for `NAMESPACE/POD` and explain it")
	f.IntVar(&o.try, "try", 1, "with --pod: the `NUMBER` of the attempt for that pod")
	f.BoolVar(&o.text, "text", false, "print the recording as text, one event per line, and repeat nothing")
	f.StringVar(&o.config, "config", "", "try the KubeSchedulerConfiguration in this `FILE` instead of the recorded one")
	f.StringArrayVar(&o.modules.plugins, "plugin", nil, "try a plugin `MODULE` in addition, as berth simulate --plugin; repeatable")
	f.StringVarP(&o.output, "output", "o", "text", "with --config or --plugin: output `FORMAT`: text or json")
	f.StringVar(&o.report, "report", "", "with --config or --plugin: write a page with plots to this HTML `FILE`")
	f.IntVar(&o.workers, "workers", 0, "goroutines that evaluate nodes; 0 for one per CPU; decisions do not depend on it")
	f.StringVar(&o.reuse.quantity, "reuse-memory", "", "memory for kept answers of plugins, as of berth simulate; by default as recorded")
	o.modules.addTo(f)
	o.modules.memory, o.modules.log, o.modules.harmless = "2Gi", "none", true
	return cmd
}

func (o *replayOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	pod, err := parseExplain(o.pod)
	if err != nil {
		return fmt.Errorf("--pod: %w", err)
	}
	if o.workers < 0 || o.workers > maxWorkers {
		return fmt.Errorf("--workers: %d is not between 0 and %d; 0 is one per CPU", o.workers, maxWorkers)
	}
	var reused *equivalence.Config // as recorded
	kept := equivalence.Default()
	if o.reuse.quantity != "" {
		if kept, err = o.reuse.config(); err != nil {
			return err
		}
		reused = &kept
	}
	if err := o.checkChange(); err != nil {
		return err
	}
	opened, err := openRecording(ctx, "", o.file, &o.modules)
	if err != nil {
		return err
	}
	defer opened.close()
	if o.text {
		return o.print(stdout, stderr, opened.reader)
	}
	if o.changes() {
		return o.experiment(ctx, stdout, stderr, opened.reader, experiment.Config{Modules: opened.modules, Workers: o.workers, Reuse: kept})
	}
	return o.replay(ctx, stdout, stderr, opened, replay.Config{
		Modules: opened.modules, Workers: o.workers, Reuse: reused, Pod: pod, Try: o.try,
	})
}

func (o *replayOptions) replay(ctx context.Context, stdout, stderr io.Writer, opened *openedRecording, c replay.Config) error {
	bar := newPortion(stderr, opened.portion)
	c.Progress = bar.set
	result, err := replay.Run(ctx, opened.reader, c)
	bar.close()
	p := &printer{w: stdout, width: width(stdout)}
	var differs *replay.Difference
	switch {
	case errors.As(err, &differs):
		if differs.Attempt != nil {
			p.attempted(c.Pod, differs.Attempt)
		}
		return &failure{fmt.Errorf("%s: %w", o.file, err)}
	case err != nil && ctx.Err() != nil:
		return &failure{fmt.Errorf("stopped: %w", err)}
	case err != nil:
		return fmt.Errorf("%s: %w", o.file, err)
	}
	if result.Cut {
		fmt.Fprintf(stderr, "warning: %s: %v\n", o.file, records.ErrCut)
	}
	if result.Attempt != nil {
		p.attempted(c.Pod, result.Attempt)
		return p.err
	}
	if c.Pod != (types.NamespacedName{}) {
		return fmt.Errorf("--pod: the recording has no attempt %d for pod %s", c.Try, c.Pod)
	}
	if result.Decisions == 0 {
		p.text("Repeated %s. There was no decision among them.", count(result.Events, "event"))
	} else {
		p.text("Repeated %s from %s: %d placed a pod. All are as recorded.", count(result.Decisions, "decision"), count(result.Events, "event"), result.Placed)
	}
	if result.Kubernetes != hostplugins.Release {
		p.text("The recording is of an older version, so plugins had the defaults and the texts of Kubernetes 1.%d. All of a decision was compared.", result.Kubernetes)
	}
	if result.Reworded > 0 {
		p.text("Texts of %s are not the recorded ones, first at event %d.", count(result.Reworded, "decision"), result.RewordedAt)
	}
	if result.Why != "" {
		p.text("The recording ends before its scheduler: %s.", result.Why)
	}
	return p.err
}

// attempted explains an attempt of a recording.
func (p *printer) attempted(pod types.NamespacedName, a *report.Attempt) {
	if a.Code == abi.Success {
		p.text("Attempt %d for %s placed it on %s, by profile %s: %s.", a.Try, pod, a.Node, a.Profile, looked(a))
	} else {
		p.text("Attempt %d for %s did not place it, by profile %s:\n%s", a.Try, pod, a.Profile, a.Message)
	}
	p.attempt(a)
}

// print prints the recording as text, which is a recording again.
func (o *replayOptions) print(stdout, stderr io.Writer, reader *records.Reader) error {
	w := bufio.NewWriter(stdout)
	_, _ = w.WriteString("# " + records.Header) // Flush returns the error
	for {
		e, err := reader.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, records.ErrCut) {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintf(stderr, "warning: %s: %v\n", o.file, err)
			}
			return writing(w.Flush())
		}
		var line string
		if err == nil {
			line, err = inbox.Format(e)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", o.file, err), w.Flush())
		}
		_, _ = w.WriteString(line + "\n")
	}
}

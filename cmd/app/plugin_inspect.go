package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

func newPluginInspect() *cobra.Command {
	var output, config string
	var rbac bool
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show a module's manifest, reads, imports and limits",
		Long: `Inspect checks a module against the ABI and against its own manifest, without
running it. It prints the module's extension points, reads, imports, memory,
sections, size, digest, default limits and warnings.

A module may read labels, annotations, resources and feeds that its configuration
names; config:/keys stands for those that the configuration has under keys. With
--config, inspect checks a configuration and shows the names.

With --rbac, inspect prints the rules that let Berth watch the objects that the
module reads, for kubectl apply.

The exit status is 2 if the module cannot be used. Inspect then lists all reasons.`,
		Example: `  berth plugin inspect tenant-pool.wasm
  berth plugin inspect tenant-pool.wasm -o json
  berth plugin inspect node-number.wasm --config config.yaml`,
		Args:    oneArgument("file", "FILE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			l, err := readModule(args[0], config)
			if err != nil {
				return err
			}
			if rbac {
				return writing(printRules(cmd.OutOrStdout(), l.Manifest))
			}
			return writing(printInspection(cmd.OutOrStdout(), output, inspect(l)))
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "show what the plugin reads with the configuration in `FILE`")
	cmd.Flags().BoolVar(&rbac, "rbac", false, "print the rules for RBAC that the objects need which the module reads")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "output `FORMAT`: text or json")
	return cmd
}

// readModule reads a module, with a configuration unless config is empty.
func readModule(path, config string) (*module.Loaded, error) {
	if config == "" {
		return module.Read(path)
	}
	return module.Load(module.Reference{Path: path, ConfigFile: config, GrantAll: true})
}

// checkOutput wants one of the two formats.
func checkOutput(format string) error {
	if format != "text" && format != "json" {
		return fmt.Errorf("--output: %q is neither text nor json", format)
	}
	return nil
}

// inspection is the output of berth plugin inspect. Its JSON form is stable.
type inspection struct {
	File          string         `json:"file"`
	Digest        string         `json:"digest"`
	Size          int            `json:"size"` // bytes
	Manifest      *wire.Manifest `json:"manifest"`
	Points        []pointInfo    `json:"points"`
	Reads         []wire.Reading `json:"reads"`
	NotKept       string         `json:"notKept,omitempty"` // why answers are not kept for equivalent pods
	HostFunctions []string       `json:"hostFunctions"`
	Imports       []importInfo   `json:"imports"`
	Memory        memoryInfo     `json:"memory"`
	Functions     int            `json:"functions"`
	CodeSize      int            `json:"codeSize"` // bytes
	Sections      []sectionInfo  `json:"sections"`
	Limits        []limitInfo    `json:"limits"`
	Warnings      []string       `json:"warnings"`
}

type pointInfo struct {
	Point     string `json:"point"`
	Export    string `json:"export"`
	Signature string `json:"signature"`
	Scope     string `json:"scope,omitempty"`
	Normalize string `json:"normalize,omitempty"`
}

type importInfo struct {
	Module    string `json:"module"`
	Name      string `json:"name"`
	Signature string `json:"signature"`
}

// memoryInfo is in bytes; Max is 0 if the module declares no maximum.
type memoryInfo struct {
	Min int64 `json:"min"`
	Max int64 `json:"max,omitempty"`
}

type sectionInfo struct {
	Name string `json:"name"`
	// Custom is the name of a custom section.
	Custom string `json:"custom,omitempty"`
	Size   int    `json:"size"` // bytes
}

const pageSize = 64 << 10

// notKept says why answers of a plugin that filters or scores are not kept for equivalent
// pods; empty if they are.
func notKept(m *wire.Manifest) string {
	if m.Points.Filter == nil && m.Points.Score == nil {
		return ""
	}
	why, _ := wasm.Keyed(m)
	return why
}

func inspect(l *module.Loaded) *inspection {
	m, man := l.Module, l.Manifest
	out := &inspection{
		File: l.Path, Digest: l.Digest, Size: m.Size, Manifest: man, Functions: len(m.Functions), CodeSize: m.CodeSize,
		Points: []pointInfo{}, Reads: append([]wire.Reading{}, man.Readings()...), HostFunctions: append([]string{}, man.Host...),
		Imports: []importInfo{}, Sections: []sectionInfo{}, Warnings: append([]string{}, l.Warnings...),
	}
	for _, p := range man.Declared() {
		export, signature := wire.ExportOf(p)
		info := pointInfo{Point: wire.PointName(p), Export: export, Signature: signature.String()}
		if p == abi.Filter || p == abi.Score {
			info.Scope = man.Scope(p).String()
		}
		if p == abi.Score {
			info.Normalize = man.Points.Score.Normalize
		}
		out.Points = append(out.Points, info)
	}
	for i := range m.Imports {
		imp := &m.Imports[i] // a function: module.Read rejects other imports
		out.Imports = append(out.Imports, importInfo{Module: imp.Module, Name: imp.Name, Signature: m.Types[imp.Type].String()})
	}
	if len(m.Memories) > 0 {
		out.Memory = memoryInfo{Min: int64(m.Memories[0].Min) * pageSize, Max: int64(m.Memories[0].Max) * pageSize}
	}
	out.NotKept = notKept(man)
	out.Limits = limitsOf(l)
	for _, s := range m.Sections {
		out.Sections = append(out.Sections, sectionInfo{Name: wire.SectionName(s.ID), Custom: s.Name, Size: s.Size})
	}
	return out
}

// writeJSON writes a value as JSON without raw control characters, which could disturb a terminal.
func writeJSON(w io.Writer, value any) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(plain.JSON(out.Bytes()))
	return err
}

func printInspection(w io.Writer, output string, i *inspection) error {
	if output == "json" {
		return writeJSON(w, i)
	}
	p := &printer{w: w, width: width(w)}
	p.inspection(i)
	return p.err
}

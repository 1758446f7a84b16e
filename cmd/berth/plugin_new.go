package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/cmd/berth/scaffold"
)

func newPluginNew() *cobra.Command {
	var language string
	cmd := &cobra.Command{
		Use:   "new NAME --lang LANGUAGE",
		Short: "Make a project with a small plugin, its test and the SDK",
		Long: `New makes a folder with a plugin in Go, Rust, C or AssemblyScript: the manifest, the
source, a scenario that is its test, a README, and the SDK beside it. It builds and passes
its test as it is, given the language's toolchain, without a network; only AssemblyScript's
compiler is fetched from npm, once.

NAME is the folder and the plugin's name; a path may be before it.`,
		Example: `  berth plugin new rack-aware --lang go
  berth plugin new plugins/rack-aware --lang rust`,
		Args:    oneArgument("name", "NAME --lang LANGUAGE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return makeProject(args[0], language, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&language, "lang", "", "`LANGUAGE` of the plugin: "+strings.Join(scaffold.Languages(), ", "))
	return cmd
}

func makeProject(dir, language string, out io.Writer) error {
	languages := strings.Join(scaffold.Languages(), ", ")
	if language == "" {
		return fmt.Errorf("--lang is missing: name one of %s", languages)
	}
	if !slices.Contains(scaffold.Languages(), language) {
		return fmt.Errorf("--lang: %q is none of %s", language, languages)
	}
	files, err := scaffold.Write(dir, language)
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	fmt.Fprintf(out, "%s: a plugin, with the SDK beside it\n", dir)
	for _, file := range files {
		if !strings.HasPrefix(file, "berth") && file != ".gitignore" {
			fmt.Fprintf(out, "  %s\n", file)
		}
	}
	fmt.Fprintf(out, "\nWhat is next:\n  cd %s\n", dir)
	if first := map[string]string{"go": "go test ./...", "rust": "cargo test", "assemblyscript": "npm ci --prefix berth"}[language]; first != "" {
		fmt.Fprintf(out, "  %s\n", first)
	}
	_, err = fmt.Fprintf(out, "  berth plugin test .\n  berth plugin build .\n")
	return writing(err)
}

package app

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/cmd/app/scaffold"
)

func newPluginNew() *cobra.Command {
	var language string
	var points []string
	cmd := &cobra.Command{
		Use:   "new NAME --lang LANGUAGE [--points POINT,…]",
		Short: "Create a project with a small plugin, its test and the SDK",
		Long: `New creates a folder with a plugin in Go, Rust, C or AssemblyScript: the manifest, the
source, a scenario as its test, a README, and the SDK. With the language's toolchain, the
project builds and passes its test without a network. Only AssemblyScript's compiler is
downloaded from npm, once.

With --points, the plugin has these extension points: the exports, the manifest and the
scenario match them. Each point has a small rule, to be replaced.

NAME is the name of the folder and of the plugin. It may have a path before it.`,
		Example: `  berth plugin new rack-aware --lang go
  berth plugin new plugins/rack-aware --lang rust
  berth plugin new gpu-lease --lang c --points filter,score,reserve,unreserve`,
		Args:    oneArgument("name", "NAME --lang LANGUAGE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("points") && len(points) == 0 {
				return errors.New("--points is empty: name extension points, such as filter,score")
			}
			return makeProject(args[0], language, points, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&language, "lang", "", "`LANGUAGE` of the plugin: "+strings.Join(scaffold.Languages(), ", "))
	f.StringSliceVar(&points, "points", nil, "the plugin's extension `POINT`s, separated by commas: "+strings.Join(scaffold.Points(), ", "))
	return cmd
}

func makeProject(dir, language string, points []string, out io.Writer) error {
	languages := strings.Join(scaffold.Languages(), ", ")
	if language == "" {
		return fmt.Errorf("--lang is missing: use one of %s", languages)
	}
	if !slices.Contains(scaffold.Languages(), language) {
		return fmt.Errorf("--lang: %q is not one of %s", language, languages)
	}
	files, err := scaffold.Write(dir, language, points)
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	fmt.Fprintf(out, "Created %s with a plugin and the SDK:\n", dir)
	for _, file := range files {
		if !strings.HasPrefix(file, "berth") && file != ".gitignore" {
			fmt.Fprintf(out, "  %s\n", file)
		}
	}
	fmt.Fprintf(out, "\nNext steps:\n  cd %s\n", dir)
	if first := map[string]string{"go": "go test ./...", "assemblyscript": "npm ci --prefix berth"}[language]; first != "" {
		fmt.Fprintf(out, "  %s\n", first)
	}
	_, err = fmt.Fprintf(out, "  berth plugin test .\n  berth plugin dev .\n  berth plugin build .\n")
	return writing(err)
}

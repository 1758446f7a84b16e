package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/cmd/app/scaffold"
)

func newPluginSDK() *cobra.Command {
	var update, force bool
	cmd := &cobra.Command{
		Use:   "sdk [DIR]",
		Short: "Compare a project's SDK with that of this program, or update it",
		Long: `Sdk shows which files of the SDK in a project (the current folder by default) differ from the
SDK of this program. With --update it replaces them.

An update refuses if files of the SDK were changed in the project, and lists them. With
--force it replaces these too. The project's own files stay as they are.`,
		Example: `  berth plugin sdk
  berth plugin sdk --update ./rack-aware`,
		Args:    optionalArgument("folder"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if force && !update {
				return errors.New("--force is for --update: write both, or neither")
			}
			return sdk(filepath.Clean(append(args, ".")[0]), update, force, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&update, "update", false, "replace the project's SDK by that of this program")
	f.BoolVar(&force, "force", false, "also replace files that were changed in the project")
	return cmd
}

func sdk(dir string, update, force bool, out io.Writer) error {
	language := languageOf(dir)
	s, err := scaffold.Compare(dir, language)
	if err != nil {
		return err
	}
	edited := "these files of the SDK were changed in the project"
	if s.Unknown {
		edited = "berth/SHA256SUMS is missing, so these files may have been changed in the project"
	}
	if update && !force && len(s.Edited) > 0 {
		return fmt.Errorf("%s: %s: %s; take your changes out, or replace the files with --force", dir, edited, strings.Join(s.Edited, ", "))
	}
	p := &printer{w: out, width: width(out)}
	p.printf("%s: SDK %s for %s; this program has %s\n", dir, cmp.Or(s.Version, "of an unknown version"), language, scaffold.Version)
	for _, c := range s.Changes {
		lines := ""
		if c.What == "changed" {
			lines = fmt.Sprintf(" (+%d -%d lines)", c.Added, c.Removed)
		}
		p.printf("  %-7s  %s%s\n", c.What, c.Path, lines)
	}
	if update {
		if err := s.Update(); err != nil {
			return &failure{err}
		}
	}
	switch {
	case len(s.Changes) == 0:
		p.printf("the files are the same\n")
	case update:
		p.printf("updated; berth plugin test %s shows whether the plugin still fits\n", dir)
	default:
		if len(s.Edited) > 0 {
			p.printf("%s: %s\n", edited, strings.Join(s.Edited, ", "))
		}
		p.printf("berth plugin sdk --update %s replaces the project's files\n", dir)
	}
	for _, c := range s.Changes {
		if update && c.Path == "berth/package-lock.json" {
			p.printf("the compiler may have changed too: npm ci --prefix %s\n", filepath.Join(dir, "berth"))
		}
	}
	return writing(p.err)
}

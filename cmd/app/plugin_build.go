package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/module"
)

// maxWarning is how long a warning about a place in the sources may be, in characters.
const maxWarning = 600

type buildOptions struct {
	dir      string
	manifest string
	out      string
	shown    string // what messages call the module; out if it is empty
	kept     string // folder for what cargo keeps; a temporary one if it is empty
	// quick leaves out what takes seconds and does not change answers: the optimization of AssemblyScript.
	quick bool
	asc   *asc.Toolchain // that an earlier build found; nil for none
}

// built is what build makes of a folder.
type built struct {
	*module.Loaded
	// named is the module with the names of its functions, for traces.
	named []byte
}

func newPluginBuild() *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:   "build DIR",
		Short: "Build a plugin written in Go, Rust, C or AssemblyScript",
		Long: `Build compiles a plugin to WebAssembly, adds the manifest and checks the result.

The folder's files select the toolchain: Cargo.toml selects cargo, C files select clang,
and assembly/index.ts selects the AssemblyScript compiler. For any other folder, the Go
toolchain builds its main package, or that of its subfolder guest. If the toolchain is
missing, the error says what to install. The same sources give the same bytes in every
folder.

The manifest is manifest.json in the folder or its parent. Modules from cargo and clang
already contain a manifest, which must be the same.`,
		Example: `  berth plugin build ./tenantpool
  berth plugin build ./tenantpool -o plugins/tenant-pool.wasm`,
		Args:    oneArgument("folder", "DIR"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir = args[0]
			_, err := o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.out, "output", "o", "", "`FILE` to write; NAME.wasm in the current folder if not given, with the NAME in the manifest")
	f.StringVar(&o.manifest, "manifest", "", "manifest `FILE`")
	return cmd
}

func (o *buildOptions) run(ctx context.Context, stdout, stderr io.Writer) (*built, error) {
	file, manifest, err := o.project()
	if err != nil {
		return nil, err
	}
	code, err := o.compile(ctx, file, manifest, stderr)
	if err != nil {
		return nil, err
	}
	out := o.out
	if out == "" {
		out = manifest.Name + ".wasm"
	}
	b := built{}
	if b.named, err = wire.AppendCustomSection(code, abi.ManifestSection, wire.EncodeManifest(manifest)); err != nil {
		return nil, fmt.Errorf("%s: %w", out, err)
	}
	data := b.named
	for _, section := range []string{"name", "producers", "target_features"} {
		if data, _, err = wire.RemoveCustomSection(data, section); err != nil {
			return nil, fmt.Errorf("%s: %w", out, err)
		}
	}
	if b.Loaded, err = module.Parse(out, data); err != nil {
		hint := configureHint(o.dir, err, manifest) + exportHint(o.dir, err)
		if strings.Contains(err.Error(), `import "env.console.`) {
			hint += "a plugin has no console: write berth.log(berth.Level.Info, text), and list log in the manifest's host\n"
		}
		for _, w := range vain(ctx, o.dir) {
			hint += plain.Line(w, maxWarning) + "\n"
		}
		return nil, fmt.Errorf("%w\n%snothing was written; the manifest is %s", err, hint, file)
	}
	if err := replaceFile(out, data); err != nil {
		return nil, &failure{err}
	}
	invain := vain(ctx, o.dir)
	for _, w := range b.Warnings {
		if told := func(line string) bool { return strings.HasSuffix(line, vainFiles) }; wire.IsInert(w) && slices.ContainsFunc(invain, told) {
			continue
		}
		fmt.Fprintf(stderr, "warning: %s: %s\n", cmp.Or(o.shown, out), plain.Line(w, maxCell))
	}
	for _, w := range invain {
		fmt.Fprintf(stderr, "warning: %s\n", plain.Line(w, maxWarning))
	}
	_, err = fmt.Fprintf(stdout, "%s: %s %s, %s, %s\n", out, manifest.Name, manifest.Version, size(int64(len(data))), b.Digest)
	return &b, writing(err)
}

// project checks that the folder has a plugin, and returns its manifest with the manifest's file.
func (o *buildOptions) project() (file string, m *wire.Manifest, err error) {
	switch info, err := os.Stat(o.dir); {
	case err != nil:
		return "", nil, fmt.Errorf("%w (name the folder of a plugin)", err)
	case !info.IsDir():
		return "", nil, fmt.Errorf("%s is a file: name the folder of a plugin (berth plugin inspect shows a module)", o.dir)
	}
	if file, m, err = o.readManifest(); err != nil {
		return "", nil, err
	}
	if languageOf(o.dir) == "go" && !hasGo(o.dir) && !hasGo(guestFolder(o.dir)) {
		return "", nil, fmt.Errorf("%s: it has no plugin: write Go files with a package main in it or in guest, Cargo.toml for Rust, "+
			"C files, or assembly/index.ts for AssemblyScript", o.dir)
	}
	return file, m, nil
}

// configureHint says how a plugin gets the configuration of its manifest, if the module does not log: SDKs log
// why they refuse one, so the export is probably missing.
func configureHint(dir string, err error, m *wire.Manifest) string {
	if len(m.Config) == 0 || !strings.Contains(err.Error(), strconv.Quote(abi.HostModule+"."+abi.HostLog)+": the manifest declares") {
		return ""
	}
	how := map[string]string{
		"go": "call Export of abi/sdk/go/export/configure in package main", "rust": "name configure in export!",
		"c": "write BERTH_CONFIGURE", "assemblyscript": "write the method configure",
	}[languageOf(dir)]
	return "the manifest has a configuration, and " + abi.ExportConfigure + ", which logs why it refuses one, is not exported: " + how + "\n"
}

// exportHint says how a plugin exports the points that its module does not, though the manifest has them.
func exportHint(dir string, err error) (hint string) {
	for _, point := range abi.Points() {
		export, _ := wire.ExportOf(point)
		if export == "" || !strings.Contains(err.Error(), "export "+strconv.Quote(export)+": it is missing") {
			continue
		}
		name := wire.PointName(point)
		switch word := strings.TrimPrefix(export, abi.ExportPrefix); languageOf(dir) {
		case "go":
			hint += "to export " + name + ", call Export of abi/sdk/go/export/" + strings.Replace(strings.ReplaceAll(word, "_", ""), "removepod", "addpod", 1) + " in package main\n"
		case "rust":
			hint += "to export " + name + ", name " + word + " in berth::export!\n"
		case "c":
			hint += "to export " + name + ", write BERTH_" + strings.ToUpper(word) + "(function);\n"
		}
	}
	return hint
}

// readManifest returns the manifest and its file.
func (o *buildOptions) readManifest() (file string, m *wire.Manifest, err error) {
	candidates := []string{o.manifest}
	if o.manifest == "" {
		candidates = []string{filepath.Join(o.dir, "manifest.json"), filepath.Join(o.dir, "..", "manifest.json")}
	}
	var data []byte
	for _, file = range candidates {
		if data, err = os.ReadFile(file); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	if err != nil {
		if o.manifest != "" {
			return "", nil, unreadable(err, "manifest", o.manifest)
		}
		return "", nil, fmt.Errorf("%s: no manifest.json: write one (abi/SPEC.md, section 9), or name it with --manifest", o.dir)
	}
	if m, err = wire.DecodeManifest(data); err == nil {
		err = m.Validate()
	}
	if err != nil {
		return "", nil, eachLine(file+": ", err)
	}
	return file, m, nil
}

// eachLine prefixes each line of an error.
func eachLine(before string, err error) error {
	return errors.New(before + strings.ReplaceAll(err.Error(), "\n", "\n"+before))
}

// compile builds the folder with its toolchain, and returns the module without a
// manifest.
func (o *buildOptions) compile(ctx context.Context, file string, manifest *wire.Manifest, stderr io.Writer) ([]byte, error) {
	temp, err := os.MkdirTemp("", "berth-build-")
	if err != nil {
		return nil, &failure{err}
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a folder for temporary files
	switch languageOf(o.dir) {
	case "rust":
		return o.compileRust(ctx, cmp.Or(o.kept, temp), file, manifest)
	case "assemblyscript":
		return o.compileAssemblyScript(ctx, file, manifest)
	case "c":
		return o.compileC(ctx, file, manifest, stderr)
	}
	return o.compileGo(ctx, temp)
}

// hasGo reports whether a folder has a Go file.
func hasGo(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) == ".go" })
}

// withoutManifest removes the manifest that the toolchain put into a module. The manifest
// must be the given one; if not, the error is otherwise.
func (o *buildOptions) withoutManifest(code []byte, manifest *wire.Manifest, otherwise string) ([]byte, error) {
	m, err := wire.ReadModule(code)
	if err != nil {
		return nil, fmt.Errorf("%s: the toolchain wrote no module: %w", o.dir, err)
	}
	for _, section := range m.Custom(abi.ManifestSection) {
		carried, err := wire.DecodeManifest(section)
		if err != nil {
			return nil, fmt.Errorf("%s: the manifest in the module: %w", o.dir, err)
		}
		if !bytes.Equal(wire.EncodeManifest(carried), wire.EncodeManifest(manifest)) {
			return nil, fmt.Errorf("%s: %s", o.dir, otherwise)
		}
	}
	code, _, err = wire.RemoveCustomSection(code, abi.ManifestSection)
	return code, err
}

// compileGo builds the folder with the Go toolchain, and returns the module.
func (o *buildOptions) compileGo(ctx context.Context, temp string) ([]byte, error) {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return nil, &failure{fmt.Errorf("the Go toolchain is not installed: go is not in $PATH (%w); see https://go.dev/dl", err)}
	}
	dir, target := guestFolder(o.dir), filepath.Join(temp, "plugin.wasm")
	cmd := goCommand(ctx, compiler, dir, "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-w", "-o", target, ".")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, &failure{fmt.Errorf("stopped: %w", context.Cause(ctx))}
		}
		said := strings.TrimSpace(output.String())
		return nil, fmt.Errorf("go build in %s: %w\n%s%s", dir, err, said, buildHint(said))
	}
	code, err := os.ReadFile(target)
	if err != nil {
		return nil, fmt.Errorf("%s: the Go toolchain wrote no module: the package must be main", dir)
	}
	return code, nil
}

// buildHint explains an error of the Go toolchain to an author of plugins.
func buildHint(said string) string {
	switch {
	case strings.Contains(said, "go.mod file not found"):
		return "\nmake the folder a Go module: go mod init example.com/NAME, go mod edit -replace github.com/berth-scheduler/berth=CHECKOUT, go mod tidy"
	case strings.Contains(said, "requires exactly one main package"):
		return "\nthe package must be main: put func main() {} beside the exports, or name the folder of the package that has it"
	case strings.Contains(said, "(missing method core)"):
		return "\na plugin embeds the SDK's Base, as in type Plugin struct{ berth.Base }, which berth.Load(manifest) makes"
	}
	return ""
}

// replaceFile writes a file atomically. Who may read it stays as it was.
func replaceFile(path string, data []byte) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		if wrong := new(fs.PathError); errors.As(err, &wrong) {
			wrong.Path = path // not the temporary file
		}
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone already if all went well
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

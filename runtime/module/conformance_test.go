package module_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
)

const conformanceData = "../../abi/conformance/testdata"

// TestConformanceGuests: abi/conformance/testdata/guests.json contains the assembled sources.
// -rewrite writes it.
//
// A line ";;+ NAME …" includes the named parts of the .inc files. A line ";; patch: HEX HEX"
// before the module replaces bytes that the assembler cannot express.
func TestConformanceGuests(t *testing.T) {
	type guest struct {
		Name  string `json:"name"`
		About string `json:"about"`
		Hex   string `json:"hex"`
	}
	parts := guestParts(t)
	files, err := filepath.Glob(filepath.Join(conformanceData, "guests", "*.wat"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	var all []guest
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		about, _, _ := strings.Cut(string(text), "\n")
		data, err := wat.Assemble(expand(t, path, string(text), parts))
		if err != nil {
			t.Fatalf("%s, with its parts included: %v", path, err)
		}
		all = append(all, guest{
			Name: strings.TrimSuffix(filepath.Base(path), ".wat"), About: strings.TrimPrefix(about, ";; "),
			Hex: hex.EncodeToString(patch(t, path, string(text), data)),
		})
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(all); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join(conformanceData, "guests.json"), out.Bytes())
}

// guestParts reads the parts of the .inc files, each after a line ";;= NAME".
func guestParts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(conformanceData, "guests", "*.inc"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	parts := map[string]string{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n;;= ")[1:] {
			name, body, _ := strings.Cut(part, "\n")
			if _, twice := parts[name]; twice {
				t.Fatalf("%s: there are two parts %s", path, name)
			}
			parts[name] = body
		}
	}
	return parts
}

func expand(t *testing.T, path, text string, parts map[string]string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(text) {
		names, stands := strings.CutPrefix(strings.TrimSpace(line), ";;+ ")
		if !stands {
			out.WriteString(line)
			continue
		}
		names, closes := strings.CutSuffix(names, ")")
		for _, name := range strings.Fields(names) {
			body, ok := parts[name]
			if !ok {
				t.Fatalf("%s: there is no part %s", path, name)
			}
			out.WriteString(body + "\n")
		}
		if closes {
			out.WriteString(")\n")
		}
	}
	return out.String()
}

// patch replaces bytes by as many others. The old bytes must occur exactly once.
func patch(t *testing.T, path, text string, module []byte) []byte {
	t.Helper()
	for line := range strings.Lines(text) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), ";; patch: ")
		if !ok {
			continue
		}
		from, to, _ := strings.Cut(args, " ")
		old, err1 := hex.DecodeString(from)
		patched, err2 := hex.DecodeString(to)
		if err1 != nil || err2 != nil || len(old) != len(patched) || bytes.Count(module, old) != 1 {
			t.Fatalf("%s: patch %s: want two hex strings of equal length, the first of which occurs once in the module (it occurs %d times)", path, args, bytes.Count(module, old))
		}
		module = bytes.Replace(module, old, patched, 1)
	}
	return module
}

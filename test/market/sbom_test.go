package market_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

// TestSBOM: CycloneDX's own library reads what Berth writes, and writes the same again.
func TestSBOM(t *testing.T) {
	files, err := filepath.Glob("../../runtime/market/sbom/testdata/*.cdx.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var bom cyclonedx.BOM
		if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var again bytes.Buffer
		if err := cyclonedx.NewBOMEncoder(&again, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(&bom, cyclonedx.SpecVersion1_6); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if got := bytes.ReplaceAll(again.Bytes(), []byte("  "), []byte(" ")); !bytes.Equal(got, text) {
			t.Errorf("%s: it is read as\n%s", file, again.Bytes())
		}
	}
}

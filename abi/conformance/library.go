package conformance

import (
	"bytes"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
)

// The cases and what they use; testdata/README.md describes the format.
//
//go:embed testdata/guests.json testdata/objects.json testdata/cases/*.json testdata/worlds/*.json
var testdata embed.FS

// objects are the objects that cases refer to.
type objects struct {
	Clusters map[string]cluster.Cluster `json:"clusters"`
	Pods     map[string]cluster.Pod     `json:"pods"`
	// Reads are values of the field reads in manifests.
	Reads map[string]json.RawMessage `json:"reads"`
}

// library is all of testdata.
type library struct {
	guests   map[string][]byte
	objects  objects
	families []family
	worlds   []worldFamily
}

// strictly decodes JSON without unknown fields.
func strictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// readLibrary reads testdata.
//
// # Errors
//
// A file is not as the README of testdata says.
func readLibrary() (*library, error) {
	lib := &library{guests: map[string][]byte{}}
	read := func(name string, into any) error {
		text, err := testdata.ReadFile(name)
		if err == nil {
			err = strictly(text, into)
		}
		if err != nil {
			return fmt.Errorf("conformance: %s: %w", name, err)
		}
		return nil
	}
	var guests []struct{ Name, About, Hex string }
	if err := read("testdata/guests.json", &guests); err != nil {
		return nil, err
	}
	for _, g := range guests {
		module, err := hex.DecodeString(g.Hex)
		if err != nil {
			return nil, fmt.Errorf("conformance: guest %s: %w", g.Name, err)
		}
		lib.guests[g.Name] = module
	}
	if err := read("testdata/objects.json", &lib.objects); err != nil {
		return nil, err
	}
	for _, folder := range []string{"testdata/cases", "testdata/worlds"} {
		files, err := testdata.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			name := folder + "/" + f.Name()
			if folder == "testdata/worlds" {
				lib.worlds = append(lib.worlds, worldFamily{})
				err = read(name, &lib.worlds[len(lib.worlds)-1])
			} else {
				lib.families = append(lib.families, family{})
				err = read(name, &lib.families[len(lib.families)-1])
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return lib, nil
}

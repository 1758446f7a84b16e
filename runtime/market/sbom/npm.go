package sbom

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// NPM lists the packages of a package-lock.json of version 2 or 3, but not the package that it
// belongs to, if that has the name own.
func NPM(lock []byte, own string) ([]cdx.Component, error) {
	var f struct {
		Name     string
		Packages map[string]struct {
			Name, Version, Integrity, License, Resolved string
			Dev, Link                                   bool
		}
	}
	if err := json.Unmarshal(lock, &f); err != nil {
		return nil, fmt.Errorf("read package-lock.json: %w", err)
	}
	if f.Packages == nil {
		return nil, errors.New("read package-lock.json: it has no packages: make it again with npm 7 or newer")
	}
	var out []cdx.Component
	for at, p := range f.Packages {
		_, name, installed := cutLast(at, "node_modules/")
		if !installed {
			name = p.Name // a folder of the project
			if name == "" {
				name = path.Base(at)
			}
			if at == "" {
				name = f.Name
			}
		}
		if p.Link || at == "" && name == own {
			continue // a link's folder is there, too
		}
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: name, Version: p.Version, Hashes: integrity(p.Integrity)}
		if installed {
			c.PackageURL = purl("npm", name, p.Version)
		}
		if p.Dev {
			c.Scope = cdx.ScopeExcluded
		}
		if p.License != "" {
			c.Licenses = &cdx.Licenses{{License: &cdx.License{Name: p.License}}}
		}
		out = append(out, c)
	}
	return out, nil
}

func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

// integrity reads digests such as sha512-BASE64, separated by spaces.
func integrity(text string) *[]cdx.Hash {
	var out []cdx.Hash
	for field := range strings.FieldsSeq(text) {
		kind, value, _ := strings.Cut(field, "-")
		algorithm := map[string]cdx.HashAlgorithm{"sha256": cdx.HashAlgoSHA256, "sha384": cdx.HashAlgoSHA384, "sha512": cdx.HashAlgoSHA512}[kind]
		if sum, err := base64.StdEncoding.DecodeString(value); err == nil && algorithm != "" {
			out = append(out, cdx.Hash{Algorithm: algorithm, Value: hex.EncodeToString(sum)})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &out
}

package sbom

import (
	"fmt"
	"net/url"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/pelletier/go-toml/v2"
)

// Cargo lists the crates of a Cargo.lock, but not the crate that it belongs to. The file does not
// tell which crates only tests need.
func Cargo(lock []byte, own string) ([]cdx.Component, error) {
	const registry = "registry+https://github.com/rust-lang/crates.io-index"
	var f struct {
		Package []struct{ Name, Version, Source, Checksum string }
	}
	if err := toml.Unmarshal(lock, &f); err != nil {
		return nil, fmt.Errorf("read Cargo.lock: %w", err)
	}
	var out []cdx.Component
	for _, p := range f.Package {
		if p.Name == own && p.Source == "" {
			continue
		}
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: p.Name, Version: p.Version}
		switch {
		case p.Source == registry:
			c.PackageURL = purl("cargo", p.Name, p.Version)
		case strings.HasPrefix(p.Source, "git+"):
			c.PackageURL = purl("cargo", p.Name, p.Version) + "?vcs_url=" + url.QueryEscape(p.Source)
		case p.Source != "":
			_, address, _ := strings.Cut(p.Source, "+")
			c.PackageURL = purl("cargo", p.Name, p.Version) + "?repository_url=" + url.QueryEscape(address)
		}
		if p.Checksum != "" {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: p.Checksum}}
		}
		out = append(out, c)
	}
	return out, nil
}

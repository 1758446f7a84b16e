package sbom

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

var sdkVersion = regexp.MustCompile(`(?m)^#define BERTH_SDK_VERSION "([^"]+)"`)

// C lists the SDK of a plugin in C, the file berth.h, with its digest, and its version if it names one. C has no lock file, so other
// libraries are not known.
func C(header []byte) []cdx.Component {
	digest := sha256.Sum256(header)
	c := cdx.Component{
		Type: cdx.ComponentTypeLibrary, Name: "berth.h",
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}},
	}
	if found := sdkVersion.FindSubmatch(header); found != nil {
		c.Version = string(found[1])
	}
	return []cdx.Component{c}
}

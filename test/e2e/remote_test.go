package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// files serves the script's files at $FILES.
func (s *script) files([]string) error {
	server := httptest.NewServer(http.FileServer(http.Dir(s.MkAbs("."))))
	s.t.Cleanup(server.Close)
	s.Setenv("FILES", server.URL)
	return nil
}

// registry serves module images as an OCI registry does; each is at the registry $REGISTRY
// under the name of its file without .wasm, with the tag v1.
func (s *script) registry(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("want FILE …")
	}
	content := make(map[string]blob) // by path
	for _, file := range args {
		data, err := os.ReadFile(s.MkAbs(file))
		if err != nil {
			return err
		}
		config := []byte("{}")
		manifest, err := json.Marshal(ocispec.Manifest{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
			Config: describe(oci.ConfigMediaType, config), Layers: []ocispec.Descriptor{describe(oci.LayerMediaType, data)},
		})
		if err != nil {
			return err
		}
		at := "/v2/" + strings.TrimSuffix(file, ".wasm")
		for reference, b := range map[string]blob{
			"/manifests/v1": {ocispec.MediaTypeImageManifest, manifest},
			"/manifests/" + digest.FromBytes(manifest).String(): {ocispec.MediaTypeImageManifest, manifest},
			"/blobs/" + digest.FromBytes(config).String():       {"application/octet-stream", config},
			"/blobs/" + digest.FromBytes(data).String():         {"application/octet-stream", data},
		} {
			content[at+reference] = b
		}
	}
	// The requests of a client that only pulls
	// (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pull).
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := content[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", b.mediaType)
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(b.data).String())
		w.Header().Set("Content-Length", fmt.Sprint(len(b.data)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(b.data) // the caller sees what is missing
		}
	}))
	s.t.Cleanup(server.Close)
	s.Setenv("REGISTRY", strings.TrimPrefix(server.URL, "http://"))
	return nil
}

// blob is a blob of a registry.
type blob struct {
	mediaType string
	data      []byte
}

func describe(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

// metrics prints what a debug socket serves, once a line matches the pattern if there is one.
func (s *script) metrics(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("want SOCKET [PATTERN]")
	}
	pattern, err := regexp.Compile("(?m)" + strings.Join(args[1:], ""))
	if err != nil {
		return err
	}
	for end := time.Now().Add(statusPatience); ; time.Sleep(100 * time.Millisecond) {
		response, err := cluster.SocketClient(args[0]).Get("http://berth/metrics")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return err
		}
		if pattern.Match(text) || time.Now().After(end) {
			_, err = s.Stdout().Write(text)
			return err
		}
	}
}

package module

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/market/oci"
)

// answers is a registry or a web server in memory.
type answers func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	response := a(r)
	response.Request, response.Proto, response.ProtoMajor = r, "HTTP/1.1", 1
	response.Status = strconv.Itoa(response.StatusCode) + " " + http.StatusText(response.StatusCode)
	if r.Method == http.MethodHead {
		response.Body = http.NoBody
	}
	return response, nil
}

func answer(status int, header map[string]string, body []byte) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return r
}

// FuzzImage: whatever a registry answers, a fetch stays within its limit of bytes. It ends with
// a short error, or with the bytes of the digest in the manifest.
func FuzzImage(f *testing.F) {
	layer := []byte("\x00asm\x01\x00\x00\x00")
	manifest := func(layers string) []byte {
		return []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"` + oci.ConfigMediaType +
			`","digest":"` + Digest([]byte("{}")) + `","size":2},"layers":[` + layers + `]}`)
	}
	described := `{"mediaType":"` + oci.LayerMediaType + `","digest":"` + Digest(layer) + `","size":8}`
	const media = "application/vnd.oci.image.manifest.v1+json"
	f.Add(uint16(200), media, "", "", manifest(described), layer)
	f.Add(uint16(200), media, Digest(manifest(described)), "", manifest(described), layer[:5])
	f.Add(uint16(200), media, "sha256:beef", "", manifest(described+","+described), layer)
	f.Add(uint16(200), media, "", "", manifest(strings.Replace(described, ":8}", ":-8}", 1)), layer)
	f.Add(uint16(200), media, "", "", manifest(strings.Replace(described, ":8}", ":67108864}", 1)), layer)
	f.Add(uint16(200), media, "", "", manifest(strings.Repeat("{},", 20_000)+"{}"), layer)
	f.Add(uint16(200), "application/vnd.docker.distribution.manifest.v2+json", "", "", []byte(`{}`), layer)
	f.Add(uint16(401), "application/json", "", `Bearer realm="https://registry.example/token",service="s",scope="repository:r:pull"`, []byte(`{"token":"t"}`), layer)
	f.Add(uint16(404), "application/json", "", "", []byte(`{"errors":[{"code":"NAME_UNKNOWN","message":"`+strings.Repeat("x", 9000)+`"}]}`), layer)
	f.Add(uint16(302), "text/html", "", "", []byte("https://registry.example/v2/r/manifests/elsewhere"), layer)
	f.Fuzz(func(t *testing.T, status uint16, media, digest, challenge string, text, blob []byte) {
		if status < 200 || status > 599 || status == 408 || status == 429 || status >= 500 {
			return // retried after a pause, within the timeout
		}
		header := map[string]string{"Content-Type": media, "Docker-Content-Digest": digest, "Www-Authenticate": challenge, "Location": string(text)}
		s := NewSources(SourcesConfig{Transport: answers(func(r *http.Request) *http.Response {
			if strings.HasSuffix(r.URL.Path, "/blobs/"+Digest([]byte("{}"))) {
				return answer(200, map[string]string{"Content-Type": "application/octet-stream"}, []byte("{}"))
			}
			if strings.Contains(r.URL.Path, "/blobs/") {
				return answer(200, map[string]string{"Content-Type": "application/octet-stream"}, blob)
			}
			return answer(int(status), header, text)
		})})
		input := len(media) + len(digest) + len(challenge) + min(len(text), 1<<20) + len(blob)
		spends(t, input*mostPerByte+2<<20, func() {
			f, err := s.fetchImage(t.Context(), &Reference{Image: "registry.example/r:latest"}, false)
			if err != nil {
				short(t, err)
				return
			}
			if !bytes.Equal(f.data, blob) || !bytes.Contains(text, []byte(Digest(f.data))) {
				t.Errorf("got %x, which is not in the manifest: %s", f.data, text)
			}
		})
	})
}

// TestFetchIsBounded: a fetch reads and keeps no more than its limit.
func TestFetchIsBounded(t *testing.T) {
	endless := func(r *http.Request) *http.Response {
		out := answer(200, map[string]string{"Content-Type": "application/vnd.oci.image.manifest.v1+json"}, nil)
		out.Body, out.ContentLength = io.NopCloser(&letters{}), -1
		return out
	}
	s := NewSources(SourcesConfig{Transport: answers(endless)})
	for name, fetch := range map[string]func() error{
		"a manifest": func() error {
			_, err := s.fetchImage(t.Context(), &Reference{Image: "registry.example/r:latest"}, false)
			return err
		},
		"a redirect": func() error {
			around := NewSources(SourcesConfig{Transport: answers(func(*http.Request) *http.Response {
				return answer(302, map[string]string{"Location": "https://example.com/" + strings.Repeat("x", 60_000)}, nil)
			})})
			_, _, err := around.get(t.Context(), "https://example.com/m.wasm", 1<<20, "")
			return err
		},
	} {
		var err error
		if n := allocated(func() { err = fetch() }); n > 4<<20 {
			t.Errorf("%s: %d bytes were allocated", name, n)
		}
		if err == nil {
			t.Errorf("an endless %s is accepted", name)
		}
		short(t, err)
	}
}

// letters is an endless reader.
type letters struct{}

func (*letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

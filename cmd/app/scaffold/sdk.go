package scaffold

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// Version is that of the SDKs, which is Berth's.
const Version = "0.1.0"

// Files of a project that are about its SDK.
const (
	versionFile = "berth/VERSION"
	// sumsFile has the digests of the SDK's files, so that an update knows what the author changed: sha256sum -c berth/SHA256SUMS.
	sumsFile = "berth/SHA256SUMS"
)

// vendored reports whether a file of a project belongs to the SDK.
func vendored(path string) bool {
	return strings.HasPrefix(path, "berth/") || path == "berth.h" || path == schemaFile
}

// withSums adds the version and the digests of the SDK's files.
func withSums(all []txtar.File) []txtar.File {
	all = append(all, txtar.File{Name: versionFile, Data: []byte(Version + "\n")})
	slices.SortFunc(all, func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) })
	var sums strings.Builder
	for _, f := range all {
		if vendored(f.Name) {
			fmt.Fprintf(&sums, "%s  %s\n", digest(f.Data), f.Name)
		}
	}
	return append(all, txtar.File{Name: sumsFile, Data: []byte(sums.String())})
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Change is a file of the SDK that an update replaces.
type Change struct {
	Path string // relative to the project
	// What is new, changed or removed.
	What string
	// Added and Removed are numbers of lines, of a changed file.
	Added, Removed int
}

// SDK is the SDK of a project, beside the one of this program.
type SDK struct {
	// Version is that of the project; empty if it does not say it.
	Version string
	// Edited are the files that the author changed or deleted. If Unknown is true, the project does not tell which it had, so that they
	// may also be those of another version.
	Edited  []string
	Unknown bool
	// Changes are what Update does, by path.
	Changes []Change

	dir  string
	want map[string][]byte
}

// maxFile is the largest file of an SDK that is read, in bytes.
const maxFile = 4 << 20

// Compare compares the SDK of a project with the one of this program.
//
// # Errors
//
// The project has no SDK of its own, or its list of digests cannot be read.
func Compare(dir, language string) (*SDK, error) {
	switch info, err := os.Lstat(filepath.Join(dir, "berth")); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: it has no folder berth, so no SDK of its own; berth plugin new makes projects that have one", dir)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s: it is no folder (update what it leads to)", filepath.Join(dir, "berth"))
	}
	all, err := files(language)
	if err != nil {
		return nil, err
	}
	s := &SDK{dir: dir, want: map[string][]byte{}}
	for _, f := range all {
		if vendored(f.Name) {
			s.want[f.Name] = f.Data
		}
	}
	sums, err := readSums(dir)
	if errors.Is(err, fs.ErrNotExist) {
		s.Unknown, err = true, nil
	}
	if err != nil {
		return nil, err
	}
	if version, err := bounded.Regular(filepath.Join(dir, versionFile), 64); err == nil {
		s.Version = strings.TrimSpace(string(version))
	}
	paths := maps.Clone(sums)
	for path := range s.want {
		paths[path] = ""
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if path == sumsFile {
			continue
		}
		if err := s.compare(path, sums[path]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// compare looks at one file, which was written with a digest; empty if that is not known.
func (s *SDK) compare(path, was string) error {
	want, wanted := s.want[path]
	have, err := bounded.Regular(filepath.Join(s.dir, filepath.FromSlash(path)), maxFile)
	there := !errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && there:
		return err
	case wanted && there && bytes.Equal(have, want), !wanted && !there:
		return nil
	case !there && was != "":
		s.Edited = append(s.Edited, path+" (deleted)")
	case there && digest(have) != was:
		s.Edited = append(s.Edited, path)
	}
	c := Change{Path: path, What: "changed"}
	switch {
	case !wanted:
		c.What = "removed"
	case !there:
		c.What = "new"
	default:
		c.Removed, c.Added = linesBeside(have, want), linesBeside(want, have)
	}
	s.Changes = append(s.Changes, c)
	return nil
}

// linesBeside returns how many lines of a text are not in another one.
func linesBeside(text, other []byte) int {
	times, n := map[string]int{}, 0
	for line := range bytes.Lines(other) {
		times[string(line)]++
	}
	for line := range bytes.Lines(text) {
		if times[string(line)]--; times[string(line)] < 0 {
			n++
		}
	}
	return n
}

// readSums reads the digests of a project's SDK, by path.
func readSums(dir string) (map[string]string, error) {
	file, sums := filepath.Join(dir, filepath.FromSlash(sumsFile)), map[string]string{}
	data, err := bounded.Regular(file, maxFile)
	if err != nil {
		return sums, err
	}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		sum, path, ok := strings.Cut(strings.TrimSuffix(line, "\r"), "  ")
		if !ok || len(sum) != 2*sha256.Size || !vendored(path) || !filepath.IsLocal(filepath.FromSlash(path)) {
			return nil, fmt.Errorf("%s:%d: %q is not the digest and the name of a file of the SDK; delete the file if it is damaged",
				file, i+1, line)
		}
		sums[path] = sum
	}
	return sums, nil
}

// Update replaces the SDK of the project. If it ends early, a second one does the rest.
func (s *SDK) Update() error {
	for _, c := range s.Changes {
		path := filepath.Join(s.dir, filepath.FromSlash(c.Path))
		if c.What != "new" {
			if err := os.Remove(path); err != nil { // also a link, which is not written through
				return err
			}
		}
		if c.What != "removed" {
			if err := writeFile(path, s.want[c.Path]); err != nil {
				return err
			}
		}
	}
	return writeFile(filepath.Join(s.dir, filepath.FromSlash(sumsFile)), s.want[sumsFile])
}

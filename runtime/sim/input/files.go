package input

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// readFiles reads each path: a file with any extension, and of a directory the *.yaml, *.yml
// and *.json files below it in lexical order. It stops when the context ends.
//
// The path "-" is the standard input. A pipe is read if it is named itself.
func readFiles(ctx context.Context, paths []string, g *gatherer) (out []source) {
	for _, path := range paths {
		if data, is, err := readStream(ctx, path); is {
			if err != nil && ctx.Err() == nil {
				g.add(&Error{File: bounded.Name(path), Detail: reason(err), Fix: "write to it what should be read"})
			}
			out = append(out, source{bounded.Name(path), data})
			continue
		}
		names := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			names, err = listDir(ctx, path)
			if err != nil {
				g.add(&Error{File: path, Detail: err.Error(), Fix: "make the directory readable"})
				continue
			}
			if len(names) == 0 {
				g.add(&Error{File: path, Detail: "the directory has no .yaml, .yml or .json file", Fix: "name another directory, or the file itself"})
			}
		}
		for _, name := range names {
			data, err := readFile(ctx, name)
			if ctx.Err() != nil {
				return out
			}
			if err != nil {
				fix := "name a file or directory that can be read"
				if errors.As(err, new(irregular)) {
					fix = "name a file or folder"
				}
				g.add(&Error{File: name, Detail: reason(err), Fix: fix})
				continue
			}
			out = append(out, source{name, data})
		}
	}
	return out
}

// listDir does not follow links to directories below its own, so it always terminates; it reads
// links to files. It skips hidden files and folders, which belong to editors or tools.
func listDir(ctx context.Context, dir string) (names []string, err error) {
	root := dir + string(filepath.Separator) // follows dir itself if it is a link
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if path != root && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path))) {
			return nil
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil
		}
		names = append(names, path)
		return nil
	})
	return names, err
}

// irregular is the mode of a file that is neither regular nor a folder: opening or reading it
// may block forever.
type irregular fs.FileMode

func (m irregular) Error() string {
	what := "not a regular file"
	switch mode := fs.FileMode(m); {
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return "it is " + what + ", not a file"
}

// readStream reads the standard input or a pipe; is reports whether the path is one of them. It may wait for who writes
// to it, until the context ends.
func readStream(ctx context.Context, path string) (data []byte, is bool, err error) {
	if info, err := os.Stat(path); path != bounded.Stdin && (err != nil || info.Mode()&fs.ModeNamedPipe == 0) {
		return nil, false, nil
	}
	data, err = bounded.File(ctx, path, math.MaxInt64-1)
	return data, true, err
}

// readStep is the number of bytes read between two checks of the context.
const readStep = 4 << 20

// readFile reads a regular file, until the context ends. File errors are *fs.PathError.
func readFile(ctx context.Context, name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: irregular(info.Mode())}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()       // it was only read
	data := make([]byte, 0, info.Size()+1) // one more for the end of the file, so that the buffer does not grow
	for ctx.Err() == nil {
		data = slices.Grow(data, 1)
		n, err := f.Read(data[len(data):min(cap(data), len(data)+readStep)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, context.Cause(ctx)
}

// reason returns the error without the path, which the message already has.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

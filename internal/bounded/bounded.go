// Package bounded reads what comes from outside: files, bodies of requests, answers of servers, and JSON in them. A read
// has a bound of bytes, and a decoding one of the memory that its values take: a few bytes of JSON can name a value of a
// kilobyte, thousands of times.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Settings is the most bytes of a file with configuration, Key of one with a token, a key or certificates, and Program of a program.
const (
	Settings = 4 << 20
	Key      = 1 << 20
	Program  = 1 << 30
)

// TooLarge says that something has more bytes than are read, or that its values take more memory.
type TooLarge struct {
	Most   int64
	Values bool
}

func (e *TooLarge) Error() string {
	if e.Values {
		return fmt.Sprintf("the values up to here take more than %s of memory", size(e.Most))
	}
	return fmt.Sprintf("it is larger than %s", size(e.Most))
}

// size returns a number of bytes as people write it.
func size(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprint(n>>30, " GiB")
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprint(n>>20, " MiB")
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprint(n>>10, " KiB")
	}
	return fmt.Sprint(n, " bytes")
}

// All reads up to most bytes.
//
// # Errors
//
// *TooLarge if there are more, and those of r.
func All(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = &TooLarge{Most: most}
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// File reads a file of up to most bytes, or the standard input if path is [Stdin]. It waits for who writes to a pipe until the
// context ends.
//
// # Errors
//
// *fs.PathError, which wraps *TooLarge if the file has more bytes; the cause of the context's end.
func File(ctx context.Context, path string, most int64) ([]byte, error) {
	text, err := Until(ctx, func() ([]byte, error) {
		if path != Stdin {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			return whole(f, most)
		}
		text, err := All(os.Stdin, most)
		if err != nil && !errors.As(err, new(*fs.PathError)) {
			err = &fs.PathError{Op: "read", Path: Name(path), Err: err}
		}
		return text, err
	})
	return text, stopped(ctx, path, err)
}

// Open opens a file for reading, as File does.
//
// # Errors
//
// *fs.PathError; the cause of the context's end.
func Open(ctx context.Context, path string) (*os.File, error) {
	f, err := Until(ctx, func() (*os.File, error) { return os.Open(path) })
	return f, stopped(ctx, path, err)
}

// stopped says of which file an error of the context's end is.
func stopped(ctx context.Context, path string, err error) error {
	if err != nil && errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("stopped while reading %s: %w", Name(path), err)
	}
	return err
}

// Stdin is the path of the standard input.
const Stdin = "-"

// Name returns a path as texts name it.
func Name(path string) string {
	if path == Stdin {
		return "standard input"
	}
	return path
}

// ErrIrregular is of a file that is neither a regular one nor a link to one.
var ErrIrregular = errors.New("it is not a regular file")

// Regular reads a regular file of up to most bytes: one that is read again later, or that nobody names.
//
// # Errors
//
// *fs.PathError, which wraps ErrIrregular or *TooLarge.
func Regular(path string, most int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	return whole(f, most)
}

// OpenRegular opens a regular file for reading.
//
// # Errors
//
// *fs.PathError, which wraps ErrIrregular for another one.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // to open a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrIrregular}
	}
	if err != nil {
		_ = f.Close() // nothing was read
		return nil, err
	}
	return f, nil
}

// whole reads a file and closes it.
func whole(f *os.File, most int64) ([]byte, error) {
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: &TooLarge{Most: most}}
	}
	text, err := All(f, most)
	if errors.As(err, new(*TooLarge)) {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: err}
	}
	return text, err
}

// Until calls f, which may wait for ever for somebody who writes, as to a pipe, and returns what f does. When the context ends
// first it returns its cause, and what f returns later is lost.
func Until[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

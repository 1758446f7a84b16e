// Package bounded reads what comes from outside: files, bodies of requests, answers of servers, and JSON in them. A read
// has a bound of bytes, and a decoding one of the memory that its values take: a few bytes of JSON can name a value of a
// kilobyte, thousands of times.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// File reads a file of up to most bytes. A pipe that the user names is read like a file; anything endless ends at the bound.
//
// # Errors
//
// *fs.PathError, which wraps *TooLarge if the file has more bytes.
func File(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: path, Err: &TooLarge{Most: most}}
	}
	text, err := All(f, most)
	if errors.As(err, new(*TooLarge)) {
		err = &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return text, err
}

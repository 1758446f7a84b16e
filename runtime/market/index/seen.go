package index

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// seen is a folder that keeps the highest serial of each index that was read. Each index has a
// subfolder, with a file that has the serial as its name and the digest as its content. Files
// are only created and removed, never rewritten, so two processes cannot undo each other's
// entries.
type seen struct{ dir string }

// accept stores the serial of an index. It refuses a serial that is lower than a stored one, or
// that is stored with another digest.
func (s *seen) accept(place string, serial int64, digest string) error {
	sum := sha256.Sum256([]byte(place))
	dir := filepath.Join(s.dir, hex.EncodeToString(sum[:]))
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return forget(dir, err)
	}
	var old []string
	for _, file := range files {
		n, err := strconv.ParseInt(file.Name(), 10, 64)
		switch {
		case err != nil: // the temporary file of a process that was killed
		case n > serial:
			return fmt.Errorf("its serial is %d, and %d was seen before: this is an old index; ask who publishes it (%s remembers serials)", serial, n, dir)
		case n < serial:
			old = append(old, file.Name())
		default:
			text, err := os.ReadFile(filepath.Join(dir, file.Name()))
			if err != nil {
				return forget(dir, err)
			}
			if string(text) != digest {
				return fmt.Errorf("its serial is %d, and another index with this serial was seen before, %.80q: ask who publishes it which one counts (%s remembers serials)", serial, text, dir)
			}
			return nil
		}
	}
	if err := note(dir, strconv.FormatInt(serial, 10), digest); err != nil {
		return forget(dir, err)
	}
	for _, name := range old {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return forget(dir, err)
		}
	}
	return nil
}

// note creates a file atomically.
func note(dir, name, text string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".seen-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// forget explains an error of the folder. Reading stops with it, because without the folder an
// old index would be accepted.
func forget(dir string, err error) error {
	return fmt.Errorf("the serials that were seen: %w: make %s a folder that can be written, or name another with --module-cache", err, dir)
}

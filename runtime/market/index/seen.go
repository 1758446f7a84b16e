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

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/runtime/market/policy"
)

// maxJump is how much higher the serial of an index may be than the last one of the keys that may sign it, or than 0. An index that is
// made every minute gets there in 19 years. Without a bound, an index with the highest serial would be the last.
const maxJump = 10_000_000

// seen is a folder that keeps the highest serial of each index that was read, for each key that signed it. A key that may not sign the
// index any more blocks no serials. Each index has a subfolder for each key, with a file that has the serial as its name and the digest
// as its content. Files are only created and removed, never rewritten, so two processes cannot undo each other's entries.
type seen struct{ dir string }

// accept stores the serial of an index. It refuses a serial that is lower than a stored one, much
// higher, or stored with another digest.
func (s *seen) accept(place string, keys *policy.IndexKeys, serial int64, digest string) error {
	var highest int64
	stored := make(map[string]bool)  // folders that have the serial
	old := make(map[string][]string) // by folder, names of files that are outdated
	for _, key := range keys.Trusted {
		dir := s.of(place, key)
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return forget(dir, err)
		}
		for _, file := range files {
			n, err := strconv.ParseInt(file.Name(), 10, 64)
			if err != nil { // the temporary file of a process that was killed
				continue
			}
			highest = max(highest, n)
			switch {
			case n > serial:
				return fmt.Errorf("its serial is %d, and %d was seen before: this is an old index; "+
					"ask who publishes it to make one with --serial-at-least %d (%s remembers serials)",
					serial, n, n+1, dir)
			case n < serial:
				old[dir] = append(old[dir], file.Name())
				continue
			}
			text, err := bounded.Regular(filepath.Join(dir, file.Name()), 1<<10)
			if err != nil {
				return forget(dir, err)
			}
			if string(text) != digest {
				return fmt.Errorf("its serial is %d, and another index with this serial was seen before, %.80q: "+
					"ask who publishes it which one counts (%s remembers serials)",
					serial, text, dir)
			}
			stored[dir] = true
		}
	}
	if serial-highest > maxJump {
		return fmt.Errorf("its serial is %d, %d more than the last one that was seen, and at most %d are allowed: "+
			"ask who publishes it to give the tag to the index before it, and to make the next one again",
			serial, serial-highest, maxJump)
	}
	for _, key := range keys.Signers {
		dir := s.of(place, key)
		if !stored[dir] {
			if err := note(dir, strconv.FormatInt(serial, 10), digest); err != nil {
				return forget(dir, err)
			}
		}
		for _, name := range old[dir] {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return forget(dir, err)
			}
		}
	}
	return nil
}

// of returns the folder of an index and the ID of a key.
func (s *seen) of(place, key string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	return filepath.Join(s.dir, hash(place), hash(key))
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

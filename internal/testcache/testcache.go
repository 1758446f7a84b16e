// Package testcache keeps what tests compile in the user's cache folder, so that the next run need not do it again.
package testcache

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// weeks is how long a folder is kept, so that the cache does not grow for ever.
const weeks = 2

// Dir returns a folder for one kind of thing and makes it. root is the top folder of the repository: with another go.sum
// or another version of Go the folder is another one, and so it is each week. The name of a file in it must say what
// else its content depends on.
func Dir(root, kind string) (string, error) {
	user, err := os.UserCacheDir()
	if err != nil { // there is no HOME
		user = filepath.Join(os.TempDir(), fmt.Sprint("cache-of-", os.Getuid()))
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return "", err
	}
	all, now := filepath.Join(user, "berth", "tests"), time.Now() //nolint:forbidigo // of folders, which no result depends on
	if err := clean(all, name(now.AddDate(0, 0, -7*weeks))); err != nil {
		return "", err
	}
	key := sha256.Sum256(append(sums, runtime.Version()...))
	dir := filepath.Join(all, fmt.Sprintf("%s-%x", name(now), key[:8]), kind)
	return dir, os.MkdirAll(dir, 0o700)
}

// name of the folders of a week; later ones come later in the alphabet.
func name(t time.Time) string {
	year, week := t.ISOWeek()
	return fmt.Sprintf("%d-%02d", year, week)
}

// clean removes folders of weeks before the named one.
func clean(all, first string) error {
	entries, err := os.ReadDir(all)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() < first {
			if err := os.RemoveAll(filepath.Join(all, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Key is a name for what depends on the files in some folders that have one of the extensions, and on other texts.
// What a package manager has installed is left out: its lock file says what that is.
func Key(folders, extensions []string, texts ...string) (string, error) {
	sum := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(sum, "%q\n", text)
	}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && e.Name() == "node_modules":
				return fs.SkipDir
			case e.IsDir() || !endsIn(path, extensions):
				return nil
			}
			data, err := os.ReadFile(path)
			fmt.Fprintf(sum, "%q %x\n", strings.TrimPrefix(path, folder), sha256.Sum256(data))
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:16]), nil
}

func endsIn(path string, extensions []string) bool {
	for _, e := range extensions {
		if strings.HasSuffix(path, e) {
			return true
		}
	}
	return false
}

// File returns the content of the file of a name in a folder, made if it is not there. Of processes that need the same
// file at once one makes it, and the others wait (where there is flock(2)).
func File(dir, name string, build func() ([]byte, error)) ([]byte, error) {
	path := filepath.Join(dir, name)
	if data, err := os.ReadFile(path); err == nil {
		return data, nil
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if data, err := os.ReadFile(path); err == nil {
		return data, nil
	}
	data, err := build()
	if err != nil {
		return nil, err
	}
	temp, err := os.CreateTemp(dir, "new-") // a process that is killed leaves no part under the name
	if err != nil {
		return nil, err
	}
	_, err = temp.Write(data)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return data, os.Rename(temp.Name(), path)
}

package app

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// createPrivate makes a file that only its owner can read, or empties one that is there and takes others' rights to it away. It
// writes to a pipe or a device as it is.
func createPrivate(file string) (*os.File, error) {
	const mode = 0o600
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		if info.Mode().Perm() != mode {
			err = f.Chmod(mode) // before anything is written, or lost
		}
		if err == nil {
			err = f.Truncate(0)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w (others may read it: name a new file)", err), f.Close())
	}
	return f, nil
}

// writePrivate writes such a file.
func writePrivate(file string, data []byte) error {
	f, err := createPrivate(file)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// warnOpen warns of a folder in which every user of this machine can write. If what others can add there is no danger, it does not
// warn of one where they can neither replace nor remove what is not theirs, as in /tmp. Without a folder it does nothing.
func warnOpen(tell func(text string), flag, dir, danger string, added bool) {
	if dir == "" || runtime.GOOS == "windows" { // where the mode says nothing
		return
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o002 == 0 || info.Mode()&os.ModeSticky != 0 && !added {
		return
	}
	tell(fmt.Sprintf("--%s: every user of this machine can write to %s, and so %s: name another folder, or take that right away with chmod o-w",
		flag, dir, danger))
}

package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/runtime/inbox"
	records "github.com/berth-scheduler/berth/runtime/record"
)

// recordedSuffix is how the names of recordings end.
const recordedSuffix = ".berthrec"

// recordOptions holds the flags about a recording.
type recordOptions struct {
	to    string // file or folder
	reads []string
	size  string        // of a folder
	retry time.Duration // after a failure to write to a folder; 0 for a minute
}

func (o *recordOptions) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.reads, "record-reads", nil, "record these `ANNOTATIONS` too, which no plugin declares to read; a final * means a prefix")
}

// recording is a recording that is being written. A nil recording records nothing.
type recording struct {
	*records.Writer
	file *recordFile // nil if none could be written
	tell func(text string)
	// lacks is why the recording cannot be replayed, as it was logged last.
	lacks string
	// short is true if the recording ended before the scheduler did, and stopped while it is not written.
	short, stopped bool
}

// segments is into how many parts the size of a folder is divided. A segment has one, or up to segments/2 if pods in flight
// keep another one from beginning.
const segments = 16

// recorder returns it for a scheduler: nil must become a nil interface.
func (r *recording) recorder() inbox.Recorder {
	if r == nil {
		return nil
	}
	return r
}

// Enter says at the start, and when plugins are replaced, whether the recording can be replayed.
func (r *recording) Enter(e inbox.Event) {
	lacks := r.lacks
	switch e := e.(type) {
	case *inbox.Settings:
		lacks = e.Lacks
	case *inbox.Swap:
		lacks = e.Lacks
	}
	if lacks != r.lacks && lacks != "" {
		r.tell("from here on the recording cannot be replayed: " + lacks)
	}
	r.lacks = lacks
	r.Writer.Enter(e)
}

// isShort reports whether a recording that is closed ended before the scheduler did, as tell was told.
func (r *recording) isShort() bool { return r != nil && r.short }

// close ends the recording.
func (r *recording) close() error {
	if r == nil {
		return nil
	}
	r.Close()
	if r.file == nil {
		return nil
	}
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	return nil
}

// begin begins a recording in a file, or without one where c.Next says.
func begin(file *recordFile, c records.Config, tell func(text string)) (*recording, error) {
	r := &recording{file: file, tell: tell}
	ended := c.Ended
	c.Ended = func(err error) {
		r.short = true
		where := "a recording"
		if r.file != nil {
			where = "the recording " + r.file.Name()
		}
		if c.Retry > 0 {
			err = fmt.Errorf("%w (pods are scheduled all the same; it is tried again after %v)", err, c.Retry)
		}
		if !r.stopped { // the first try says it
			tell(fmt.Sprintf("%s ends here: %v", where, err))
		}
		r.stopped = true
		if ended != nil {
			ended(err)
		}
	}
	resumed := c.Resumed
	c.Resumed = func(missing int) {
		r.stopped = false
		if missing > 0 {
			tell(fmt.Sprintf("the recording goes on; %s since the last segment are in none", count(missing, "decision")))
		}
		if resumed != nil {
			resumed(missing)
		}
	}
	if next := c.Next; next != nil {
		c.Next = func() (io.Writer, error) {
			if last := r.file; last != nil {
				r.file = nil
				if err := errors.Join(last.Close(), tidy(last.Name())); err != nil {
					tell(fmt.Sprintf("the recording %s: %v", last.Name(), err))
				}
			}
			out, err := next()
			if err != nil {
				return nil, err
			}
			r.file = out.(*recordFile)
			return out, nil
		}
	}
	var out io.Writer
	if file != nil {
		out = file
	}
	var err error
	if r.Writer, err = records.NewWriter(out, c); err != nil {
		return nil, errors.Join(fmt.Errorf("--record: %w", err), file.Close())
	}
	return r, nil
}

// tidy removes a recording without an event: the disk was full.
func tidy(file string) error {
	info, err := os.Stat(file)
	if err == nil && info.Size() <= int64(len(records.Header)) {
		err = os.Remove(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// recordFile is a file of a recording.
type recordFile struct {
	*os.File
	left  int64  // how much is written before grown is called
	every int64  // and then again
	grown func() // optional
}

// Write implements io.Writer.
func (f *recordFile) Write(p []byte) (int, error) {
	if f.left -= int64(len(p)); f.left < 0 && f.grown != nil {
		f.left = f.every
		f.grown()
	}
	return f.File.Write(p)
}

func create(file string) (*recordFile, error) {
	f, err := createPrivate(file)
	return &recordFile{File: f}, err
}

// toFile begins the recording of a simulation; nil if none is wanted.
func (o *recordOptions) toFile(stderr io.Writer) (*recording, error) {
	if o.to == "" {
		return nil, nil
	}
	f, err := create(o.to)
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	return begin(f, records.Config{}, plainly(stderr))
}

// recordState is told whether a recording is written, and why not.
type recordState interface{ Recording(err error) }

// toFolder begins the recording of berth run; nil if none is wanted. It removes the oldest recordings of
// the folder, so that all of them with the new one have room. If nothing can be written, it is tried again.
func (o *recordOptions) toFolder(log *slog.Logger, state recordState) (*recording, error) {
	if o.to == "" {
		return nil, nil
	}
	size, err := resource.ParseQuantity(o.size)
	if err != nil || size.Value() < 16<<20 {
		return nil, fmt.Errorf("--record-size: %q is not a size of at least 16Mi; write for example 1Gi", o.size)
	}
	part := size.Value() / segments
	next := func() (io.Writer, error) {
		if err := os.MkdirAll(o.to, 0o700); err != nil {
			return nil, err
		}
		name := time.Now().UTC().Format("20060102T150405.000000000Z") + recordedSuffix
		if err := shrink(o.to, "", size.Value()-2*part); err != nil {
			return nil, err
		}
		f, err := create(filepath.Join(o.to, name))
		if err != nil {
			return nil, err
		}
		f.left, f.every = 2*part, part
		f.grown = func() {
			if err := shrink(o.to, name, size.Value()-2*part); err != nil {
				log.Warn("old recordings could not be removed", "error", err)
			}
		}
		return f, nil
	}
	state.Recording(nil)
	return begin(nil, records.Config{
		MaxBytes: size.Value() / 2, SegmentBytes: part, Retry: cmp.Or(o.retry, time.Minute), Patience: 5 * time.Second, Next: next,
		Ended: state.Recording, Resumed: func(int) { state.Recording(nil) },
	}, func(text string) { log.Warn(text) })
}

// shrink removes the oldest recordings of a folder until the others have at most some bytes. Their names
// are in the order of their times. current stays, and counts.
func shrink(dir, current string, most int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(entries) {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), recordedSuffix) {
			continue
		}
		if most -= info.Size(); most < 0 && e.Name() != current {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) { // others may clear up, too
				return err
			}
		}
	}
	return nil
}

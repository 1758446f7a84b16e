package app

import (
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
	size  string // of a folder
}

func (o *recordOptions) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.reads, "record-reads", nil, "record these `ANNOTATIONS` too, which no plugin declares to read; a final * means a prefix")
}

// recording is a recording that is being written. A nil recording records nothing.
type recording struct {
	*records.Writer
	file *os.File
	tell func(text string)
	// lacks is why the recording cannot be replayed, as it was logged last.
	lacks string
	// short is true if the recording ended before the scheduler did.
	short bool
}

// segments is into how many parts the size of a folder is divided. A segment has one, or two if the scheduler
// was too busy to begin another.
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
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	return nil
}

// begin begins a recording in a file.
func begin(file string, c records.Config, tell func(text string)) (*recording, error) {
	f, err := create(file)
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	r := &recording{file: f, tell: tell}
	c.Ended = func(err error) {
		r.short = true
		tell(fmt.Sprintf("the recording %s ends here: %v", r.file.Name(), err))
	}
	if next := c.Next; next != nil {
		c.Next = func() (io.Writer, error) {
			out, err := next()
			if err != nil {
				return nil, err
			}
			last := r.file
			r.file = out.(*os.File)
			return out, errors.Join(last.Close(), tidy(last.Name()))
		}
	}
	r.Writer, err = records.NewWriter(f, c)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--record: %w", err), f.Close())
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

func create(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

// toFile begins the recording of a simulation; nil if none is wanted.
func (o *recordOptions) toFile(stderr io.Writer) (*recording, error) {
	if o.to == "" {
		return nil, nil
	}
	return begin(o.to, records.Config{}, plainly(stderr))
}

// toFolder begins the recording of berth run; nil if none is wanted. It removes the oldest recordings of
// the folder, so that all of them with the new one have room.
func (o *recordOptions) toFolder(log *slog.Logger) (*recording, error) {
	if o.to == "" {
		return nil, nil
	}
	size, err := resource.ParseQuantity(o.size)
	if err != nil || size.Value() < 16<<20 {
		return nil, fmt.Errorf("--record-size: %q is not a size of at least 16Mi; write for example 1Gi", o.size)
	}
	if err := os.MkdirAll(o.to, 0o700); err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	part := size.Value() / segments
	next := func() (string, error) {
		name := time.Now().UTC().Format("20060102T150405.000000000Z") + recordedSuffix
		return filepath.Join(o.to, name), shrink(o.to, size.Value()-2*part)
	}
	file, err := next()
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	return begin(file, records.Config{MaxBytes: 2 * part, SegmentBytes: part, Retry: time.Minute, Patience: 5 * time.Second, Next: func() (io.Writer, error) {
		file, err := next()
		if err != nil {
			return nil, err
		}
		return create(file)
	}}, func(text string) { log.Warn(text) })
}

// shrink removes the oldest recordings of a folder until the others have at most some bytes. Their names
// are in the order of their times.
func shrink(dir string, most int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(entries) {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), recordedSuffix) {
			continue
		}
		if most -= info.Size(); most < 0 {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) { // others may clear up, too
				return err
			}
		}
	}
	return nil
}

package app

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// The bar appears after showAfter, and is redrawn at most every redrawEvery.
const (
	showAfter   = 700 * time.Millisecond
	redrawEvery = 100 * time.Millisecond
)

// progress is a bar on a terminal for long runs.
type progress struct {
	bar          *progressbar.ProgressBar
	start, drawn time.Time
	// portion (optional) returns how much is done, in percent; otherwise it is the number of pods.
	portion func() int
}

// newProgress returns a bar for n pods, or nil if w is not a terminal.
func newProgress(w io.Writer, n int) *progress {
	if !isTerminal(w) {
		return nil
	}
	return &progress{bar: newBar(w, n, width(w), progressbar.OptionShowCount()), start: time.Now()}
}

// newPortion returns a bar for what is done in percent, or nil if w is not a terminal.
func newPortion(w io.Writer, portion func() int) *progress {
	if !isTerminal(w) {
		return nil
	}
	return &progress{bar: newBar(w, 100, width(w)), start: time.Now(), portion: portion}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func (p *progress) set(done int) {
	if p == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.start) < showAfter || now.Sub(p.drawn) < redrawEvery {
		return
	}
	p.drawn = now
	// The rate of the bar itself ignores the time before the first drawing.
	doing, rate := "scheduling %.0f pods/s", float64(done)/now.Sub(p.start).Seconds()
	if p.portion != nil {
		doing, done = "repeating %.0f decisions/s", p.portion()
	}
	p.bar.Describe(fmt.Sprintf(doing, rate))
	_ = p.bar.Set(done) // the run goes on without a bar
}

// beside is the number of characters beside the bar, such as
// "scheduling 100000 pods/s 100% || (1000000/1000000) ".
const beside = 52

func newBar(w io.Writer, total, width int, more ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions(total, append(more,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(min(max(width-beside, 5), 40)),
		progressbar.OptionSetDescription("scheduling"),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetRenderBlankState(false),
		progressbar.OptionClearOnFinish(),
	)...)
}

// close erases the bar.
func (p *progress) close() {
	if p != nil && !p.drawn.IsZero() {
		_ = p.bar.Clear()
	}
}

package record

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Guard calls a function that uses what a recording has. No API server has checked the objects of a recording that was edited, so
// a panic is an error of the recording. log is optional.
func Guard(log *slog.Logger, call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if log != nil {
				log.Error("panic", "reason", r, "stack", string(debug.Stack()))
			}
			err = fmt.Errorf("%v (if the recording is as it was written, please report this)", r)
		}
	}()
	return call()
}

package plugin

import (
	"errors"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi"
)

// Status is the answer of a plugin to one call. A nil Status is success.
type Status struct {
	Code abi.Code
	// Plugin is the plugin that answered; the pipeline sets it.
	Plugin string
	// Reasons are for people, in kube-scheduler's words if it has them.
	Reasons []string
	// Err is the cause of an Error.
	Err error
	// RetryAfter is, of a rejection of PreEnqueue, how soon the pod is asked about again, whatever events come; 0 leaves it to events.
	RetryAfter time.Duration
}

// NewStatus returns a status with reasons.
func NewStatus(code abi.Code, reasons ...string) *Status {
	return &Status{Code: code, Reasons: reasons}
}

// Fail returns an Error status; nil for a nil error.
func Fail(err error) *Status {
	if err == nil {
		return nil
	}
	return &Status{Code: abi.Error, Err: err}
}

// Is reports whether the status has the code; a nil status is Success.
func (s *Status) Is(code abi.Code) bool { return s.CodeOf() == code }

// CodeOf returns the code; a nil status is Success.
func (s *Status) CodeOf() abi.Code {
	if s == nil {
		return abi.Success
	}
	return s.Code
}

// Success reports whether the plugin has no objection.
func (s *Status) Success() bool { return s.CodeOf() == abi.Success }

// Rejected reports whether the plugin says that the pod cannot be placed.
func (s *Status) Rejected() bool { return s.CodeOf().Rejected() }

// AllReasons returns the error's text, if any, and the reasons.
func (s *Status) AllReasons() []string {
	if s == nil {
		return nil
	}
	if s.Err != nil {
		return append([]string{s.Err.Error()}, s.Reasons...)
	}
	return s.Reasons
}

// Message returns the reasons separated by commas.
func (s *Status) Message() string { return strings.Join(s.AllReasons(), ", ") }

// AsError returns an error for a status that is neither success nor Wait nor
// Skip.
func (s *Status) AsError() error {
	switch s.CodeOf() {
	case abi.Success, abi.Wait, abi.Skip:
		return nil
	}
	if s.Err != nil {
		return s.Err
	}
	return errors.New(s.Message())
}

// By returns the status with the plugin's name set.
func (s *Status) By(plugin string) *Status {
	if s != nil && s.Plugin == "" {
		s.Plugin = plugin
	}
	return s
}

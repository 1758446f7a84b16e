package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// envPrefix is the prefix of environment variables: --log-level is BERTH_LOG_LEVEL.
const envPrefix = "BERTH"

// Source says where the value of a flag comes from.
type Source int

// The sources, from weakest to strongest.
const (
	FromDefault Source = iota
	FromFile
	FromEnv
	FromFlag
)

// String names the source for messages.
func (s Source) String() string {
	switch s {
	case FromFile:
		return "file"
	case FromEnv:
		return "environment"
	case FromFlag:
		return "flag"
	default:
		return "default"
	}
}

// Settings are the flags of a command, completed from the environment and the settings file.
type Settings struct {
	sources map[string]Source
}

// NewSettings sets every flag that is not on the command line from the environment (BERTH_ and
// the name in capitals, dashes as underscores; an empty variable counts as absent, and so does one of a Service) or else from
// the YAML file; an empty file name means none. Values go through the flag's own Set, so the
// command reads its flags as usual, and Changed is true for them. A value reaches Set as
// written in the file: 1.10 stays 1.10 for a string flag. The flag "help" cannot be set this
// way.
//
// The error joins one *Error per mistake: unknown keys in the file, and values that a flag
// refuses. Path is the key or the variable. After an error some flags may be set.
func NewSettings(ctx context.Context, flags *pflag.FlagSet, file string) (*Settings, error) {
	v := viper.New()
	err := v.BindPFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if inEnv(f.Name) {
			err = errors.Join(err, v.BindEnv(f.Name, envName(f.Name)))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("bind flags: %w", err)
	}
	inFile, mistakes, err := readSettingsFile(ctx, v, flags, file)
	if err != nil {
		return nil, err
	}

	s := &Settings{sources: map[string]Source{}}
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		_, filed := inFile[f.Name]
		s.sources[f.Name] = sourceOf(f, filed)
		switch s.sources[f.Name] {
		case FromEnv:
			if err := setFlag(flags, f, v.Get(f.Name)); err != nil {
				errs = append(errs, &Error{Path: envName(f.Name), Detail: err.Error(), Fix: valueFix(f)})
			}
		case FromFile:
			if err := setFlag(flags, f, v.Get(f.Name)); err != nil {
				mistakes = append(mistakes, &Error{File: file, Line: inFile[f.Name], Path: f.Name, Detail: err.Error(), Fix: valueFix(f)})
			}
		}
	})
	slices.SortStableFunc(mistakes, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	for _, m := range mistakes {
		errs = append(errs, m)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// Source returns where the value of the named flag comes from; FromDefault for an unknown flag.
func (s *Settings) Source(flag string) Source { return s.sources[flag] }

func sourceOf(f *pflag.Flag, inFile bool) Source {
	switch {
	case f.Changed:
		return FromFlag
	case inEnv(f.Name):
		return FromEnv
	case inFile:
		return FromFile
	}
	return FromDefault
}

// inEnv reports whether a variable sets a flag. For a Service berth, or berth-leader, Kubernetes gives the containers of its namespace the
// variables BERTH_PORT and BERTH_LEADER_PORT, with values such as tcp://10.0.0.1:443. These are no settings.
func inEnv(flag string) bool {
	name := envName(flag)
	value := os.Getenv(name)
	protocol, _, ofService := strings.Cut(value, "://")
	return value != "" && (!ofService || !strings.HasSuffix(name, "_PORT") || !slices.Contains([]string{"tcp", "udp", "sctp"}, protocol))
}

func envName(flag string) string {
	return envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setFlag sets f to a string or, from a file only, to the list of strings that viper found.
func setFlag(flags *pflag.FlagSet, f *pflag.Flag, value any) error {
	texts, ok := value.([]string)
	if !ok {
		return refused(flags.Set(f.Name, fmt.Sprint(value)), fmt.Sprint(value))
	}
	into, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return errors.New("invalid value: a list for a flag that takes one value")
	}
	if err := into.Replace(texts); err != nil {
		return refused(err, strings.Join(texts, ","))
	}
	f.Changed = true
	return nil
}

// refused rewrites the error of a flag's Set without the flag's name, because the user wrote a
// variable or a key.
func refused(err error, value string) error {
	if err == nil {
		return nil
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		err = invalid.Unwrap()
	}
	var number *strconv.NumError
	if errors.As(err, &number) {
		err = number.Err // without the value, which the message has already
	}
	return fmt.Errorf("invalid value %q: %w", value, err)
}

// valueFix says what the flag accepts, if its type is known.
func valueFix(f *pflag.Flag) string {
	switch t := f.Value.Type(); {
	case t == "bool":
		return "give true or false"
	case t == "duration":
		return "give a duration such as 10s"
	case strings.HasPrefix(t, "int"):
		return "give an integer"
	case strings.HasPrefix(t, "uint"):
		return "give an integer that is not negative"
	case strings.HasPrefix(t, "float"):
		return "give a number"
	case strings.HasSuffix(t, "Slice") || strings.HasSuffix(t, "Array"):
		return "give a value or a list of values"
	default:
		return ""
	}
}

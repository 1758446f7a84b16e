package app

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
)

// indexOptions holds the flags of commands that read an index.
type indexOptions struct {
	marketOptions
	index  string
	policy string
	cache  compileOptions
}

func (o *indexOptions) flags(f *pflag.FlagSet) {
	indexFlag(f, &o.index)
	f.StringVar(&o.policy, "verification-policy", "", "VerificationPolicy `FILE` that says who signs the index")
	f.StringVar(&o.cache.cache, "module-cache", "", "`DIR` that remembers the serials of indexes, or none; berth/indexes in the user's cache folder if not given")
	o.marketOptions.flags(f)
}

// indexUsage is the help of --index where it is needed.
const indexUsage = "`REFERENCE` of the index, as in ghcr.io/team/index"

func indexFlag(f *pflag.FlagSet, to *string) { f.StringVar(to, "index", "", indexUsage) }

// read reads the index of the flags.
func (o *indexOptions) read(ctx context.Context, client *oci.Client, tell func(string)) (*index.File, error) {
	rules, err := readPolicy(ctx, "verification-policy", o.policy)
	if err != nil {
		return nil, err
	}
	return readIndex(ctx, client, o.index, rules, &o.cache, tell)
}

// readIndex reads an index that the policy believes, and tells of keys that will sign it later.
func readIndex(
	ctx context.Context, client *oci.Client, reference string, rules *policy.Policy, cache *compileOptions, tell func(string),
) (*index.File, error) {
	if reference == "" {
		return nil, errors.New("--index is missing: name the index, or set BERTH_INDEX")
	}
	if rules == nil {
		return nil, errors.New("--verification-policy is missing: an index is believed if the policy's indexes say who signs it")
	}
	ref, err := oci.ParseReference(reference)
	if err != nil {
		return nil, err
	}
	seen, err := cache.serials()
	if err != nil {
		return nil, err
	}
	return (&index.Reader{Client: client, Judge: rules.JudgeIndex, Seen: seen, Now: time.Now, Tell: tell}).Read(ctx, ref)
}

// serials returns the folder that remembers the serials of indexes; empty for none, if
// that is what the flag says.
func (o *compileOptions) serials() (string, error) {
	dir, _, err := o.cacheDir()
	if err == nil && dir == "" && o.cache != noCache {
		err = errors.New("no folder remembers the serials of indexes: name one with --module-cache")
	}
	if err != nil || dir == "" {
		return "", err
	}
	return besideModules(dir, o.cache == "", "indexes"), nil
}

// besideModules returns a folder for other things than compiled modules: beside them in the
// user's cache, or in the folder that the user named.
func besideModules(dir string, users bool, name string) string {
	if users {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, name)
}

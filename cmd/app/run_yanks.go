package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/telemetry"
)

// How often the index is read again, and how long a start waits for it.
const (
	indexEvery = time.Hour
	indexWait  = 10 * time.Second
)

// yanks tells which modules in use are yanked. It stops none of them: a registry that
// does not answer must not keep a scheduler from starting, and neither may the signer
// of the index. Nil knows of no yanks.
type yanks struct {
	read func(context.Context) (*index.File, error)
	// told is told whether the index could be read, and reports whether that has changed.
	told func(error) (changed bool)
	file atomic.Pointer[index.File]
}

// newYanks returns the yanks of --index; nil without one.
func (o *runOptions) newYanks(ctx context.Context, parts *optional) (*yanks, error) {
	if o.index == "" {
		return nil, nil
	}
	rules, err := readPolicy(ctx, "verification-policy", o.modules.policy)
	if err != nil {
		return nil, err
	}
	if rules == nil {
		return nil, errors.New("--index needs --verification-policy: the policy's indexes say who signs it")
	}
	if _, err := oci.ParseReference(o.index); err != nil {
		return nil, fmt.Errorf("--index: %w", err)
	}
	return &yanks{read: o.readIndexWith(rules), told: func(err error) bool { return parts.tell(partIndex, err) }}, nil
}

func (o *runOptions) readIndexWith(rules *policy.Policy) func(context.Context) (*index.File, error) {
	return func(ctx context.Context) (*index.File, error) {
		ctx, cancel := context.WithTimeout(ctx, indexWait)
		defer cancel()
		return readIndex(ctx, oci.New(oci.Config{}), o.index, rules, &o.modules.compileOptions, nil)
	}
}

// begin reads the index, and warns of modules that are yanked.
func (y *yanks) begin(ctx context.Context, digests []string, tell func(string)) {
	if y == nil {
		return
	}
	f, err := y.read(ctx)
	y.told(err)
	if err != nil {
		tell(fmt.Sprintf("%v: it is not known which plugins are yanked", err))
		return
	}
	y.file.Store(f)
	for _, digest := range digests {
		if p, v := f.Yanked(digest); v != nil {
			tell(fmt.Sprintf("%s %s (%s) is yanked: %s", p.Name, v.Version, short(digest), v.Yanked))
		}
	}
}

// follow reads the index again from time to time, sooner after a failure, until the context ends, and logs
// yanks of modules that are in use.
func (y *yanks) follow(ctx context.Context, every, again time.Duration, status func() assembly.Status, log *slog.Logger) {
	next := every
	if y.file.Load() == nil {
		next = again
	}
	ticker := time.NewTicker(next)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		f, err := y.read(ctx)
		changed := y.told(err)
		if err != nil {
			if ticker.Reset(again); changed {
				log.Warn("the index cannot be read; yanks are those of the last time", "error", err)
			}
			continue
		}
		if ticker.Reset(every); changed {
			log.Info("the index can be read again")
		}
		before := y.known(status())
		y.file.Store(f)
		after := y.known(status())
		for i := range after {
			if after[i].Yanked && (i >= len(before) || !before[i].Yanked) {
				yank := y.of(after[i].Digest)
				log.Warn("a plugin in use is yanked", "plugin", after[i].Plugin, "profile", after[i].Profile, "digest", after[i].Digest,
					"severity", yank.Severity, "reason", yank.Reason, "fixed", yank.Fixed, "successor", yank.Successor)
			}
		}
	}
}

// of returns why a module is yanked; nil if it is not, or nobody knows.
func (y *yanks) of(digest string) *index.Yank {
	if y == nil {
		return nil
	}
	f := y.file.Load()
	if f == nil {
		return nil
	}
	if _, v := f.Yanked(digest); v != nil {
		return v.Yanked
	}
	return nil
}

// known returns for each module in use whether it is yanked; none without an index.
func (y *yanks) known(s assembly.Status) []telemetry.Yank {
	if y == nil || y.file.Load() == nil {
		return nil
	}
	var out []telemetry.Yank
	for i := range s.Plugins {
		p := &s.Plugins[i]
		out = append(out, telemetry.Yank{PluginOf: telemetry.PluginOf{Plugin: p.Name, Profile: p.Profile}, Digest: p.Digest, Yanked: y.of(p.Digest) != nil})
	}
	return out
}

package filestore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

func (s *directory) Acquire(ctx context.Context, key run.Key, h record.Holder) (lease record.Lease, err error) {
	err = s.change(ctx, key, func(f file, t tip) error {
		now := s.now()
		if t.head.HeldAt(now) {
			return &record.HeldError{Holder: t.head.Holder, Until: t.head.HeldUntil}
		}
		// The line may be lost in a power cut. The clock prevents that its epoch is used again.
		t.head.Epoch = max(t.head.Epoch+1, ledger.FirstEpoch(now))
		t.head.HeldUntil, t.head.TTL, t.head.Holder = now.Add(h.TTL), h.TTL, h.Name
		lease = record.Lease{Key: key, Epoch: t.head.Epoch, Seq: t.head.Seq, Created: t.head.Created}
		return s.write(f, t, &line{Head: t.head}, false)
	})
	if err != nil {
		return record.Lease{}, wrap("acquire", key, err)
	}
	return lease, nil
}

// Renew implements [record.Store]. Runs that share a lock are renewed one after the other, and others at the
// same time, because another process may block some of the locks.
func (s *directory) Renew(ctx context.Context, leases []record.Lease, ttl time.Duration) []error {
	byLock := map[string][]int{}
	for i, lease := range leases {
		stripe := stripeOf(nameOf(lease.Key))
		byLock[stripe] = append(byLock[stripe], i)
	}
	errs := make([]error, len(leases))
	var all sync.WaitGroup
	for _, indexes := range byLock {
		all.Go(func() {
			for _, i := range indexes {
				lease := leases[i]
				errs[i] = wrap("renew the lease of", lease.Key, s.setLease(ctx, lease, s.now().Add(ttl), ttl))
			}
		})
	}
	all.Wait()
	return errs
}

func (s *directory) Release(ctx context.Context, lease record.Lease) error {
	err := s.setLease(ctx, lease, time.Time{}, 0)
	if errors.Is(err, record.ErrConflict) {
		return nil
	}
	return wrap("release", lease.Key, err)
}

// setLease sets the end of a lease. It writes nothing if the lease has that end already.
func (s *directory) setLease(ctx context.Context, lease record.Lease, until time.Time, ttl time.Duration) error {
	return s.changeAs(ctx, lease, func(f file, t tip) error {
		if t.head.HeldUntil.Equal(until) {
			return nil
		}
		t.head.HeldUntil, t.head.TTL = until, ttl
		return s.write(f, t, &line{Head: t.head}, false)
	})
}

func (s *directory) Delete(ctx context.Context, key run.Key) error {
	return wrap("delete", key, s.locked(ctx, nameOf(key), func() error { return s.delete(key) }))
}

func (s *directory) delete(key run.Key) error {
	name := nameOf(key)
	last, _ := s.lastHead(name)
	if err := s.removeBlobs(key); err != nil { // first, so that no blob remains without its run
		return err
	}
	if err := s.remove(s.path(filepath.Join(cancelDir, name))); err != nil { // a later run may have the same time of creation
		return err
	}
	err := s.files.Remove(s.path(name))
	if err == nil {
		_ = ledger.AwaitEpoch(last.Epoch, func() (time.Time, error) { return s.now(), nil })
		s.removeMarks(marksOf(last), nil)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) { // also if another process ended before its sync
		return s.syncDir(s.dir)
	}
	return err
}

// cancelDir is the directory of requests to cancel runs: a file for each, with the name of the
// run's file. Lists of runs and older versions ignore it.
const cancelDir = "wishes"

// cancelRequest is the content of a file in that directory.
type cancelRequest struct {
	Key     run.Key   `json:"key"`
	Seq     uint64    `json:"seq"`
	Created time.Time `json:"created"` // when the run was created: a later run may have the same key
}

func (s *directory) RequestCancel(ctx context.Context, key run.Key) error {
	return wrap("request to cancel", key, s.change(ctx, key, func(_ file, t tip) error {
		if t.head.Status.Ended() {
			return nil
		}
		data, err := json.Marshal(cancelRequest{key, t.head.Seq, t.head.Created})
		if err != nil {
			return err
		}
		return s.writeChecked(s.path(filepath.Join(cancelDir, nameOf(key))), data)
	}))
}

// CancelRequests implements [record.Store]. It removes requests for runs that
// have ended or do not exist, and skips damaged requests and those for damaged runs.
func (s *directory) CancelRequests(ctx context.Context) (map[run.Key]uint64, error) {
	open := map[run.Key]uint64{}
	names, err := s.runNames(cancelDir)
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		if c, err := s.readCancel(ctx, name); err == nil && c != nil {
			open[c.Key] = c.Seq
		}
	}
	return subject.Result(open, cmp.Or(ctx.Err(), err), "list cancel requests")
}

// readCancel returns the request in a file, or nil after removing one that no longer applies.
func (s *directory) readCancel(ctx context.Context, name string) (*cancelRequest, error) {
	path := s.path(filepath.Join(cancelDir, name))
	data, err := s.readChecked(path)
	if err != nil {
		return nil, err
	}
	c := new(cancelRequest)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, err
	}
	h, err := s.runHead(ctx, name)
	if errors.Is(err, record.ErrNotFound) || err == nil && (h.Status.Ended() || !h.Created.Equal(c.Created)) {
		// By now the file may have a newer request, for a new run with that key. CancelRun repeats it.
		_ = s.files.Remove(path)
		return nil, nil
	}
	return c, err
}

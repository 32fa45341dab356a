package filestore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

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
		return s.writeCancel(cancelRequest{key, t.head.Seq, t.head.Created})
	}))
}

func (s *directory) writeCancel(c cancelRequest) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return s.writeChecked(s.path(filepath.Join(cancelDir, nameOf(c.Key))), data)
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

package record

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// CheckRecords checks the arguments of [Store.Append] to a run with the head stored, for implementations. Without
// stored, it checks those of [Store.Create], and ignores the lease. The error names the run, and matches [ErrConflict]
// if the lease is not the latest or the records do not follow the last one.
func CheckRecords(stored *run.Head, lease Lease, head run.Head, records []run.Record) error {
	if stored == nil {
		return checkCreate(head, records)
	}
	id := stored.Key.ID
	switch {
	case lease.Key != stored.Key || head.Key != stored.Key:
		return subject.Errorf("append to run %q: the lease and the head are of runs %q and %q", id, lease.Key.ID, head.Key.ID)
	case lease.Epoch != stored.Epoch:
		return subject.Errorf("append to run %q as its holder %d, where the holder is %d: %w", id, lease.Epoch, stored.Epoch, ErrConflict)
	case len(records) > 0 && records[0].Seq != stored.Seq+1:
		return subject.Errorf("append record %d to run %q, which has %d: %w", records[0].Seq, id, stored.Seq, ErrConflict)
	}
	if err := checkOrder(stored.Seq, head, records); err != nil {
		return subject.Errorf("append to run %q: %w", id, err)
	}
	return nil
}

func checkCreate(head run.Head, records []run.Record) error {
	if err := ledger.CheckKey(head.Key); err != nil {
		return subject.Errorf("create run %q: %w", head.Key.ID, err)
	}
	before := uint64(0)
	if len(records) > 0 && records[0].Seq > 0 && ledger.Begins(records[0]) { // an imported run whose first records were pruned
		before = records[0].Seq - 1
	}
	if err := checkOrder(before, head, records); err != nil {
		return subject.Errorf("create run %q: %w", head.Key.ID, err)
	}
	return nil
}

// checkOrder checks that records follow number seq and that the head has the number of the last one.
func checkOrder(seq uint64, head run.Head, records []run.Record) error {
	if len(records) == 0 {
		return errors.New("there are no records")
	}
	for _, r := range records {
		seq++
		if r.Seq != seq {
			return fmt.Errorf("got record %d, want %d", r.Seq, seq)
		}
		if len(r.JSON) == 0 {
			return fmt.Errorf("record %d has no JSON", seq)
		}
	}
	if head.Seq != seq {
		return fmt.Errorf("head is of record %d, and the last one is %d", head.Seq, seq)
	}
	return nil
}

// CheckReplies returns the replies that a [Store] has to add, for implementations: the given ones
// without those it has. stored has all replies to the run, by question. If it returns an error,
// which names the run and matches [ErrReplied] or [run.ErrNotAsked], nothing may be stored.
func CheckReplies(head run.Head, stored map[string]run.Reply, replies []run.Reply) (fresh []run.Reply, err error) {
	seen := map[string]run.Reply{}
	for _, reply := range replies {
		old, ok := stored[reply.Question]
		first, twice := seen[reply.Question]
		switch {
		case ok && equalReplies(old, reply), twice && equalReplies(first, reply):
		case twice:
			return nil, subject.Errorf("answer question %q of run %q twice: %w", reply.Question, head.Key.ID, ErrReplied)
		case ok:
			return nil, subject.Errorf("answer question %q of run %q: %w", reply.Question, head.Key.ID, ErrReplied)
		case !slices.Contains(head.QuestionIDs, reply.Question):
			return nil, subject.Errorf("answer question %q of run %q: %w", reply.Question, head.Key.ID, run.ErrNotAsked)
		default:
			fresh = append(fresh, reply)
			seen[reply.Question] = reply
		}
	}
	return fresh, nil
}

// equalReplies reports whether two replies are equal, apart from their times.
func equalReplies(a, b run.Reply) bool {
	a.At, b.At = time.Time{}, time.Time{}
	first, err1 := a.MarshalJSON()
	second, err2 := b.MarshalJSON()
	return err1 == nil && err2 == nil && bytes.Equal(first, second)
}

// Bounds of the blobs that are stored beside records, in bytes. [ledger.MaxBlob] is that of one blob.
const (
	maxRunBlobs    = 128 << 20 // all blobs of a run
	maxTenantBlobs = 4 << 30   // all blobs of a tenant
)

// sealRoom is how much longer an encrypted blob may be.
const sealRoom = 1 << 10

// maxBlobName bounds the name of a blob, in bytes.
const maxBlobName = 64

// CheckBlob checks the arguments of [Store.PutBlob], for implementations. ofRun and
// ofTenant are the bytes of the other blobs of the run and of the tenant. The error names the run, and
// matches [ErrTooLarge] above one of the bounds.
func CheckBlob(key run.Key, name string, size, ofRun, ofTenant int64) error {
	var err error
	switch {
	case !isBlobName(name):
		err = fmt.Errorf("name %.100q has to have 1 to %d lower-case letters, digits and hyphens", name, maxBlobName)
	case size > ledger.MaxBlob+sealRoom:
		err = fmt.Errorf("%w: blob has %d bytes, and may have %d", ErrTooLarge, size, ledger.MaxBlob)
	case ofRun+size > maxRunBlobs+sealRoom:
		err = fmt.Errorf("%w: with it the run would keep %d bytes, and may keep %d", ErrTooLarge, ofRun+size, maxRunBlobs)
	case ofTenant+size > maxTenantBlobs:
		err = fmt.Errorf("%w: with it the runs of the tenant would keep %d bytes, and may keep %d",
			ErrTooLarge, ofTenant+size, int64(maxTenantBlobs))
	default:
		return nil
	}
	return subject.Errorf("keep blob %.100q of run %q: %w", name, key.ID, err)
}

func isBlobName(name string) bool {
	return name != "" && len(name) <= maxBlobName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

package record

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Store keeps runs. One process at a time holds a run and appends to it; any process may read
// it and reply to its questions. Methods may be called concurrently.
//
// A change is durable when its method has returned nil. Only leases may be lost, by a power cut
// that also ends every process that could hold the run; even then no epoch may be used twice: that of a
// new run is the time in microseconds since 1970, and so higher than those of a deleted run with its key.
//
// A method does nothing if its context has ended, and returns an error that matches the
// context's. After an error that is not one of this package a change may have been stored: load
// the run. The text of an error names the operation and, once, the run.
//
// Package storetest tests implementations.
type Store interface {
	// Create adds a run with its first records, and acquires it. The error matches [ErrExists]
	// if there is a run with that key.
	Create(ctx context.Context, h Holder, head run.Head, records []run.Record) (Lease, error)

	// Load returns a run. The error matches [ErrNotFound] if there is none.
	Load(ctx context.Context, key run.Key) (*Log, error)

	// LoadCurrent returns what is needed to continue a run or, with agent.ResultOf, to get its
	// result: it is Load with the records from Head.Snapshot on, or all if that is 0.
	LoadCurrent(ctx context.Context, key run.Key) (*Log, error)

	// Append adds records and replaces the head atomically. The error matches [ErrConflict] if
	// the lease is not the latest, if the records do not follow the last one, or if the run
	// does not exist. An expired lease is valid until another process takes over the run.
	// Replies to questions that were open before the append are stored with the records, as by
	// Reply; if one is refused, nothing is appended.
	Append(ctx context.Context, lease Lease, head run.Head, records []run.Record, replies ...run.Reply) error

	// Reply stores replies to the questions in Head.QuestionIDs, for the holder to process. It
	// needs no lease. The first reply to a question counts, even after the question is closed: an
	// equal one changes nothing, and a different one is an error that matches [ErrReplied]. A reply
	// to a question that is not in Head.QuestionIDs is an error that matches [run.ErrNotAsked].
	// Either all replies are stored or none.
	Reply(ctx context.Context, key run.Key, replies []run.Reply) error

	// Acquire takes a lease on a run. It raises the epoch, so that the previous holder can append
	// no more. The error matches [ErrHeld] if a lease is valid ([run.Head.HeldAt]); the stores of
	// this module return a [HeldError].
	Acquire(ctx context.Context, key run.Key, h Holder) (Lease, error)

	// Renew extends leases to ttl from now, and returns an error for each, nil if it was extended.
	// An expired lease can be renewed until another process takes over the run. Then, and after
	// Delete, the error matches [ErrConflict].
	Renew(ctx context.Context, leases []Lease, ttl time.Duration) []error

	// Release ends a lease. It does nothing if the lease is not the latest.
	Release(ctx context.Context, lease Lease) error

	// List returns runs in order of their last change, newest first. With [Query.DueAt] the order is that of
	// [run.Head.DueSince], the earliest first. Runs with equal times are ordered by tenant and id.
	//
	// The loop body may call the store. If a run that the query may select cannot be read, List
	// yields a head that has only its key, which is zero if that cannot be read either, with an
	// error that matches [ErrDamaged], and continues. Any other error is the last pair.
	List(ctx context.Context, q Query) iter.Seq2[run.Head, error]

	// RequestCancel stores a request to cancel a run, which its holder sees in CancelRequests. It
	// does nothing if the run has ended. The error matches [ErrNotFound] if there is no such run.
	RequestCancel(ctx context.Context, key run.Key) error

	// CancelRequests returns the runs, of every tenant, whose cancellation was requested and that
	// have not ended, each with the number of its last record when the request was made: a request
	// is void if the run has ended since.
	CancelRequests(ctx context.Context) (map[run.Key]uint64, error)

	// Prune removes the records before Head.Snapshot, none if that is 0. The state of the run
	// and the replies to all questions, closed ones included, stay. The error matches
	// [ErrConflict] if the lease is not the latest.
	Prune(ctx context.Context, lease Lease) error

	// PutBlob stores data that is too long for a record under a name, and replaces what was stored
	// there. Data is durable when it returns nil. A name has 1 to 64 lower-case letters, digits and
	// hyphens. The error matches [ErrConflict] if the lease is not the latest or the run does not
	// exist, and [ErrTooLarge] above 32 MiB for a blob, 128 MiB for a run or, approximately, 4 GiB for a tenant.
	PutBlob(ctx context.Context, lease Lease, name string, data []byte) error

	// Blob returns the data of a name. The caller must not modify it. The error matches
	// [ErrNotFound] if there is none, and [ErrCorrupt] if the data has changed since it was put.
	Blob(ctx context.Context, key run.Key, name string) ([]byte, error)

	// Blobs returns the sorted names of the blobs of a run, none if the run does not exist.
	Blobs(ctx context.Context, key run.Key) ([]string, error)

	// Delete removes a run and everything stored for it. It does nothing if there is no such run.
	// The holder can append no more, even if the key is used again.
	Delete(ctx context.Context, key run.Key) error
}

// The errors of a [Store].
var (
	ErrExists   = errors.New("run already exists")
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("run was taken over by another process, or deleted")
	ErrHeld     = errors.New("another process holds the run")
	ErrReplied  = errors.New("question already has another answer")
	ErrCorrupt  = errors.New("stored data is damaged")  // what was read, such as by Load or Blob
	ErrDamaged  = errors.New("run cannot be read")      // of one run in a list, whose error wraps the reason, too
	ErrTooLarge = errors.New("too large for the store") // trying again does not help
)

// HeldError is the [ErrHeld] error of the stores of this module. The holder renews its lease
// while it works on the run, and releases it afterwards.
type HeldError struct {
	Holder string    // as [Holder.Name]; "" if the store does not know it
	Until  time.Time // by the store's clock, unless the lease is renewed
}

// Error tells who holds the run and until when, and what can be done.
func (e *HeldError) Error() string {
	who := "another process"
	if e.Holder != "" {
		who = fmt.Sprintf("the process %q", e.Holder)
	}
	return fmt.Sprintf("%s holds the run until %s, and longer while it works on it: try again then, or have agent.Recover continue the run",
		who, e.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrHeld].
func (e *HeldError) Unwrap() error { return ErrHeld }

// SkipDamaged removes the runs that cannot be read from a list ([ErrDamaged]). It passes the key and the error of
// each to damaged, which may be nil.
func SkipDamaged(list iter.Seq2[run.Head, error], damaged func(run.Key, error)) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		for head, err := range list {
			if errors.Is(err, ErrDamaged) {
				if damaged != nil {
					damaged(head.Key, err)
				}
				continue
			}
			if !yield(head, err) {
				return
			}
		}
	}
}

// Holder describes the process that takes a lease.
type Holder struct {
	Name string        // the process's name, for people who inspect the store
	TTL  time.Duration // 0 or less: the lease is expired from the start
}

// Lease is the right to append to a run.
type Lease struct {
	Key   run.Key
	Epoch uint64 // rises with each holder, so that no two leases of a key are equal

	// Seq is the number of the last record when the lease was taken, and Created is
	// Head.Created. With them the holder notices that the run it had loaded was continued, or
	// deleted and created again, in the meantime. Methods that modify a run ignore both.
	Seq     uint64
	Created time.Time
}

// Query selects runs. The zero value selects all runs of the tenant "".
type Query struct {
	Tenant        string     // only this tenant
	AllTenants    bool       // overrides Tenant
	ID            string     // "" is any
	Agents        []string   // any of these names; empty: all agents
	Status        run.Status // "" is any
	ChangedBefore time.Time  // last change earlier than this; zero: any
	DueAt         time.Time  // due at this time ([run.Head.Due]); zero: any
	Limit         int        // most runs returned; 0 or less: no limit

	// After is the last run of the previous page. Nil means the first page. It cannot be
	// combined with DueAt, because runs leave that list as they are taken.
	After *run.Head
}

// Matches reports whether the query selects a run.
func (q Query) Matches(h run.Head) bool {
	return (q.AllTenants || q.Tenant == h.Key.Tenant) &&
		(q.ID == "" || q.ID == h.Key.ID) &&
		(len(q.Agents) == 0 || slices.Contains(q.Agents, h.Agent)) &&
		(q.Status == "" || q.Status == h.Status) &&
		(q.ChangedBefore.IsZero() || h.Updated.Before(q.ChangedBefore)) &&
		(q.After == nil || ledger.HeadOrder(!q.DueAt.IsZero())(*q.After, h) < 0) &&
		(q.DueAt.IsZero() || h.Due(q.DueAt))
}

// Log is the content of a run at one moment.
type Log struct {
	Head    run.Head
	Records []run.Record // in order: all, or with [Store.LoadCurrent] those from the last snapshot on

	// Replies to open questions, in the order of Head.QuestionIDs.
	Replies []run.Reply
}

package record

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Store keeps runs. One process at a time holds a run and appends to it; any process
// may read it and answer its questions. The methods may be called concurrently, and
// what they have returned nil for is durable. A lease need not be: a power cut may lose
// it if it ends all processes that can hold the run, and if its epoch is not used
// again, as [FirstEpoch] ensures. A method whose context has ended does
// nothing, and its error matches the context's. After an error other than the errors of
// this package a change may have been kept: load the run. The text of an error names the
// operation and, once, the run. Package storetest proves a store.
type Store interface {
	// Create adds a run with its first records, held as Acquire has it. The error
	// matches [ErrExists] if there is one by that key.
	Create(ctx context.Context, h Holder, head run.Head, records []run.Record) (Lease, error)

	// Load returns a run. The error matches [ErrNotFound] if there is none.
	Load(ctx context.Context, key run.Key) (*Log, error)

	// Append adds records and replaces the head, all or nothing. The error matches
	// [ErrConflict] if the lease is not of the last epoch, if the records do not follow
	// the last one, or if there is no such run. A lease that has expired is good until
	// another process takes the run over. Answers to questions that are open before the
	// append are kept with the records, as Reply keeps them: if one is refused, nothing is
	// appended.
	Append(ctx context.Context, lease Lease, head run.Head, records []run.Record, answers ...run.Reply) error

	// Reply keeps answers to the questions in Head.Questions, which the holder takes. It needs
	// no lease. The first answer to a question counts, also after the question is closed: an equal
	// one changes nothing, and the error for another matches [ErrReplied]. The error for
	// a question that is not in Head.Questions matches [run.ErrNotAsked]. All are kept or none.
	Reply(ctx context.Context, key run.Key, answers []run.Reply) error

	// Acquire takes a run for the time of the holder. It raises the epoch, so that
	// whoever held the run can append no more. The error matches [ErrHeld] if the last
	// lease holds the run, see [run.Head.HeldAt], whoever has it: the stores of this module return a [HeldError].
	Acquire(ctx context.Context, key run.Key, h Holder) (Lease, error)

	// Renew has a lease expire after ttl from now. One that has expired is good until
	// another process takes the run over. Then, and after Delete, the error matches [ErrConflict].
	Renew(ctx context.Context, lease Lease, ttl time.Duration) error

	// Release ends a lease. A lease that does not exist is not an error.
	Release(ctx context.Context, lease Lease) error

	// List returns runs, by the time of their last change, the newest first. With
	// [Query].DueAt the run comes first that is due for the longest time: since it was to
	// wake up, or since its last change if it runs or has an answer. Runs of one time are
	// ordered by tenant and id. The body of the loop may call the store. A run that cannot be read,
	// and that the query may select, comes as a head of its key with a [*DamagedError]; other runs
	// follow. Any other error is the last pair.
	List(ctx context.Context, q Query) iter.Seq2[run.Head, error]

	// Wish keeps the wish that a run ends as cancelled: whoever works on it sees that in Wishes. For a run that is over it does
	// nothing. The error matches [ErrNotFound] if there is no such run.
	Wish(ctx context.Context, key run.Key) error

	// Wishes returns the wishes for runs that are not over, in any order. They stay until the run is over or deleted.
	Wishes(ctx context.Context) ([]Wish, error)

	// Delete removes a run with all that is kept of it. A run that does not exist is not an
	// error. Who holds it can append no more, also after another run has its key.
	Delete(ctx context.Context, key run.Key) error
}

// The errors of a [Store].
var (
	ErrExists   = errors.New("a run has this key already")
	ErrNotFound = errors.New("there is no such run")
	ErrConflict = errors.New("another process has taken the run over, or it was deleted")
	ErrHeld     = errors.New("another process holds the run")
	ErrReplied  = errors.New("the question has another answer already")
	ErrCorrupt  = errors.New("what is kept of the run is damaged")
	ErrNoBlob   = errors.New("nothing is kept under that name")
	ErrTooLarge = errors.New("it is larger than the store takes") // another try is of no use
)

// HeldError is [ErrHeld] with the process that holds the run and the time until which it does. The process
// renews its lease while it works on the run, and lets the run go at the end.
type HeldError struct {
	Holder string    // as [Holder].Name; "" if the store does not know it
	Until  time.Time // by the store's clock, if the lease is not renewed
}

// Error says who holds the run, until when, and what can be done.
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

// DamagedError is the error of [Store].List for one run that cannot be read.
type DamagedError struct {
	Key run.Key // its ID is empty if the key cannot be read either
	Err error
}

// Error says why the run cannot be read.
func (e *DamagedError) Error() string {
	if e.Key.ID == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("run %q of tenant %q: %v", e.Key.ID, e.Key.Tenant, e.Err)
}

// Unwrap returns the reason.
func (e *DamagedError) Unwrap() error { return e.Err }

// Readable leaves the runs that cannot be read out of a list, and tells damaged of each, which may be nil.
func Readable(list iter.Seq2[run.Head, error], damaged func(*DamagedError)) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		for head, err := range list {
			if d, ok := errors.AsType[*DamagedError](err); ok {
				if damaged != nil {
					damaged(d)
				}
				continue
			}
			if !yield(head, err) {
				return
			}
		}
	}
}

// BatchRenewer is a [Store] that renews the leases of many runs at once, as a process has them that works on many.
type BatchRenewer interface {
	// RenewAll is Renew for all of the leases. It returns the ones for which Renew returns [ErrConflict].
	RenewAll(ctx context.Context, leases []Lease, ttl time.Duration) (lost []Lease, err error)
}

// Holder is who takes a run, and for how long.
type Holder struct {
	Name string        // of the process, for people who read the store
	TTL  time.Duration // 0 and less: the lease has expired from the start
}

// Lease is a run that is held.
type Lease struct {
	Key   run.Key
	Epoch uint64 // rises with each holder; no two leases of a key have the same

	// Seq is the number of the last record when the run was taken, and Created is Head.Created. By both
	// the holder knows the run that it has loaded: meanwhile another process may have continued
	// it, or deleted it and begun one of the same key. What changes a run ignores them.
	Seq     uint64
	Created time.Time
}

// Wish is the wish of somebody that a run ends as cancelled, see [CancelRun]. It is void if the run has ended since.
type Wish struct {
	Key run.Key
	Seq uint64 // of the last record when it was made
}

// Query selects runs. The zero value selects all of the tenant "".
type Query struct {
	Tenant     string     // one tenant alone
	AllTenants bool       // whatever Tenant is
	ID         string     // "" is any
	Agents     []string   // one of them; empty: any
	Status     run.Status // "" is any
	Before     time.Time  // runs whose last change was earlier; zero: any
	DueAt      time.Time  // runs that are due at that time, see [run.Head.Due]; zero: any
	Limit      int        // how many at most; 0 is no limit

	// After is the last run of the page before: the list has the runs behind it. It is not for lists with DueAt, whose runs
	// leave them. Nil: from the first.
	After *run.Head
}

// Matches reports whether the query selects a run.
func (q Query) Matches(h run.Head) bool {
	return (q.AllTenants || q.Tenant == h.Key.Tenant) &&
		(q.ID == "" || q.ID == h.Key.ID) &&
		(len(q.Agents) == 0 || slices.Contains(q.Agents, h.Agent)) &&
		(q.Status == "" || q.Status == h.Status) &&
		(q.Before.IsZero() || h.Updated.Before(q.Before)) &&
		(q.After == nil || q.Compare(*q.After, h) < 0) &&
		(q.DueAt.IsZero() || h.Due(q.DueAt))
}

// Log is what a store has of a run at one moment.
type Log struct {
	Head    run.Head
	Records []run.Record // in order: all, or by [LoadCurrent] from the last snapshot on

	// Replies are to open questions, in the order of Head.Questions.
	Replies []run.Reply
}

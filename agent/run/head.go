package run

import (
	"encoding/json"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Head is the summary of a run that a store can read without its records. The agent writes it with
// each append, except for Epoch, HeldUntil, TTL and ReplyCount, which belong to the store. Its JSON keeps the names that
// stored runs have.
type Head struct {
	Key         Key       `json:"key"`
	Agent       string    `json:"agent,omitzero"` // Options.Name of the agent
	Status      Status    `json:"status"`
	QuestionIDs []string  `json:"asks,omitempty"`    // ids of the open questions
	Wake        time.Time `json:"wake,omitzero"`     // when a waiting run continues without a reply
	Seq         uint64    `json:"seq"`               // number of the last record
	Snapshot    uint64    `json:"snapshot,omitzero"` // number of the last record that has a snapshot, 0 if there is none
	Created     time.Time `json:"created,omitzero"`
	Updated     time.Time `json:"updated,omitzero"`

	// Questions has the open questions as a JSON array, in the order of QuestionIDs. It may be empty although there are
	// some: if they exceed 2 KiB, or in a store that encrypts. Then load the run.
	Questions json.RawMessage `json:"questions,omitempty"`

	// Takeovers counts the consecutive processes that took over the run and died without progress.
	Takeovers int `json:"takeovers,omitzero"`

	Epoch     uint64    `json:"epoch,omitzero"` // the last lease's epoch
	HeldUntil time.Time `json:"held,omitzero"`  // when the lease ends; zero: nobody holds the run

	// TTL is the duration for which the lease was taken or renewed, 0 if unknown. It is not
	// part of the JSON.
	TTL time.Duration `json:"-"`

	// ReplyCount counts the replies to open questions.
	ReplyCount int `json:"answers,omitzero"`
}

// maxLead is the tolerance of [Head.HeldAt].
const maxLead = time.Second

// HeldAt reports whether a process holds the run at that time. A lease that ends more than a second later than one that
// was taken now for its TTL is void: the clock was set back, and the holder may be long dead.
func (h Head) HeldAt(now time.Time) bool {
	return now.Before(h.HeldUntil) && (h.TTL <= 0 || !h.HeldUntil.After(now.Add(h.TTL+maxLead)))
}

// Due reports whether the run can continue: nobody holds it, it has not ended, and it is
// running, has a reply, or has waited long enough.
func (h Head) Due(now time.Time) bool {
	if h.Status.Ended() || h.HeldAt(now) {
		return false
	}
	return h.Status == StatusRunning || h.ReplyCount > 0 || !h.Wake.IsZero() && !now.Before(h.Wake)
}

// DueSince returns the time by which due runs ([Head.Due]) are ordered: of the last change if the run is running or has a
// reply, else Wake. The run may have become due later: when its lease ended, or with the reply, which leaves Updated as it is.
func (h Head) DueSince() time.Time {
	if h.Status == StatusRunning || h.ReplyCount > 0 {
		return h.Updated
	}
	return h.Wake
}

// Key identifies a run. A run belongs to one tenant, and no key of another tenant reaches it. Keys are
// compared byte by byte. Both strings are UTF-8 without U+0000, at most 1 KiB long; ID is not empty.
type Key struct {
	Tenant string `json:"tenant,omitzero"`
	ID     string `json:"id"`
}

// Status is the status of a run.
type Status string

// The statuses of a run. A new input restarts a run that has ended.
const (
	StatusRunning   Status = "running"   // it can continue, even if no process works on it
	StatusWaiting   Status = "waiting"   // for replies, or until Head.Wake
	StatusFinished  Status = "done"      // it has its output
	StatusFailed    Status = "failed"    // it has ended with an error
	StatusCancelled Status = "cancelled" // it was ended by a request
)

// Ended reports whether the run has ended.
func (s Status) Ended() bool { return s == StatusFinished || s == StatusFailed || s == StatusCancelled }

// Record is one change of a run, as it is stored. It is immutable, so a store may share it.
type Record struct {
	Seq  uint64 // from 1
	At   time.Time
	JSON json.RawMessage // the whole record, with its number and time, on one line
}

// MarshalJSON returns JSON as it is.
func (r Record) MarshalJSON() ([]byte, error) {
	if len(r.JSON) == 0 {
		return nil, fmt.Errorf("write record %d: it has no JSON", r.Seq)
	}
	return r.JSON, nil
}

// UnmarshalJSON copies the JSON, after checking that it is a record, of any version.
func (r *Record) UnmarshalJSON(data []byte) error {
	var e struct {
		Seq  uint64    `json:"seq"`
		At   time.Time `json:"at"`
		Kind string    `json:"kind"`
		Data present   `json:"data"`
	}
	if err := jsonv2.Unmarshal(data, &e, format); err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	if e.Kind == "" || !e.Data {
		return fmt.Errorf("read record: record %d has no kind or no data", e.Seq)
	}
	*r = Record{Seq: e.Seq, At: e.At, JSON: append(json.RawMessage(nil), data...)}
	return nil
}

// present is a member whose value does not matter.
type present bool

// UnmarshalJSONFrom skips the value.
func (p *present) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*p = true
	return d.SkipValue()
}

var (
	_ json.Marshaler   = Record{}
	_ json.Unmarshaler = (*Record)(nil)
)

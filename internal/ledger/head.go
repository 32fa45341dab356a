package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/mcpchain/mcpchain/agent/run"
)

// HeadOf returns the head of a state.
func HeadOf(s *State) run.Head {
	h := run.Head{
		Key:       run.Key{Tenant: s.Tenant, ID: s.ID},
		Agent:     s.Agent.Name,
		Status:    s.Status,
		Wake:      s.Wake,
		Seq:       s.Seq,
		Snapshot:  s.Snapshot,
		Created:   s.Created,
		Updated:   s.Updated,
		Takeovers: s.Takeovers,
	}
	open := Open(s)
	for _, q := range open {
		h.QuestionIDs = append(h.QuestionIDs, q.ID)
	}
	h.Questions = encodeQuestions(open)
	return h
}

// MaxQuestions bounds [run.Head.Questions] in bytes, because each change of a run writes its head.
const MaxQuestions = 2 << 10

// encodeQuestions returns [run.Head.Questions]: nothing if they are too long, or cannot be encoded.
func encodeQuestions(open []*run.Question) json.RawMessage {
	size := 0
	for _, q := range open {
		size += len(q.Arguments) + len(q.URL)
	}
	if len(open) == 0 || size > MaxQuestions {
		return nil
	}
	data, err := jsonv2.Marshal(open, format)
	if err != nil || len(data) > MaxQuestions {
		return nil
	}
	return data
}

// FirstEpoch returns the epoch for a run that is created at that time: microseconds since 1970,
// and so higher than in leases of a deleted run with the same key, see [AwaitEpoch].
func FirstEpoch(now time.Time) uint64 { return uint64(max(1, now.UnixMicro())) }

// maxTicks bounds the wait of AwaitEpoch, in milliseconds. Clocks of some systems stand still for 16 ms.
const maxTicks = 20

// AwaitEpoch waits until a new run would get a higher epoch than a run that a store is deleting. It does not wait for a
// clock that was set back further.
func AwaitEpoch(epoch uint64, clock func() (time.Time, error)) error {
	for range maxTicks {
		now, err := clock()
		if err != nil {
			return err
		}
		if next := FirstEpoch(now); next > epoch || epoch-next > maxTicks*1000 {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// Nanos returns a time in nanoseconds since 1970. A time before 1700 or after 2200 becomes the earliest or the latest.
func Nanos(t time.Time) int64 {
	switch year := t.Year(); {
	case year < 1700: // the range is 1677 to 2262
		return math.MinInt64
	case year > 2200:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// HeadOrder returns the order of runs in a list of a store: the latest change first or, if the list is of due
// runs, the earliest [run.Head.DueSince].
func HeadOrder(due bool) func(a, b run.Head) int {
	return func(a, b run.Head) int {
		order := b.Updated.Compare(a.Updated)
		if due {
			order = a.DueSince().Compare(b.DueSince())
		}
		return cmp.Or(order, cmp.Compare(a.Key.Tenant, b.Key.Tenant), cmp.Compare(a.Key.ID, b.Key.ID))
	}
}

const maxName = 1 << 10 // bytes of an id or tenant

// CheckKey returns an error if a key is invalid.
func CheckKey(k run.Key) error {
	if k.ID == "" {
		return errors.New("id is empty")
	}
	if err := checkName("id", k.ID); err != nil {
		return err
	}
	return checkName("tenant", k.Tenant)
}

// checkName checks a part of a key.
func checkName(part, name string) error {
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%s is not UTF-8 without U+0000, of at most %d bytes", part, maxName)
	}
	return nil
}

package sqlstore

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Values of the column due that are not times. [ledger.Nanos] returns them for times out of its range.
const (
	dueNow   = math.MinInt64 // whatever the time is
	dueNever = math.MaxInt64
)

// due returns the time from which a run that is not held is due, see [run.Head.Due].
func due(h run.Head) int64 {
	switch {
	case h.Status.Ended():
		return dueNever
	case h.Status == run.StatusRunning || h.ReplyCount > 0:
		return dueNow
	case h.Wake.IsZero():
		return dueNever
	}
	return ledger.Nanos(h.Wake)
}

// timeColumn returns a time as a column of the lease, 0 for the zero time.
func timeColumn(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return ledger.Nanos(t)
}

// columnsOf returns a key as the columns tenant and id. An invalid key, which a database may refuse,
// becomes one that no run has.
func columnsOf(key run.Key) []any {
	if ledger.CheckKey(key) != nil {
		key = run.Key{}
	}
	return []any{key.Tenant, key.ID}
}

// encodeHead returns a head with its checksum. The fields that belong to the store have columns of their own.
func encodeHead(h run.Head) ([]byte, error) {
	h.Epoch, h.HeldUntil, h.TTL, h.ReplyCount = 0, time.Time{}, 0, 0
	data, err := json.Marshal(h, ledger.AnyJSON)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(data[:len(data)-1:len(data)-1], `%s%d}`, sumMember, sum(data)), nil
}

// sumMember is the last member of a head. The heads of an early version have none.
const sumMember = `,"sum":`

// checkHead verifies the checksum. A head without one is accepted: if a quote follows the last sumMember, that is other JSON.
func checkHead(data []byte) error {
	at := bytes.LastIndex(data, []byte(sumMember))
	if at < 0 || bytes.ContainsAny(data[at+len(sumMember):], `"`) {
		return nil
	}
	want := string(bytes.TrimSuffix(data[at+len(sumMember):], []byte("}")))
	if got := strconv.FormatInt(sum(append(data[:at:at], '}')), 10); got != want {
		return fmt.Errorf("%w: checksum is %s, want %s", record.ErrCorrupt, got, want)
	}
	return nil
}

// storedHead is the columns of a head: the JSON, and the fields that belong to the store.
type storedHead struct {
	epoch, held, ttl int64
	replies          int
	data             []byte
}

// columns returns the targets for epoch, held, ttl, answers (the replies) and head, after others.
func (c *storedHead) columns(others ...any) []any {
	return append(others, &c.epoch, &c.held, &c.ttl, &c.replies, &c.data)
}

func (c *storedHead) decode(key run.Key) (h run.Head, err error) {
	if err := checkHead(c.data); err != nil {
		return h, fmt.Errorf("read the head of run %q: %w", key.ID, err)
	}
	if err := json.Unmarshal(c.data, &h, ledger.AnyJSON); err != nil {
		return h, fmt.Errorf("read the head of run %q: %w: %w", key.ID, record.ErrCorrupt, err)
	}
	if h.Key != key {
		return h, fmt.Errorf("read the head of run %q: %w: it belongs to run %q, not %q", key.ID, record.ErrCorrupt, h.Key, key)
	}
	h.Epoch, h.TTL, h.ReplyCount = uint64(c.epoch), time.Duration(c.ttl), c.replies
	if c.held != 0 {
		h.HeldUntil = time.Unix(0, c.held)
	}
	return h, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum returns a checksum, to detect data that was changed in the database.
func sum(data []byte) int64 { return int64(crc32.Checksum(data, castagnoli)) }

// item is a record or a reply as a row.
type item struct {
	key  any // number of the record, or id of the question
	data []byte
}

func encodeAll[T json.Marshaler](all []T, key func(T) any) ([]item, error) {
	items := make([]item, len(all))
	for i, v := range all {
		data, err := v.MarshalJSON()
		if err != nil {
			return nil, err
		}
		items[i] = item{key(v), data}
	}
	return items, nil
}

// checkSum returns an error unless data has that checksum.
func checkSum(data []byte, want int64) error {
	if got := sum(data); got != want {
		return fmt.Errorf("%w: checksum is %x, want %x", record.ErrCorrupt, got, want)
	}
	return nil
}

func decode(data []byte, sum int64, into json.Unmarshaler) error {
	if err := checkSum(data, sum); err != nil {
		return err
	}
	if err := into.UnmarshalJSON(data); err != nil {
		return fmt.Errorf("%w: %w", record.ErrCorrupt, err)
	}
	return nil
}

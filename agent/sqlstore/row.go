package sqlstore

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// never is the column due of a run that no time makes due.
const never = math.MaxInt64

// due is from when a run is due if it is not held, see [run.Head.Due].
func due(h run.Head) int64 {
	switch {
	case h.Status.Ended():
		return never
	case h.Status == run.StatusRunning || h.Replies > 0:
		return math.MinInt64
	case h.Wake.IsZero():
		return never
	}
	return nanos(h.Wake)
}

// nanos is a time in a column. A time that is too early or too late for one becomes the
// earliest or the last.
func nanos(t time.Time) int64 {
	switch year := t.Year(); {
	case year < 1700:
		return math.MinInt64
	case year > 2200:
		return never
	}
	return t.UnixNano()
}

// until is the end of a lease in a column, and 0 if there is none.
func until(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return nanos(t)
}

// names are the columns of a key. A key that no run can have, which a database may refuse,
// becomes one that no run has.
func names(key run.Key) (tenant, id string) {
	if key.Check() != nil {
		return "", ""
	}
	return key.Tenant, key.ID
}

// anyText keeps a name that is not UTF-8, as other stores do.
var anyText = jsontext.AllowInvalidUTF8(true)

// encodeHead writes what the agent says of a run, and its sum. What the store says has columns.
func encodeHead(h run.Head) ([]byte, error) {
	h.Epoch, h.Held, h.TTL, h.Replies = 0, time.Time{}, 0, 0
	data, err := json.Marshal(h, anyText)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(data[:len(data)-1:len(data)-1], `%s%d}`, sumMember, sum(data)), nil
}

// sumMember is the last member of a head. A head without it is of a version that wrote none.
const sumMember = `,"sum":`

// checkHead compares a head with its sum.
func checkHead(data []byte) error {
	at := bytes.LastIndex(data, []byte(sumMember))
	if at < 0 || bytes.ContainsAny(data[at+len(sumMember):], `"`) {
		return nil
	}
	want := string(bytes.TrimSuffix(data[at+len(sumMember):], []byte("}")))
	if got := strconv.FormatInt(sum(append(data[:at:at], '}')), 10); got != want {
		return fmt.Errorf("%w: its sum is %s and should be %s", record.ErrCorrupt, got, want)
	}
	return nil
}

// decodeHead reads a head with the columns of its row.
func decodeHead(key run.Key, data []byte, epoch, held, ttl int64, replies int) (run.Head, error) {
	var h run.Head
	if err := checkHead(data); err != nil {
		return h, fmt.Errorf("read the head of run %q: %w", key.ID, err)
	}
	if err := json.Unmarshal(data, &h, anyText); err != nil {
		return h, fmt.Errorf("read the head of run %q: %w: %w", key.ID, record.ErrCorrupt, err)
	}
	if h.Key != key {
		return h, fmt.Errorf("read the head of run %q: it is of run %q: %w", key.ID, h.Key.ID, record.ErrCorrupt)
	}
	h.Epoch, h.Replies = uint64(epoch), replies
	if h.TTL = time.Duration(ttl); held != 0 {
		h.Held = time.Unix(0, held)
	}
	return h, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum detects bytes that have changed in the database.
func sum(data []byte) int64 { return int64(crc32.Checksum(data, castagnoli)) }

// item is a record or an answer in its row.
type item struct {
	name any // its number, or its question
	data []byte
}

// encodeRecords writes records, a row for each.
func encodeRecords(records []run.Record) ([]item, error) {
	items := make([]item, len(records))
	for i, r := range records {
		data, err := r.MarshalJSON()
		if err != nil {
			return nil, err
		}
		items[i] = item{int64(r.Seq), data}
	}
	return items, nil
}

func encodeReplies(replies []run.Reply) ([]item, error) {
	items := make([]item, len(replies))
	for i, a := range replies {
		data, err := a.MarshalJSON()
		if err != nil {
			return nil, err
		}
		items[i] = item{a.Question, data}
	}
	return items, nil
}

// decode reads a record or an answer.
func decode(data []byte, want int64, into json.Unmarshaler) error {
	if got := sum(data); got != want {
		return fmt.Errorf("%w: its sum is %x and should be %x", record.ErrCorrupt, got, want)
	}
	if err := into.UnmarshalJSON(data); err != nil {
		return fmt.Errorf("%w: %w", record.ErrCorrupt, err)
	}
	return nil
}

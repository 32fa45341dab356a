package run

import (
	"encoding/json"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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

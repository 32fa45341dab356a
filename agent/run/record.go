package run

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Record is one change of a run. It never changes: a store may share it.
type Record struct {
	Seq    uint64 // from 1
	At     time.Time
	Change Change
}

// Change is what a [Record] does to a state. The members are *Begun, *Said, *Called,
// *Replied, *Decided, *Intent, *Paused, *Detached, *Outcome, *TurnEnded, *Opened,
// *Answered, *Compacted, *Charged, *Nested, *Noted, *Suspended, *Woken, *Ended and
// *Unknown. Their Unknown has the members of a later version.
type Change interface {
	kind() string
	apply(*State, time.Time) error
}

// kinds makes an empty change by its name in JSON.
var kinds = map[string]func() Change{
	"begun":      func() Change { return new(Begun) },
	"said":       func() Change { return new(Said) },
	"called":     func() Change { return new(Called) },
	"replied":    func() Change { return new(Replied) },
	"decided":    func() Change { return new(Decided) },
	"intent":     func() Change { return new(Intent) },
	"paused":     func() Change { return new(Paused) },
	"detached":   func() Change { return new(Detached) },
	"outcome":    func() Change { return new(Outcome) },
	"turn_ended": func() Change { return new(TurnEnded) },
	"opened":     func() Change { return new(Opened) },
	"answered":   func() Change { return new(Answered) },
	"compacted":  func() Change { return new(Compacted) },
	"charged":    func() Change { return new(Charged) },
	"nested":     func() Change { return new(Nested) },
	"noted":      func() Change { return new(Noted) },
	"suspended":  func() Change { return new(Suspended) },
	"woken":      func() Change { return new(Woken) },
	"ended":      func() Change { return new(Ended) },
}

// Unknown is a change of a later version, which a store keeps and no state takes.
type Unknown struct {
	Kind string
	Data jsontext.Value
}

func (c *Unknown) kind() string { return c.Kind }

func (c *Unknown) apply(*State, time.Time) error {
	return fmt.Errorf("its kind is unknown; is it of a later version than %d?", Version)
}

// MarshalJSON implements [json.Marshaler].
func (c *Unknown) MarshalJSON() ([]byte, error) { return c.Data, nil }

// envelope is the JSON of a record.
type envelope struct {
	Seq  uint64         `json:"seq"`
	At   time.Time      `json:"at"`
	Kind string         `json:"kind"`
	Data jsontext.Value `json:"data"`
}

// MarshalJSON implements [json.Marshaler]. Equal records have equal bytes.
func (r Record) MarshalJSON() ([]byte, error) {
	if r.Change == nil {
		return nil, fmt.Errorf("write record %d: it has no change", r.Seq)
	}
	data, err := marshal(r.Change)
	if err != nil {
		return nil, fmt.Errorf("write record %d (%s): %w", r.Seq, r.Change.kind(), err)
	}
	return marshal(envelope{Seq: r.Seq, At: r.At, Kind: r.Change.kind(), Data: data})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Record) UnmarshalJSON(data []byte) error {
	var e envelope
	if err := unmarshal(data, &e); err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	if e.Kind == "" || len(e.Data) == 0 {
		return fmt.Errorf("read record %d: it has no kind or no data", e.Seq)
	}
	make, ok := kinds[e.Kind]
	if !ok {
		*r = Record{Seq: e.Seq, At: e.At, Change: &Unknown{Kind: e.Kind, Data: e.Data}}
		return nil
	}
	change := make()
	if err := unmarshal(e.Data, change); err != nil {
		return fmt.Errorf("read record %d (%s): %w", e.Seq, e.Kind, err)
	}
	*r = Record{Seq: e.Seq, At: e.At, Change: change}
	return nil
}

var (
	_ json.Marshaler   = Record{}
	_ json.Unmarshaler = (*Record)(nil)
)

package ledger

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Entry is a decoded [run.Record]: one change of a run. It is immutable.
type Entry struct {
	Seq    uint64 // starts at 1
	At     time.Time
	Change Change
}

// Change is the effect of an [Entry] on a state. Its implementations are *Begun, *Said, *Called,
// *Responded, *Decided, *Intent, *Paused, *Sampled, *Detached, *Outcome, *TurnEnded, *Offered,
// *Opened, *Replied, *Compacted, *Reserved, *Charged, *Nested, *Noted, *Suspended, *Woken,
// *Ended, *Sealed and *Unknown. A field Call is the id of a call of the current turn.
type Change interface {
	apply(*State, time.Time) error
}

// kinds maps the name of a type of changes in JSON to a constructor.
var kinds = map[string]func() Change{
	"begun":      func() Change { return new(Begun) },
	"said":       func() Change { return new(Said) },
	"called":     func() Change { return new(Called) },
	"replied":    func() Change { return new(Responded) },
	"decided":    func() Change { return new(Decided) },
	"intent":     func() Change { return new(Intent) },
	"paused":     func() Change { return new(Paused) },
	"sampled":    func() Change { return new(Sampled) },
	"detached":   func() Change { return new(Detached) },
	"outcome":    func() Change { return new(Outcome) },
	"turn_ended": func() Change { return new(TurnEnded) },
	"offered":    func() Change { return new(Offered) },
	"opened":     func() Change { return new(Opened) },
	"answered":   func() Change { return new(Replied) },
	"compacted":  func() Change { return new(Compacted) },
	"reserved":   func() Change { return new(Reserved) },
	"charged":    func() Change { return new(Charged) },
	"nested":     func() Change { return new(Nested) },
	"noted":      func() Change { return new(Noted) },
	"suspended":  func() Change { return new(Suspended) },
	"woken":      func() Change { return new(Woken) },
	"ended":      func() Change { return new(Ended) },
	"sealed":     func() Change { return new(Sealed) },
}

// kindNames is the reverse of kinds.
var kindNames = func() map[reflect.Type]string {
	names := make(map[reflect.Type]string, len(kinds))
	for name, newChange := range kinds {
		names[reflect.TypeOf(newChange())] = name
	}
	return names
}()

// kindOf returns the name of the type of a change in JSON.
func kindOf(c Change) string {
	if u, ok := c.(*Unknown); ok {
		return u.Kind
	}
	return kindNames[reflect.TypeOf(c)]
}

// Unknown is a change of a later version. Stores keep it, and [Apply] refuses it.
type Unknown struct {
	V    int // the version that wrote it, 0 if unknown
	Kind string
	Data jsontext.Value
}

func (c *Unknown) apply(*State, time.Time) error {
	if c.V > Version {
		return checkVersion(c.V)
	}
	return fmt.Errorf("kind is unknown; is the record of a later version than %d?", Version)
}

// MarshalJSON implements [json.Marshaler].
func (c *Unknown) MarshalJSON() ([]byte, error) { return c.Data, nil }

type envelope[T any] struct {
	V    int       `json:"v,omitzero"` // version of the record; 0 means 1
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Data T         `json:"data"`
}

// MarshalJSON implements [json.Marshaler]. Equal entries have equal bytes.
func (r Entry) MarshalJSON() ([]byte, error) {
	data, err := jsonv2.Marshal(&r, format)
	if err != nil {
		return nil, fmt.Errorf("write record %d: %w", r.Seq, err)
	}
	return data, nil
}

// write encodes the entry, which may contain entries of sub-agents.
func (r *Entry) write(e *jsontext.Encoder) error {
	out := envelope[Change]{Seq: r.Seq, At: r.At, Kind: kindOf(r.Change), Data: r.Change}
	if u, ok := r.Change.(*Unknown); ok {
		out.V = u.V
	}
	return jsonv2.MarshalEncode(e, &out)
}

// UnmarshalJSON implements [json.Unmarshaler]. A record of a later version, or of an unknown
// kind, becomes an [Unknown].
func (r *Entry) UnmarshalJSON(data []byte) error {
	read, err := readEntry(data, 0)
	if err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	*r = read
	return nil
}

// readEntry decodes an entry of a run at that depth: 0 for the root, 1 for its sub-agents.
func readEntry(data []byte, depth int) (Entry, error) {
	var e envelope[jsontext.Value]
	if err := jsonv2.Unmarshal(data, &e, format); err != nil {
		return Entry{}, err
	}
	if e.Kind == "" || len(e.Data) == 0 {
		return Entry{}, fmt.Errorf("record %d has no kind or no data", e.Seq)
	}
	r := Entry{Seq: e.Seq, At: e.At}
	newChange, ok := kinds[e.Kind]
	if !ok || e.V > Version {
		r.Change = &Unknown{V: e.V, Kind: e.Kind, Data: e.Data}
		return r, nil
	}
	r.Change = newChange()
	if err := readChange(e.Data, r.Change, depth); err != nil {
		return Entry{}, fmt.Errorf("record %d (%s): %w", e.Seq, e.Kind, err)
	}
	return r, nil
}

// readChange decodes a change, in a run at that depth.
func readChange(data []byte, c Change, depth int) error {
	nested, ok := c.(*Nested)
	if !ok {
		return jsonv2.Unmarshal(data, c, format)
	}
	depth++
	if depth > MaxDepth {
		return errTooDeep
	}
	var e struct {
		Call    string         `json:"call"`
		Record  jsontext.Value `json:"record"`
		Unknown jsontext.Value `json:",embed"`
	}
	if err := jsonv2.Unmarshal(data, &e, format); err != nil {
		return err
	}
	r, err := readEntry(e.Record, depth)
	*nested = Nested{Call: e.Call, Record: r, Unknown: e.Unknown}
	return err
}

// errTooDeep refuses records and states that would exhaust the stack.
var errTooDeep = fmt.Errorf("sub-agents are nested more than %d deep", MaxDepth)

var (
	_ json.Marshaler   = Entry{}
	_ json.Unmarshaler = (*Entry)(nil)
)

// Encode returns the record of the entry. Equal entries have equal records.
func (r Entry) Encode() (run.Record, error) {
	data, err := r.MarshalJSON()
	return run.Record{Seq: r.Seq, At: r.At, JSON: data}, err
}

// Encode returns the records of entries.
func Encode(entries ...Entry) ([]run.Record, error) {
	records := make([]run.Record, len(entries))
	for i, e := range entries {
		var err error
		if records[i], err = e.Encode(); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// Decode decodes a record. The change is an [Unknown] if the record is of a later version or an
// unknown kind.
func Decode(r run.Record) (Entry, error) {
	var e Entry
	err := e.UnmarshalJSON(r.JSON)
	return e, err
}

// ChangeOf returns the change of a record, or nil if it cannot be decoded.
func ChangeOf(r run.Record) Change {
	e, err := Decode(r)
	if err != nil {
		return nil
	}
	return e.Change
}

// Entries decodes records.
func Entries(records []run.Record) ([]Entry, error) {
	entries := make([]Entry, len(records))
	for i, r := range records {
		var err error
		if entries[i], err = Decode(r); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// StateOf decodes records and returns their [Fold].
func StateOf(records []run.Record) (*State, error) {
	entries, err := Entries(records)
	if err != nil {
		return nil, err
	}
	return Fold(entries)
}

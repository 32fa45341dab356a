package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Record is one change of a run. It never changes: a store may share it.
type Record struct {
	Seq    uint64 // from 1
	At     time.Time
	Change Change
}

// Change is what a [Record] does to a state. The members are *Begun, *Said, *Called,
// *Responded, *Decided, *Intent, *Paused, *Sampled, *Detached, *Outcome, *TurnEnded, *Offered,
// *Opened, *Replied, *Compacted, *Reserved, *Charged, *Nested, *Noted, *Suspended, *Woken, *Ended
// and *Unknown. Their Call is the id of a call of the present turn.
type Change interface {
	kind() string
	apply(*State, time.Time) error
}

// kinds makes an empty change by its name in JSON.
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
	"sealed":     func() Change { return new(sealedChange) },
}

// Unknown is a change of a later version, which a store keeps and no state takes.
type Unknown struct {
	V    int // the version that has written it; 0: it is not said
	Kind string
	Data jsontext.Value
}

func (c *Unknown) kind() string { return c.Kind }

func (c *Unknown) apply(*State, time.Time) error {
	if c.V > Version {
		return readable(c.V)
	}
	return fmt.Errorf("its kind is unknown; is it of a later version than %d?", Version)
}

// MarshalJSON implements [json.Marshaler].
func (c *Unknown) MarshalJSON() ([]byte, error) { return c.Data, nil }

// envelope is the JSON of a record, with a T as its data.
type envelope[T any] struct {
	V    int       `json:"v,omitzero"` // of the record; 0 is 1
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Data T         `json:"data"`
}

// MarshalJSON implements [json.Marshaler]. Equal records have equal bytes.
func (r Record) MarshalJSON() ([]byte, error) {
	data, err := jsonv2.Marshal(&r, recordOptions)
	if err != nil {
		return nil, fmt.Errorf("write record %d: %w", r.Seq, err)
	}
	return data, nil
}

// recordOptions make the JSON of records, which may have records of sub-agents in them.
var recordOptions = jsonv2.JoinOptions(options, jsonv2.WithMarshalers(jsonv2.JoinMarshalers(
	marshalers, jsonv2.MarshalToFunc(func(e *jsontext.Encoder, r *Record) error { return r.write(e) }),
)))

func (r *Record) write(e *jsontext.Encoder) error {
	if r.Change == nil {
		return errors.New("it has no change")
	}
	out := envelope[Change]{Seq: r.Seq, At: r.At, Kind: r.Change.kind(), Data: r.Change}
	if u, ok := r.Change.(*Unknown); ok {
		out.V = u.V
	}
	return jsonv2.MarshalEncode(e, &out)
}

// UnmarshalJSON implements [json.Unmarshaler]. A record of a later version, or of an
// unknown kind, becomes an [Unknown].
func (r *Record) UnmarshalJSON(data []byte) error {
	read, err := readRecord(data, 0)
	if err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	*r = read
	return nil
}

// readRecord reads a record of a sub-agent that stands so deep below the run.
func readRecord(data []byte, depth int) (Record, error) {
	var e envelope[jsontext.Value]
	if err := unmarshal(data, &e); err != nil {
		return Record{}, err
	}
	if e.Kind == "" || len(e.Data) == 0 {
		return Record{}, fmt.Errorf("record %d has no kind or no data", e.Seq)
	}
	r := Record{Seq: e.Seq, At: e.At}
	make, ok := kinds[e.Kind]
	if !ok || e.V > Version {
		r.Change = &Unknown{V: e.V, Kind: e.Kind, Data: e.Data}
		return r, nil
	}
	r.Change = make()
	if err := readChange(e.Data, r.Change, depth); err != nil {
		return Record{}, fmt.Errorf("record %d (%s): %w", e.Seq, e.Kind, err)
	}
	return r, nil
}

func readChange(data []byte, c Change, depth int) error {
	nested, ok := c.(*Nested)
	if !ok {
		return unmarshal(data, c)
	}
	if depth++; depth > MaxDepth {
		return errTooDeep
	}
	var e struct {
		Call    string         `json:"call"`
		Record  jsontext.Value `json:"record"`
		Unknown jsontext.Value `json:",embed"`
	}
	if err := unmarshal(data, &e); err != nil {
		return err
	}
	r, err := readRecord(e.Record, depth)
	*nested = Nested{Call: e.Call, Record: r, Unknown: e.Unknown}
	return err
}

var errTooDeep = fmt.Errorf("sub-agents are nested more than %d deep", MaxDepth)

var (
	_ json.Marshaler   = Record{}
	_ json.Unmarshaler = (*Record)(nil)
)

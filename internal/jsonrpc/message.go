// Package jsonrpc reads and writes the JSON-RPC 2.0 envelope and keeps the table of waiting calls.
//
// The envelope is read key by key in one pass: names match exactly, a repeated name is an error, and
// the values are undecoded slices of the input. An id is kept as the peer's bytes.
package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Version is the value of the member jsonrpc.
const Version = "2.0"

// Message is the envelope of one message. Its raw members are slices of the bytes it was parsed from; nil means absent.
type Message struct {
	ID     json.RawMessage // a number, a string, or null
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// IsRequest reports whether m asks for a response.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsResponse reports whether m answers a request.
func (m *Message) IsResponse() bool { return m.Method == "" }

// Response returns the response in m. It is empty if m is a request.
func (m *Message) Response() Response { return Response{m.Result, m.Error} }

// HasID reports whether m has an id: an error about an unreadable request has none, or null.
func (m *Message) HasID() bool { return m.ID != nil && string(m.ID) != "null" }

// IntID returns the id as one of our ids, a positive integer; ok is false for any other id. quoted reports whether the peer
// wrote the number as a string. Some peers keep numbers as floats and write 7.0 or 7e0.
func (m *Message) IntID() (id int64, quoted, ok bool) {
	text := string(m.ID)
	if len(text) > 2 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
		quoted = true
	}
	if n, err := strconv.ParseUint(text, 10, 63); err == nil { // it accepts no sign
		return int64(n), quoted, n > 0
	}
	f, err := strconv.ParseFloat(text, 64)
	exact := err == nil && f == math.Trunc(f) && f < 1<<53 && json.Valid([]byte(text))
	return int64(f), quoted, exact && f > 0
}

// ErrBatch is the error of [Parse] for an array, which [Batch] splits. Only its first byte has been read.
var ErrBatch = errors.New("batch of messages")

// Parse reads one message: a request, a notification, a result or an error. It must be valid JSON whose members nest at
// most [MaxDepth] deep. Params, results and errors are checked when they are decoded. With an error the Message is empty.
func Parse(data []byte) (Message, error) {
	var m Message
	s := scanner{data: data}
	s.space()
	if s.peek() == '[' {
		return m, ErrBatch
	}
	err := s.object(func(key []byte) error {
		start := s.pos
		if err := s.value(); err != nil {
			return err
		}
		return m.set(key, data[start:s.pos:s.pos])
	})
	if err != nil {
		return Message{}, err
	}
	if s.space(); s.pos != len(data) {
		return Message{}, fmt.Errorf("text after the message at byte %d", s.pos)
	}
	if err := m.check(); err != nil {
		return Message{}, err
	}
	return m, nil
}

// set stores a member. A switch finds the few names of the protocol without a hash or an allocation.
func (m *Message) set(key, value []byte) error {
	var to *json.RawMessage
	switch string(key) {
	case "id":
		to = &m.ID
	case "params":
		to = &m.Params
	case "result":
		to = &m.Result
	case "error":
		to = &m.Error
	case "method":
		if m.Method != "" {
			return errors.New(`member "method" twice`)
		}
		if m.Method, _ = String(value); m.Method == "" {
			return errors.New(`member "method" is not a non-empty string`)
		}
		return nil
	default:
		return nil
	}
	if *to != nil {
		return fmt.Errorf("member %q twice", key)
	}
	*to = value
	return nil
}

// check returns an error for an invalid id or combination of members. It removes the null beside a
// result or an error, which some peers send.
func (m *Message) check() error {
	if m.ID != nil {
		switch c := m.ID[0]; {
		case c == '"' || c == '-' || c >= '0' && c <= '9':
		case c != 'n': // null
			return errors.New(`member "id" is neither a number nor a string`)
		case m.Method != "":
			return errors.New("request id is null")
		}
	}
	answer := m.Result != nil || m.Error != nil
	switch {
	case m.Method != "" && answer:
		return errors.New("both a request and a response")
	case m.Method == "" && !answer:
		return errors.New("neither a request nor a response")
	case m.Result == nil || m.Error == nil:
	case string(m.Error) == "null":
		m.Error = nil
	case string(m.Result) == "null":
		m.Result = nil
	default:
		return errors.New("both a result and an error")
	}
	if m.Result != nil && !m.HasID() {
		return errors.New("result without an id")
	}
	return nil
}

// ErrLargeBatch is the error of [Batch] for too many messages.
var ErrLargeBatch = errors.New("batch of too many messages")

// Batch splits an array of at most max messages.
func Batch(data []byte, max int) ([]json.RawMessage, error) {
	var out []json.RawMessage
	d := NewDecoder(data, max+1)
	for i := range d.Elements {
		if i == max {
			d.Fail(fmt.Errorf("%w: more than %d", ErrLargeBatch, max))
		}
		out = append(out, d.Raw())
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return out, nil
}

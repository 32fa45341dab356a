package jsonrpc

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Version is the value of the member jsonrpc.
const Version = "2.0"

// Message is the envelope of one message. Its raw members are slices of the
// bytes it was parsed from; nil means absent.
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

// IntID returns the id as one of our ids, a positive integer. quoted reports whether the peer wrote
// the number as a string. Some peers keep numbers as floats and write 7.0 or 7e0.
func (m *Message) IntID() (id int64, quoted, ok bool) {
	s := string(m.ID)
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s, quoted = s[1:len(s)-1], true
	}
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		id, err = strconv.ParseInt(integer(s), 10, 64)
	}
	return id, quoted, err == nil && id > 0
}

// integer writes a positive number without its fraction and exponent. It
// returns "" if the value is not an integer, or larger than any id.
func integer(number string) string {
	const digits = 20
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil || shift < -digits || shift > digits {
		return ""
	}
	fraction = strings.TrimRight(fraction, "0")
	for ; shift > 0; shift-- {
		next := "0"
		if fraction != "" {
			next, fraction = fraction[:1], fraction[1:]
		}
		whole += next
	}
	for ; shift < 0 && strings.HasSuffix(whole, "0"); shift++ {
		whole = whole[:len(whole)-1]
	}
	if shift != 0 || fraction != "" {
		return ""
	}
	return whole
}

// ErrBatch means that the bytes hold an array of messages: see [Batch].
var ErrBatch = errors.New("a batch of messages")

// Parse reads one message. It must be valid JSON, and its members nested at most
// [MaxDepth] deep; their values are checked when they are decoded.
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
	return m, m.check()
}

// set stores a member. A switch finds the few names of the protocol without a
// hash or an allocation.
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
			return errors.New(`member "method" is not a name`)
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

// check returns an error for an invalid combination of members.
func (m *Message) check() error {
	if m.ID != nil {
		switch c := m.ID[0]; {
		case c == '{' || c == '[' || c == 't' || c == 'f':
			return errors.New(`member "id" is neither a number nor a string`)
		case c == 'n' && m.Method != "":
			return errors.New(`a request with the id null`)
		}
	}
	answer := m.Result != nil || m.Error != nil
	switch {
	case m.Method != "" && answer:
		return errors.New("both a request and a response")
	case m.Method == "" && !answer:
		return errors.New("neither a request nor a response")
	case m.Result != nil && m.Error != nil: // some peers send the other member as null
		switch {
		case string(m.Error) == "null":
			m.Error = nil
		case string(m.Result) == "null":
			m.Result = nil
		default:
			return errors.New("both a result and an error")
		}
	}
	if m.Result != nil && !m.HasID() {
		return errors.New("a result without an id")
	}
	return nil
}

// ErrLargeBatch means that an array holds too many messages.
var ErrLargeBatch = errors.New("a batch of too many messages")

// Batch splits an array of at most max messages. A nested array counts as its elements.
func Batch(data []byte, max int) ([]json.RawMessage, error) {
	s := scanner{data: data}
	var out []json.RawMessage
	depth := 0
	var element func() error
	element = func() error {
		if s.peek() == '[' {
			if depth++; depth == MaxDepth {
				return fmt.Errorf("nested deeper than %d at byte %d", MaxDepth, s.pos)
			}
			defer func() { depth-- }()
			return s.array(element)
		}
		if len(out) == max {
			return fmt.Errorf("%w: more than %d", ErrLargeBatch, max)
		}
		start := s.pos
		if err := s.value(); err != nil {
			return err
		}
		out = append(out, data[start:s.pos:s.pos])
		return nil
	}
	err := s.array(element)
	if err != nil {
		return nil, err
	}
	if s.space(); s.pos != len(data) {
		return nil, fmt.Errorf("text after the batch at byte %d", s.pos)
	}
	return out, nil
}

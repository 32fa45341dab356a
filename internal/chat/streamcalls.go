package chat

import (
	"cmp"
	"encoding/json"
	"strings"
)

// streamedCalls assembles the tool calls of a stream.
type streamedCalls struct {
	names   *names // the host's names of the tools
	calls   []*streamedCall
	byIndex map[int]*streamedCall
}

type streamedCall struct {
	id, name  string
	arguments strings.Builder
	object    objectScanner // the arguments
	extra     json.RawMessage
	repeated  bool // so far it only repeats the name of the call before
}

// add adds a piece of a call. The id and the name come first; some hosts repeat them. It returns an
// error for a reply that exceeds maxCalls or maxCallName.
func (s *streamedCalls) add(delta *toolCallWire) error {
	call := s.find(delta)
	if call == nil {
		if len(s.calls) == maxCalls {
			return errManyCalls
		}
		before := s.candidate(delta)
		call = &streamedCall{repeated: before != nil && before.hasArguments() && delta.id == "" && delta.name == before.name}
		s.calls = append(s.calls, call)
		if delta.index != nil {
			s.byIndex[*delta.index] = call
		}
	}
	call.id = cmp.Or(call.id, delta.id)
	if err := s.addName(call, delta.name); err != nil {
		return err
	}
	if delta.extra != nil {
		call.extra = delta.extra
	}
	call.arguments.WriteString(delta.arguments)
	call.object.write(delta.arguments)
	call.repeated = call.repeated && !call.hasArguments()
	return nil
}

// addName adds a piece of a name, which may be the full name or repeat it. Once the arguments have begun, the name is
// complete.
func (s *streamedCalls) addName(call *streamedCall, piece string) error {
	switch {
	case piece == call.name:
	case call.name == "", s.isFullName(call.name, piece):
		call.name = piece
	case !call.hasArguments():
		call.name += piece
	}
	if len(call.name) > maxCallName {
		return errLongName
	}
	return nil
}

// find returns the call of a piece, nil for a new call. Gemini sends each call in one piece, without an index, or with
// the same index for several calls; other hosts send another id with each piece.
func (s *streamedCalls) find(delta *toolCallWire) *streamedCall {
	id, name := delta.id, delta.name
	call := s.candidate(delta)
	switch {
	case call == nil:
		return nil
	case name == "", id != "" && id == call.id:
		return call
	case call.hasArguments(): // the name is repeated, or another call begins
		if name == call.name && !call.object.closed {
			return call
		}
		return nil
	case delta.index == nil, id != "" && call.id != "": // after a call without arguments
		return nil
	case name == call.name, s.mayContinue(call.name, name):
		return call
	}
	return nil
}

// candidate returns the call that a piece may continue: that of its index, without an index that of its id, or else the
// last one. It returns nil if there is none.
func (s *streamedCalls) candidate(delta *toolCallWire) *streamedCall {
	if delta.index != nil {
		return s.byIndex[*delta.index]
	}
	for _, call := range s.calls {
		if delta.id != "" && call.id == delta.id {
			return call
		}
	}
	if len(s.calls) == 0 {
		return nil
	}
	return s.calls[len(s.calls)-1]
}

// mayContinue reports whether a piece may continue a name: a tool's name begins with both, neither is a tool's name, or the
// piece is the full name.
func (s *streamedCalls) mayContinue(name, piece string) bool {
	if len(name)+len(piece) > maxCallName {
		return false
	}
	if s.isFullName(name, piece) || !s.isTool(name) && !s.isTool(piece) {
		return true
	}
	for known := range s.names.in {
		if strings.HasPrefix(known, name+piece) {
			return true
		}
	}
	return false
}

// isFullName reports whether longer is a tool's name, and name is only its beginning.
func (s *streamedCalls) isFullName(name, longer string) bool {
	return strings.HasPrefix(longer, name) && !s.isTool(name) && s.isTool(longer)
}

func (s *streamedCalls) isTool(name string) bool { return s.names.in[name] != "" }

// list returns the calls, without those that only repeat a name.
func (s *streamedCalls) list() []ToolCall {
	var out []ToolCall
	for _, call := range s.calls {
		if !call.repeated {
			out = append(out, ToolCall{call.id, call.name, wellFormed(call.arguments.String()), call.extra})
		}
	}
	return out
}

// hasArguments reports whether a part of the arguments has arrived.
func (c *streamedCall) hasArguments() bool { return c.arguments.Len() > 0 }

// objectScanner follows a JSON object in pieces.
type objectScanner struct {
	depth    int
	inString bool
	escaped  bool
	closed   bool // the object is complete
}

// write reads the next piece.
func (o *objectScanner) write(piece string) {
	for i := range len(piece) {
		c := piece[i]
		switch {
		case o.escaped:
			o.escaped = false
		case o.inString:
			o.escaped, o.inString = c == '\\', c != '"'
		case c == '"':
			o.inString = true
		case c == '{', c == '[':
			o.depth++
		case c == '}', c == ']':
			o.depth--
			o.closed = o.closed || o.depth == 0
		}
	}
}

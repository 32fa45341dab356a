package chat

import (
	"encoding/json"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Bounds of the reasoning details of a reply. Beyond them all details are dropped.
const (
	maxDetails     = 256 << 10 // bytes
	maxDetailCount = 1000
)

// isDetails reports whether JSON can be the reasoning details of a message: a list that is not empty, within
// maxDetails.
func isDetails(raw json.RawMessage) bool {
	return len(raw) > len("[]") && len(raw) <= maxDetails && raw[0] == '['
}

// streamedDetails assembles the reasoning details of a stream. Texts and summaries come in pieces; encrypted details
// come in one piece.
type streamedDetails struct {
	all  []*streamedDetail
	size int // bytes so far
}

type streamedDetail struct {
	fields map[string]json.RawMessage
	member string // the field that comes in pieces; "" if none does
	text   strings.Builder
}

// detailMember maps the type of a detail to the field with its text.
var detailMember = map[string]string{`"reasoning.text"`: "text", `"reasoning.summary"`: "summary"}

// add adds the details of a chunk. It ignores everything but a list of objects.
func (s *streamedDetails) add(raw json.RawMessage) {
	var pieces []map[string]json.RawMessage
	if s.size += len(raw); len(s.all)+jsonrpc.CountElements(raw) > maxDetailCount {
		s.size = maxDetails + 1
	}
	if s.size > maxDetails || len(raw) == 0 || json.Unmarshal(raw, &pieces) != nil {
		return
	}
	for _, fields := range pieces {
		member := detailMember[string(fields["type"])]
		var d *streamedDetail
		if n := len(s.all); n > 0 && member != "" && s.all[n-1].continuedBy(fields) {
			d = s.all[n-1]
		} else {
			d = &streamedDetail{fields: map[string]json.RawMessage{}, member: member}
			s.all = append(s.all, d)
		}
		for key, value := range fields {
			if text, ok := decodeString(value); ok && key == member {
				d.text.WriteString(text)
			} else if string(value) != "null" || d.fields[key] == nil {
				d.fields[key] = value
			}
		}
	}
}

// continuedBy reports whether fields are another piece of the detail.
func (d *streamedDetail) continuedBy(fields map[string]json.RawMessage) bool {
	return string(d.fields["type"]) == string(fields["type"]) && string(d.fields["index"]) == string(fields["index"])
}

// list returns all details, nil if there are none or too many.
func (s *streamedDetails) list() json.RawMessage {
	if len(s.all) == 0 || s.size > maxDetails {
		return nil
	}
	list := make([]map[string]json.RawMessage, len(s.all))
	for i, d := range s.all {
		if d.member != "" {
			d.fields[d.member], _ = json.Marshal(wellFormed(d.text.String())) // a string always marshals
		}
		list[i] = d.fields
	}
	raw, _ := json.Marshal(list) // decoded JSON always marshals
	return raw
}

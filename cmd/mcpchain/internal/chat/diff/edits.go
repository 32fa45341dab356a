package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// textPairs are the names by which tools take the old and the new text of an edit.
var textPairs = [][2]string{
	{"oldText", "newText"}, {"old_text", "new_text"}, {"old_string", "new_string"},
	{"oldString", "newString"}, {"old_str", "new_str"}, {"old", "new"},
}

// editLists are the names by which tools take several edits.
var editLists = []string{"edits", "changes", "replacements"}

// patches are the names by which tools take a unified diff.
var patches = []string{"diff", "patch"}

// maxEdits is the most edits of a call that are shown as a diff.
const maxEdits = 100

// Edits returns the diff of the edit in the arguments of a tool call, nil if they have none, and an object with the
// other members of the arguments.
func Edits(arguments []byte) (lines []Line, others json.RawMessage) {
	all, ok := decodeObject(arguments)
	if !ok {
		return nil, arguments
	}
	if lines, rest := replacement(all); lines != nil {
		return lines, encodeObject(rest)
	}
	for i, m := range all {
		var several []json.RawMessage
		var patch string
		switch {
		case slices.Contains(editLists, m.name) && json.Unmarshal(m.value, &several) == nil:
			lines = editsOf(several)
		case slices.Contains(patches, m.name) && json.Unmarshal(m.value, &patch) == nil:
			lines = Unified(patch)
		}
		if lines != nil {
			return lines, encodeObject(slices.Delete(slices.Clone(all), i, i+1))
		}
	}
	return nil, arguments
}

// editsOf returns the diffs of several edits, nil if one of them is not an edit.
func editsOf(edits []json.RawMessage) (lines []Line) {
	if len(edits) > maxEdits {
		return nil
	}
	for i, edit := range edits {
		all, ok := decodeObject(edit)
		if !ok {
			return nil
		}
		changes, rest := replacement(all)
		if changes == nil {
			return nil
		}
		if i > 0 || len(rest) > 0 {
			about := fmt.Sprintf("edit %d", i+1)
			if len(rest) > 0 {
				about += ": " + string(encodeObject(rest))
			}
			lines = append(lines, Line{Heading, about})
		}
		lines = append(lines, changes...)
	}
	return lines
}

// replacement returns the diff of an edit with an old and a new text, nil for other objects, and the other members.
func replacement(all []member) (lines []Line, rest []member) {
	for _, pair := range textPairs {
		var texts [2]*string
		rest = nil
		for _, m := range all {
			i := slices.Index(pair[:], m.name)
			var text string
			if i < 0 || m.value[0] != '"' || json.Unmarshal(m.value, &text) != nil {
				rest = append(rest, m)
				continue
			}
			texts[i] = &text
		}
		if texts[0] != nil && texts[1] != nil {
			return Lines(*texts[0], *texts[1]), rest
		}
	}
	return nil, all
}

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// decodeObject returns the members of an object in their order. It reports false for other JSON, and for an object with
// a duplicate name, as its reader could use either value.
func decodeObject(raw []byte) (all []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		t, err := d.Token()
		name, isName := t.(string)
		var value json.RawMessage
		if err != nil || !isName || d.Decode(&value) != nil || slices.ContainsFunc(all, func(m member) bool { return m.name == name }) {
			return nil, false
		}
		all = append(all, member{name, value})
	}
	return all, true
}

// encodeObject returns an object with the members.
func encodeObject(all []member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			continue // cannot happen: a string has JSON
		}
		b = append(append(append(b, name...), ':'), m.value...)
	}
	return append(b, '}')
}

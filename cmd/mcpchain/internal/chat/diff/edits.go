package diff

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// textPairs are the names by which tools take the old and the new text of an edit.
var textPairs = [][2]string{
	{"oldText", "newText"}, {"old_text", "new_text"}, {"old_string", "new_string"},
	{"oldString", "newString"}, {"old_str", "new_str"}, {"old", "new"},
}

// editLists are the names by which tools take several edits.
var editLists = []string{"edits", "changes", "replacements"}

// maxEdits is the most edits of a call that are shown as a diff.
const maxEdits = 100

// object is a JSON object.
type object = map[string]jsontext.Value

// Edits returns the diff of the edit in the arguments of a tool call, nil if they have none, and an
// object with the other members of the arguments. An object with a duplicate name is not an edit,
// as its reader could use either value.
func Edits(arguments []byte) (lines []Line, others jsontext.Value) {
	var all object
	if json.Unmarshal(arguments, &all) != nil {
		return nil, arguments
	}
	if lines := takeReplacement(all); lines != nil {
		return lines, encode(all)
	}
	for _, name := range editLists {
		var several []object
		if json.Unmarshal(all[name], &several) != nil {
			continue
		}
		if lines = editLines(several); lines != nil {
			delete(all, name)
			return lines, encode(all)
		}
	}
	return nil, arguments
}

// editLines returns the diffs of several edits, nil if one of them is not an edit or there are more
// than maxEdits. It removes the texts from the edits.
func editLines(edits []object) (lines []Line) {
	if len(edits) > maxEdits {
		return nil
	}
	for i, edit := range edits {
		changes := takeReplacement(edit)
		if changes == nil {
			return nil
		}
		about := fmt.Sprintf("edit %d", i+1)
		if len(edit) > 0 {
			about += ": " + string(encode(edit))
		}
		if i > 0 || len(edit) > 0 {
			lines = append(lines, Line{Heading, about})
		}
		lines = append(lines, changes...)
	}
	return lines
}

// takeReplacement removes an old and a new text from an object, and returns their diff. It returns
// nil for an object without them, and does not change it.
func takeReplacement(all object) []Line {
	for _, pair := range textPairs {
		var before, after string
		if all[pair[0]].Kind() != '"' || all[pair[1]].Kind() != '"' {
			continue
		}
		if json.Unmarshal(all[pair[0]], &before) == nil && json.Unmarshal(all[pair[1]], &after) == nil {
			delete(all, pair[0])
			delete(all, pair[1])
			return Lines(before, after)
		}
	}
	return nil
}

// encode returns an object as JSON, with sorted names.
func encode(all object) jsontext.Value {
	raw, _ := json.Marshal(all, json.Deterministic(true)) // cannot fail: the values are JSON
	return raw
}

// Package diff shows line by line what the edit of a tool call changes.
package diff

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the kind of a line of a diff.
type Kind int

// The kinds of lines.
const (
	Same Kind = iota
	Removed
	Added
	Heading // not a line of either text
)

// Line is a line of a diff.
type Line struct {
	Kind Kind
	Text string
}

// contextLines is the number of unchanged lines that are shown before and after a change.
const contextLines = 3

// Lines compares two texts. Unchanged lines before a change, far from it, are replaced by an ellipsis. Equal texts, apart
// from a line break at the end, give a heading that says so. The diff of very different large texts is not minimal.
func Lines(before, after string) (lines []Line) {
	before, after = withLineBreak(before), withLineBreak(after)
	d, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), contextLines)
	if err != nil || len(d.Hunks) == 0 { // the edits are valid, so there is no error
		return []Line{{Heading, "(nothing changes)"}}
	}
	kinds := map[udiff.OpKind]Kind{udiff.Equal: Same, udiff.Delete: Removed, udiff.Insert: Added}
	for _, hunk := range d.Hunks {
		if hunk.FromLine > 1 {
			lines = append(lines, Line{Heading, "…"})
		}
		for _, l := range hunk.Lines {
			lines = append(lines, Line{kinds[l.Kind], strings.TrimSuffix(l.Content, "\n")})
		}
	}
	return lines
}

// withLineBreak returns a text whose last line, if there is one, ends with a line break.
func withLineBreak(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// Marked returns the line with the mark that it has in a unified diff.
func (l Line) Marked() string {
	switch l.Kind {
	case Removed:
		return "- " + l.Text
	case Added:
		return "+ " + l.Text
	case Heading:
		return l.Text
	}
	return "  " + l.Text
}

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

// Edits returns the diff of the edit in the arguments of a tool call, nil if they have none, and an object with the
// other members of the arguments. An object with a duplicate name is not an edit, as its reader could use either value.
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

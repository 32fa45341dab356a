// Package diff shows line by line what the edit of a tool call changes.
package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
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

// Lines compares two texts. Unchanged lines far from a change are replaced by an ellipsis. Equal
// texts give a heading that says so.
func Lines(before, after string) []Line {
	a, b := splitLines(before), splitLines(after)
	var lines []Line
	at := 0
	// DiffLines bounds its effort: the diff of very different large texts is not minimal.
	for _, d := range lcs.DiffLines(a, b) {
		lines = append(lines, newLines(Same, a[at:d.Start])...)
		lines = append(lines, newLines(Removed, a[d.Start:d.End])...)
		lines = append(lines, newLines(Added, b[d.ReplStart:d.ReplEnd])...)
		at = d.End
	}
	lines = append(lines, newLines(Same, a[at:])...)
	if !slices.ContainsFunc(lines, isChange) {
		return []Line{{Heading, "(nothing changes)"}}
	}
	return elide(lines)
}

// isChange reports whether a line is in one of the texts only.
func isChange(l Line) bool { return l.Kind != Same }

// splitLines returns the lines of a text. An empty text has none.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// newLines returns lines of one kind.
func newLines(kind Kind, texts []string) (lines []Line) {
	for _, text := range texts {
		lines = append(lines, Line{kind, text})
	}
	return lines
}

// elide replaces unchanged lines that are far from a change by an ellipsis.
func elide(lines []Line) (shown []Line) {
	omitted := false
	for i, line := range lines {
		around := lines[max(0, i-contextLines):min(len(lines), i+contextLines+1)]
		if !slices.ContainsFunc(around, isChange) {
			omitted = true
			continue
		}
		if omitted {
			shown = append(shown, Line{Heading, "…"})
			omitted = false
		}
		shown = append(shown, line)
	}
	if omitted {
		shown = append(shown, Line{Heading, "…"})
	}
	return shown
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

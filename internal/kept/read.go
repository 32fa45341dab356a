package kept

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Query selects a part of a result. Pointer and Fields select a part of JSON, to which the other fields apply.
type Query struct {
	Handle  string   `json:"handle" jsonschema:"The handle that the shortened result names."`
	Offset  int      `json:"offset,omitempty" minimum:"0" jsonschema:"The byte to begin with."`
	Limit   int      `json:"limit,omitempty" minimum:"1" jsonschema:"How many bytes at most. Default 4000."`
	Line    int      `json:"line,omitempty" minimum:"1" jsonschema:"The line to begin with, from 1."`
	Lines   int      `json:"lines,omitempty" minimum:"1" jsonschema:"How many lines. Default 100."`
	Pattern string   `json:"pattern,omitempty" jsonschema:"A regular expression (RE2): matches are shown with what is around them, and in JSON with the pointer of what they are in."`
	Context int      `json:"context,omitempty" minimum:"0" jsonschema:"Bytes around a match. Default 200."`
	Pointer string   `json:"pointer,omitempty" jsonschema:"A JSON pointer, such as /items/3: only that value."`
	Fields  []string `json:"fields,omitempty" jsonschema:"Only these members of the object, or of each object of the list."`
}

// Bounds of a query.
const (
	defaultLimit   = 4000
	defaultLines   = 100
	defaultContext = 200
	maxContext     = 4000
	maxPattern     = 1000
	maxMatches     = 1000
	maxPlaces      = 50  // matches whose place in JSON is shown
	noticeSize     = 160 // bytes of the note above a piece
)

// Read returns the selected part of data, at most q.Limit bytes, with a note, in at most most bytes. A search ends early with
// the context, or with a note if it takes too long. Errors are written for the model.
func Read(ctx context.Context, data []byte, q Query, most int) (string, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = max(min(limit, most-noticeSize), utf8.UTFMax) // at least one character, so that the model comes to the end
	part, base := data, ""
	if q.Pointer != "" || len(q.Fields) > 0 {
		var err error
		if part, err = Value(data, q.Pointer); err != nil {
			return "", err
		}
		base = q.Pointer
		if len(q.Fields) > 0 {
			if part, err = selectFields(ctx, part, q.Fields); err != nil {
				return "", err
			}
		}
	}
	text := strings.ToValidUTF8(string(part), "\ufffd")
	switch {
	case q.Pattern != "":
		return search(ctx, text, base, q, limit)
	case q.Line > 0 || q.Lines > 0:
		return lines(text, q, limit)
	}
	if q.Offset >= len(text) && len(text) > 0 {
		return "", fmt.Errorf("offset is beyond the text, which has %d bytes", len(text))
	}
	from := excerpt.After(text, q.Offset)
	return span(text, from, excerpt.Before(text, from+limit)), nil
}

// span returns a piece of a text below a line that says which piece it is.
func span(text string, from, to int) string {
	if from == 0 && to == len(text) {
		return text
	}
	more := "the text ends here"
	if to < len(text) {
		more = fmt.Sprintf("continue with offset %d", to)
	}
	return fmt.Sprintf("[bytes %d to %d of %d; %s]\n%s", from, to, len(text), more, text[from:to])
}

// lines returns lines of a text, as many as fit into limit bytes, or the beginning of a line that is longer.
func lines(text string, q Query, limit int) (string, error) {
	first, count := max(q.Line, 1), q.Lines
	if count <= 0 {
		count = defaultLines
	}
	all := strings.Count(text, "\n") + 1
	count = min(count, all)
	if first > all {
		return "", fmt.Errorf("there is no line %d: the text has %d lines", first, all)
	}
	from := 0
	for range first - 1 {
		from += strings.IndexByte(text[from:], '\n') + 1
	}
	to, last := from, first-1
	for last < all && last < first+count-1 {
		next := len(text)
		if i := strings.IndexByte(text[to:], '\n'); i >= 0 {
			next = to + i + 1
		}
		if next-from > limit {
			break
		}
		to, last = next, last+1
	}
	if last < first { // a single line that is too long
		return span(text, from, excerpt.Before(text, from+limit)), nil
	}
	return fmt.Sprintf("[lines %d to %d of %d]\n%s", first, last, all, text[from:to]), nil
}

// search returns the matches of the pattern from the offset on, as many as fit into limit bytes, and
// at least the beginning of one. base is the pointer of text in the result.
func search(ctx context.Context, text, base string, q Query, limit int) (string, error) {
	if len(q.Pattern) > maxPattern {
		return "", fmt.Errorf("pattern has %d bytes, and may have %d", len(q.Pattern), maxPattern)
	}
	p, err := compile(q.Pattern)
	if err != nil {
		return "", err
	}
	if q.Offset > len(text) {
		return "", fmt.Errorf("offset is beyond the text, which has %d bytes", len(text))
	}
	start := excerpt.After(text, q.Offset)
	found, searched := p.findAll(ctx, text, start, maxSteps)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	unsearched := ""
	if searched < len(text) && len(found) < maxMatches {
		unsearched = fmt.Sprintf(", and the search takes too long: continue with offset %d, or use a simpler pattern", searched)
	}
	if len(found) == 0 {
		return "[no match" + unsearched + "]", nil
	}
	return matchesText(text, base, q, found, limit, unsearched), nil
}

// matchesText describes matches in text, as many as fit into limit bytes. unsearched is added to the title if all are
// shown.
func matchesText(text, base string, q Query, found [][]int, limit int, unsearched string) string {
	margin := min(q.Context, maxContext)
	if margin <= 0 {
		margin = defaultContext
	}
	offsets := make([]int, len(found))
	for i, m := range found {
		offsets[i] = m[0]
	}
	pointers := pointersAt([]byte(text), offsets[:min(len(offsets), maxPlaces)])
	var b strings.Builder
	shown := 0
	for i, m := range found {
		piece := text[excerpt.Before(text, m[0]-margin):excerpt.After(text, min(m[1], m[0]+limit)+margin)]
		place := ""
		if i < len(pointers) && len(q.Fields) == 0 {
			place = fmt.Sprintf(" in %q", base+pointers[i])
		}
		entry := fmt.Sprintf("[match %d at byte %d%s]\n%s\n", i+1, m[0], place, piece)
		if shown > 0 && b.Len()+len(entry) > limit {
			break
		}
		b.WriteString(cut(entry, limit))
		shown++
	}
	title := fmt.Sprintf("[%d matches", len(found))
	if len(found) == maxMatches {
		title = fmt.Sprintf("[%d matches or more", maxMatches)
	}
	if shown < len(found) {
		title += fmt.Sprintf(", %d are shown; continue with offset %d", shown, found[shown][0])
	} else {
		title += unsearched
	}
	return title + "]\n" + b.String()
}

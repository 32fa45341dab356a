package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/offering"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Bounds of the results that are kept for /show.
const (
	maxResults     = 50
	maxResultsText = 32 << 20  // bytes of all; the newest is kept in any case
	maxShownText   = 100 << 10 // bytes of one that a person sees
)

// result is a tool call that has ended.
type result struct {
	server    string // "" in a conversation that was continued: records do not have it
	tool      string
	arguments string
	text      string
	failed    bool
}

// results are the last results of tools.
type results struct {
	screen screen.Screen
	all    []result // the oldest first
}

// add adds a result, and drops the oldest ones beyond the bounds.
func (r *results) add(newest result) {
	r.all = append(r.all, newest)
	size := 0
	for i := len(r.all) - 1; i >= 0; i-- {
		size += len(r.all[i].text) + len(r.all[i].arguments)
		if i < len(r.all)-1 && (size > maxResultsText || len(r.all)-i > maxResults) {
			r.all = slices.Clone(r.all[i+1:])
			return
		}
	}
}

// newResult returns the result of a call as the server sent it, or else as the model got it.
func newResult(e *agent.ToolEnd) result {
	r := result{
		server:    e.Server,
		tool:      screen.CallName(&e.Call),
		arguments: e.Arguments,
		text:      e.Result.Text,
		failed:    e.Result.IsError,
	}
	raw := e.Result.Raw
	if raw == nil {
		return r
	}
	if r.text = offering.Content(raw.Content); r.text == "" {
		r.text = string(raw.StructuredContent)
	}
	return r
}

// replaceBy replaces the results by the results of a history, as the model got them.
func (r *results) replaceBy(history []run.Message) {
	r.all = nil
	arguments := map[string]string{}
	for _, m := range history {
		for _, p := range m.Parts {
			switch p.Type {
			case run.PartCall:
				arguments[p.ID] = p.Arguments
			case run.PartResult:
				r.add(result{
					tool:      hosttext.Line(p.Name, 100),
					arguments: arguments[p.ID],
					text:      p.Text,
					failed:    p.IsError,
				})
			}
		}
	}
}

// show is the command /show: it shows a call with its result, to a person up to maxShownText of it. 1, the default, is the
// newest.
func (r *results) show(_ context.Context, number string) error {
	n, err := strconv.Atoi(cmp.Or(number, "1"))
	count := len(r.all)
	switch {
	case count == 0:
		return errors.New("no tool was called yet")
	case err != nil || n < 1 || n > count:
		return fmt.Errorf("no result %s; there are %d, and 1 is the newest", hosttext.Line(number, 40), count)
	}
	shown := r.all[count-n]
	style, word := screen.Tool, "result"
	if shown.failed {
		style, word = screen.Warn, "failure"
	}
	r.screen.Note(screen.Plain, "%s", strings.TrimSpace(shown.server+" "+shown.tool))
	changes, others := diff.Edits([]byte(shown.arguments))
	if text := string(others); text != "{}" && text != "" {
		r.screen.Note(screen.Faint, "%s", hosttext.Indent(hosttext.JSONLine(text)))
	}
	for _, line := range screen.DiffLines(changes) {
		r.screen.Note(line.Style, "%s", line.Text)
	}
	r.screen.Note(screen.Plain, "%s, %s:", word, formatSize(int64(len(shown.text))))
	if !r.screen.Attended() {
		r.screen.Deliver(shown.text)
		return nil
	}
	text := indentJSON(strings.ReplaceAll(shown.text, "\r\n", "\n"))
	shownText := text[:excerpt.Before(text, maxShownText)]
	r.screen.Note(style, "%s", hosttext.Indent(shownText))
	if len(shownText) < len(text) {
		r.screen.Note(screen.Faint, "  (the first %s)", formatSize(maxShownText))
	}
	return nil
}

// indentJSON indents JSON objects and arrays. It returns other texts unchanged, and JSON that would
// be mostly indentation.
func indentJSON(text string) string {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return text
	}
	if indented, ok := excerpt.Indent(trimmed); ok {
		return indented
	}
	return text
}

// formatSize formats a number of bytes, such as 1.5 KiB.
func formatSize(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

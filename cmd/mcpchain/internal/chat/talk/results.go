package talk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/media"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/picture"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/wrap"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Bounds of the results that are kept for /show.
const (
	maxResults     = 50
	maxResultsText = 32 << 20 // bytes of all; the newest is kept in any case
)

// result is a tool call that has ended.
type result struct {
	server, tool, arguments string
	text                    string
	failed                  bool
}

// results are the last results of tools. Its methods may be called concurrently: completions read it during a turn.
type results struct {
	mu  sync.Mutex // guards the field below
	all []result   // the oldest first
}

// add adds a result, and forgets the oldest ones beyond the bounds.
func (r *results) add(newest result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, newest)
	size := 0
	for i := len(r.all) - 1; i >= 0; i-- {
		size += len(r.all[i].text) + len(r.all[i].arguments)
		if i < len(r.all)-1 && (size > maxResultsText || len(r.all)-i > maxResults) {
			r.all = append([]result(nil), r.all[i+1:]...)
			return
		}
	}
}

func (r *results) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = nil
}

// list returns the results, the newest first.
func (r *results) list() []result {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.all)
	slices.Reverse(all)
	return all
}

// resultOf returns the result of a call as the server sent it, or else as the model got it.
func resultOf(e *agent.ToolEnd) result {
	r := result{server: e.Server, tool: screen.CallName(&e.Call), arguments: e.Arguments, text: e.Part.Text, failed: e.Part.IsError}
	if e.Result == nil {
		return r
	}
	r.text, r.failed = e.Result.Text, e.Result.IsError
	if raw := e.Result.Raw; raw != nil {
		if text := screen.ContentText(raw.Content); text != "" || len(raw.StructuredContent) == 0 {
			r.text = text
		} else {
			r.text = string(raw.StructuredContent)
		}
	}
	return r
}

// recallResults replaces the results by those of a history, as the model got them.
func (s *Session) recallResults(history []run.Message) {
	s.results.clear()
	arguments := map[string]string{}
	for _, m := range history {
		for _, p := range m.Parts {
			switch p.Type {
			case run.PartCall:
				arguments[p.ID] = p.Arguments
			case run.PartResult:
				s.results.add(result{tool: hosttext.Line(p.Name, 100), arguments: arguments[p.ID], text: p.Text, failed: p.IsError})
			}
		}
	}
}

// show is the command /show: it shows a call with its whole result. 1 is the newest.
func (s *Session) show(ctx context.Context, number string) error {
	n, err := strconv.Atoi(cmp.Or(number, "1"))
	all := s.results.list()
	switch {
	case len(all) == 0:
		return errors.New("no tool was called yet")
	case err != nil || n < 1 || n > len(all):
		return fmt.Errorf("no result %s; there are %d, and 1 is the newest", hosttext.Line(number, 40), len(all))
	}
	r := all[n-1]
	style, word := screen.Tool, "result"
	if r.failed {
		style, word = screen.Warn, "failure"
	}
	s.Screen.Note(screen.Plain, "%s", strings.TrimSpace(r.server+" "+r.tool))
	changes, others := diff.Edits([]byte(r.arguments))
	if text := string(others); text != "{}" && text != "" {
		s.Screen.Note(screen.Faint, "%s", hosttext.Indent(hosttext.JSON(text)))
	}
	for _, line := range screen.DiffLines(changes) {
		s.Screen.Note(line.Style, "%s", line.Text)
	}
	s.Screen.Note(screen.Plain, "%s, %s:", word, formatSize(int64(len(r.text))))
	if !s.Screen.Attended() {
		s.Screen.Deliver(r.text)
		return nil
	}
	return s.page(ctx, style, indentJSON(r.text))
}

// indentJSON indents JSON objects and arrays. It returns other texts unchanged.
func indentJSON(text string) string {
	var b bytes.Buffer
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") || json.Indent(&b, []byte(trimmed), "", "  ") != nil {
		return text
	}
	return b.String()
}

const (
	defaultPageRows = 20      // if the size of the screen is not known
	maxPageLine     = 4 << 10 // bytes; a longer line is shown in pieces
)

// page shows a text page by page, as long as the person wants to see more.
func (s *Session) page(ctx context.Context, style screen.Style, text string) error {
	columns, rows := 0, defaultPageRows
	if sized, ok := s.Screen.(screen.Sized); ok {
		if width, height := sized.Size(); height > 0 {
			columns, rows = width, max(4, height-6)
		}
	}
	for rest := text; rest != ""; {
		var lines []string
		for len(lines) < rows && rest != "" {
			var line string
			line, rest = nextLine(rest)
			lines = append(lines, wrap.Note(screen.Indent(line), columns)...)
		}
		s.Screen.Note(style, "%s", strings.Join(lines, "\n"))
		if rest == "" {
			break
		}
		key, err := s.Screen.Choose(ctx, &screen.Choice{
			Question: fmt.Sprintf("%d%% of it.", 100*(len(text)-len(rest))/len(text)),
			Answers:  []screen.Answer{{Key: 'm', Label: "more"}, {Key: 'q', Label: "quit"}},
		})
		if err != nil || key == 'q' {
			return err
		}
	}
	return nil
}

// nextLine cuts the first line from a text, or a piece of a long line.
func nextLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	if len(line) <= maxPageLine {
		return strings.TrimSuffix(line, "\r"), rest
	}
	end := excerpt.Before(text, maxPageLine)
	return text[:end], text[end:]
}

// resultNumbers completes the argument of /show.
func (s *Session) resultNumbers(context.Context, string) (c screen.Completion) {
	for i, r := range s.results.list() {
		c.Items = addItem(c.Items, fmt.Sprint(i+1), r.tool+": "+hosttext.Line(r.text, 100), false)
	}
	return c
}

// maxSaved is the most files that are saved from a result or resource.
const maxSaved = 10

// saveResultMedia saves the pictures, sounds and other files of a tool's result.
func (s *Session) saveResultMedia(e *agent.ToolEnd) {
	if e.Result == nil || e.Result.Raw == nil {
		return
	}
	var files [][]byte
	for _, c := range e.Result.Raw.Content {
		switch c := c.(type) {
		case *mcp.ImageContent:
			files = append(files, c.Data)
		case *mcp.AudioContent:
			files = append(files, c.Data)
		case *mcp.EmbeddedResource:
			if c.Resource.Blob != nil {
				files = append(files, c.Resource.Blob)
			}
		}
	}
	s.saveMedia(e.Server+" "+screen.CallName(&e.Call), files)
}

// saveMedia saves files, says where they are, and draws pictures. A script has no folder for them.
func (s *Session) saveMedia(from string, files [][]byte) {
	if s.Media == nil {
		return
	}
	for i, data := range files {
		if i == maxSaved {
			s.Screen.Note(screen.Warn, "  not saved: %s", screen.Plural(len(files)-maxSaved, "file"))
			return
		}
		path, err := s.Media.Save(from, data)
		if err != nil {
			s.Screen.Note(screen.Warn, "  not saved: %s", hosttext.Line(err.Error(), 400))
			continue
		}
		s.Screen.Note(screen.Faint, "  saved, %s:\n  %s", formatSize(int64(len(data))), hosttext.Exact(abbreviateHome(path)))
		s.draw(data)
	}
}

// draw draws a picture if the screen can.
func (s *Session) draw(data []byte) {
	canvas, ok := s.Screen.(screen.Drawing)
	if !ok {
		return
	}
	if img, err := picture.Decode(data); err == nil {
		canvas.Draw(img)
	}
}

// saveBlob saves a resource that is not text, and reports whether it did.
func (s *Session) saveBlob(server, uri string, blob []byte) bool {
	if s.Media == nil || len(blob) == 0 || len(blob) > media.MaxFile {
		return false
	}
	s.saveMedia(fmt.Sprintf("%s %s", server, uri), [][]byte{blob})
	return true
}

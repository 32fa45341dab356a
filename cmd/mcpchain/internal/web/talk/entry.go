package talk

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/prose"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Bounds of what a window shows, in bytes.
const (
	maxArguments = 16 << 10
	maxResult    = 64 << 10
	maxReasoning = 64 << 10
	maxError     = 2000
)

// The data of entries, encoded as JSON. Invisible characters in texts of servers and models are escaped.
type (
	saidJSON struct { // a question that the user asked
		Seq   uint64 `json:"seq"`   // its record's number, for [Service.Edit]
		Index int    `json:"index"` // its message in the record
		Text  string `json:"text"`
	}
	replyJSON struct { // a reply of the model
		Text      []prose.Node `json:"text,omitempty"`
		Broken    bool         `json:"broken,omitempty"` // the turn failed before its end
		Reasoning string       `json:"reasoning,omitempty"`
		Model     string       `json:"model,omitempty"`
	}
	callJSON struct {
		ID        string `json:"id"`
		Turn      int    `json:"turn,omitempty"` // 0: a call of the conversation that was edited
		Server    string `json:"server,omitempty"`
		View      string `json:"view,omitempty"` // URI of the view that shows the result, if any
		Name      string `json:"name"`
		Arguments string `json:"arguments,omitempty"`
	}
	resultJSON struct {
		callJSON
		Text  string      `json:"text"`
		Error bool        `json:"error,omitempty"`
		Media []mediaJSON `json:"media,omitempty"`
		Took  int64       `json:"took_ms,omitempty"` // 0: unknown
	}
	mediaJSON struct {
		URL  string `json:"url"`
		Type string `json:"type"` // image or audio
	}
	progressJSON struct {
		Done    float64  `json:"done"`
		Total   *float64 `json:"total,omitempty"`
		Message string   `json:"message,omitempty"`
	}
	answeredJSON struct { // an answer of the user
		Ask    string `json:"ask"` // the question's id
		Action string `json:"action"`
		Reason string `json:"reason,omitempty"`
		What   string `json:"what"`           // the subject of the question
		Link   *Link  `json:"link,omitempty"` // the page that the user wants to visit
	}
	endedJSON struct {
		Status string `json:"status"`           // done, failed or cancelled
		Error  string `json:"error,omitempty"`  // why it failed, in a sentence
		Detail string `json:"detail,omitempty"` // the error itself
		Again  bool   `json:"again,omitempty"`  // [Service.Retry] may help
		Stop   string `json:"stop,omitempty"`   // the limit that ended the turn
	}
	noteJSON struct {
		Text string `json:"text"`
	}
)

// entry is what windows get of an event or a record, with its position in the run. Windows get nothing of an entry
// without a kind.
type entry struct {
	at   agent.Position
	kind string
	data any // encoded as JSON
}

// entryOf returns the entry of an event. Of sub-agents, windows get only questions, their answers and notes: a
// sub-agent's result is the result of a call.
func (s *Service) entryOf(key run.Key, e agent.Event) entry {
	out := entry{at: e.Position()}
	var path []string
	switch e := e.(type) {
	case *agent.Asked:
		out.kind, out.data = "asked", askOf(e.Question)
	case *agent.Replied:
		out.kind, out.data = "answered", answeredOf(e)
	case *agent.Compacted:
		out.kind, out.data = "note", noteJSON{"Older messages were shortened for the model."}
	case *agent.ModelEnd:
		path = e.Path
		out.kind, out.data = "reply", replyOf(e.Text, e.Reasoning, e.Model)
	case *agent.ToolStart:
		path = e.Path
		c := callOf(e.Call)
		c.View = s.viewURI(e.Server, e.Tool)
		out.kind, out.data = "call", c
	case *agent.ToolEnd:
		path = e.Path
		r := resultOf(key, storedAt{seq: e.Seq}, e)
		if !r.Error {
			r.View = s.viewURI(e.Server, e.Tool)
		}
		out.kind, out.data = "result", r
	case *agent.Output:
		path = e.Path
		end := endedJSON{Status: string(run.StatusFinished)}
		switch {
		case e.StopReason != agent.StopOutput:
			end.Stop = hosttext.Line(string(e.StopReason), 100)
		case e.FinishReason == model.FinishLength: // the answer is cut off
			end.Stop = model.FinishLength
		}
		out.kind, out.data = "ended", end
	}
	if len(path) > 0 {
		return entry{at: out.at}
	}
	return out
}

// viewURI returns the URI of the view of a server's tool, "" if there is none.
func (s *Service) viewURI(server, tool string) string {
	if s.o.View == nil || server == "" {
		return ""
	}
	return s.o.View(server, tool)
}

// answeredOf returns the data of an answer, with the page that the user agrees to visit, unless its address is refused.
func answeredOf(e *agent.Replied) answeredJSON {
	a := answeredJSON{
		Ask:    e.Question.ID,
		Action: string(e.Reply.Action),
		Reason: proseText(e.Reply.Reason, maxError),
		What:   subject(e.Question),
	}
	if e.Question.Kind == run.QuestionURL && e.Reply.Action == run.ActionAccept {
		a.Link, _ = ParseLink(e.Question.Elicit.URL)
	}
	return a
}

// replyOf returns the data of the model's reply.
func replyOf(text, reasoning, model string) replyJSON {
	r := replyJSON{Reasoning: proseText(reasoning, maxReasoning), Model: hosttext.Line(model, 100)}
	if strings.TrimSpace(text) != "" {
		r.Text = prose.Tree(text)
	}
	return r
}

// callOf returns the data of a call, without the URI of its view.
func callOf(c agent.Call) callJSON {
	return callJSON{
		ID:        c.ID,
		Turn:      c.Turn,
		Server:    hosttext.Line(c.Server, 100),
		Name:      hosttext.Line(c.Name, 200),
		Arguments: prettyJSON(c.Arguments, maxArguments),
	}
}

// storedAt is where a message or a result is stored: the number of a record, and the index of a message in it. Records
// do not change, unlike the model's history.
type storedAt struct {
	seq   uint64
	index int
}

// resultOf returns the data of a result. The page loads pictures and sound by their URLs, see [Service.Media].
func resultOf(key run.Key, at storedAt, e *agent.ToolEnd) resultJSON {
	r := resultJSON{
		callJSON: callOf(e.Call),
		Text:     proseText(e.Part.Text, maxResult),
		Error:    e.Part.IsError,
		Took:     int64(e.Duration / time.Millisecond),
	}
	for i, p := range e.Part.Media {
		if !isShown(p) {
			continue
		}
		kind, _, _ := strings.Cut(p.MIMEType, "/")
		r.Media = append(r.Media, mediaJSON{
			URL:  fmt.Sprintf("/api/conversations/%s/media/%d/%d/%s/%d", url.PathEscape(key.ID), at.seq, at.index, url.PathEscape(e.ID), i),
			Type: kind,
		})
	}
	return r
}

// shownTypes are the types of pictures and sound that a page shows: none of them can contain scripts.
var shownTypes = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true,
	"audio/mpeg": true, "audio/wav": true, "audio/ogg": true, "audio/mp4": true, "audio/webm": true,
}

func isShown(p run.Part) bool { return shownTypes[p.MIMEType] && len(p.Data) > 0 }

// proseText returns text that a person only reads, cut to most bytes before escaping.
func proseText(text string, most int) string { return cut(text, most, hosttext.Prose) }

// exactText returns text that a person decides on, cut to most bytes before escaping.
func exactText(text string, most int) string { return cut(text, most, hosttext.Escape) }

// cut cuts text to most bytes and escapes it. It adds a note of how many bytes are missing.
func cut(text string, most int, escape func(string) string) string {
	note := ""
	if more := len(text) - most; more > 0 {
		text, note = text[:most], fmt.Sprintf("\n… (%d bytes more)", more)
	}
	return escape(strings.ToValidUTF8(text, "\ufffd")) + note
}

// prettyJSON returns indented JSON with invisible characters escaped. It returns text that is not JSON, is longer than
// most bytes, or would be mostly indentation, as exactText does.
func prettyJSON(text string, most int) string {
	if len(text) > most {
		return exactText(text, most)
	}
	indented, ok := excerpt.Indent(text)
	if !ok || len(indented) > 4*most {
		return exactText(text, most)
	}
	return hosttext.EscapeJSON(indented)
}

// ErrorText returns the text of an error as the page shows it: on one line, cut to maxError characters.
func ErrorText(text string) string { return hosttext.Line(text, maxError) }

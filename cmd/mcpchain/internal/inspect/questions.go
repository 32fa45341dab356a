package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/offering"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Bounds of what servers say.
const (
	maxQuestions = 20   // that are shown
	maxLogged    = 1000 // log messages that are shown

	logGrace = 200 * time.Millisecond // in which log messages may follow the answer
)

// questions shows the questions of servers. It answers forms that -answer completes, and declines everything else.
type questions struct {
	given    map[string]answers.Answers // by server
	logLevel mcp.LogLevel               // of the log messages to show; "": none

	mu       sync.Mutex // guards the following fields, and is held while a question or a warning is written
	w        io.Writer
	shown    int // number of questions that were asked
	declines int // number of questions that were declined
	logged   int // number of log messages

	progressed time.Time // when progress was shown last
}

// options returns the options for the connection to a server. They declare roots, elicitation and sampling, because
// some servers list tools only for clients with these.
func (q *questions) options(server string) *mcpclient.Options {
	o := &mcpclient.Options{
		Logger:      cli.Warnings(q.warn).With("server", server),
		Roots:       []mcp.Root{},
		Elicitation: q,
		Sampling:    mcp.SamplingFunc(q.sample),
		LogLevel:    q.logLevel,
	}
	if q.logLevel != "" {
		o.OnNotification = func(n *mcp.Notification) { q.log(server, n) }
	}
	return o
}

// log shows a log message of a server.
func (q *questions) log(server string, n *mcp.Notification) {
	var m mcp.LogMessage
	if n.Method != "notifications/message" || json.Unmarshal(n.Params, &m) != nil {
		return
	}
	var text string
	if json.Unmarshal(m.Data, &text) != nil {
		text = string(m.Data)
	}
	from := quoted([]string{server})
	if m.Logger != "" {
		from += ", " + m.Logger
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch q.logged++; {
	case q.logged <= maxLogged:
		_, _ = fmt.Fprintf(q.w, "mcpchain: log of the server %s: %s: %s\n", line(from), line(string(m.Level)), line(text))
	case q.logged == maxLogged+1:
		_, _ = fmt.Fprintln(q.w, "mcpchain: further log messages are not shown")
	}
}

// awaitLog waits for log messages that follow the answer, if they are shown.
func (q *questions) awaitLog(ctx context.Context) {
	if q.logLevel == "" {
		return
	}
	select {
	case <-time.After(logGrace):
	case <-ctx.Done():
	}
}

// warn shows a warning.
func (q *questions) warn(line string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, _ = fmt.Fprintln(q.w, line)
}

// progress shows how far a call is, once a second at most.
func (q *questions) progress(p mcp.Progress) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.progressed) < time.Second {
		return
	}
	q.progressed = time.Now()
	text := strconv.FormatFloat(p.Progress, 'f', -1, 64)
	if p.Total != nil {
		text += "/" + strconv.FormatFloat(*p.Total, 'f', -1, 64)
	}
	_, _ = fmt.Fprintln(q.w, "mcpchain: progress:", line(text+" "+p.Message))
}

// ElicitationCapability declares both modes: a page that a server wants to be visited is shown.
func (q *questions) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{Form: true, URL: true}
}

// Elicit answers a form if -answer completes it, and declines other questions.
func (q *questions) Elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	declined := &mcp.ElicitResult{Action: mcp.ElicitDecline}
	if p.Mode == mcp.ElicitURL {
		q.show(ctx, true, "you to visit "+models.PublicURL(p.URL), p.Message, noAnswer)
		return declined, nil
	}
	fields, err := forms.Fields(p)
	if err != nil || len(fields) == 0 {
		q.show(ctx, true, "for a form", p.Message, noAnswer)
		return declined, nil
	}
	server, _ := adapter.OriginFrom(ctx)
	form := q.given[server].Fill(fields)
	what := "for a form (" + form.Names() + ")"
	if whole, wrong := form.Complete(); !whole {
		q.show(ctx, true, what, p.Message, remedy(form, wrong))
		return declined, nil
	}
	accepted := "accepted, with " + values(form)
	for _, err := range form.UnknownKeys() { // they may be mistyped, or for another form
		accepted += "; " + err.Error()
	}
	q.show(ctx, false, what, p.Message, accepted)
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: form.Values}, nil
}

// noAnswer is why a question that is not a form is declined.
const noAnswer = "declined, since inspect answers forms only; mcpchain chat asks a person"

// remedy returns why a form is declined, and what would complete it.
func remedy(form *answers.Filled, wrong []error) string {
	if form.Answered == 0 && len(form.Mistakes)+len(form.Others) == 0 {
		return "declined; give -answer key=value for the fields, as in -answer " + line(form.Example()) + "=…"
	}
	var why []string
	for _, err := range append(wrong, form.UnknownKeys()...) {
		why = append(why, err.Error())
	}
	return "declined: " + strings.Join(why, "; ")
}

// values lists the values of an answered form.
func values(form *answers.Filled) string {
	var all []string
	for _, f := range form.Fields {
		if v, ok := form.Values[f.Name]; ok {
			all = append(all, fmt.Sprintf("%s=%v", f.Name, v))
		}
	}
	return strings.Join(all, ", ")
}

// sample declines a request to a model: there is none.
func (q *questions) sample(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	text := p.SystemPrompt
	for _, m := range p.Messages {
		text += " " + offering.Content(m.Content)
	}
	q.show(ctx, true, "for an answer of your model", text, noAnswer)
	return nil, fmt.Errorf("inspect has no model: %w", mcp.ErrRejected)
}

// declined returns the number of declined questions.
func (q *questions) declined() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.declines
}

// show shows a question and its outcome, and counts it if it is declined.
func (q *questions) show(ctx context.Context, declined bool, what, text, outcome string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if declined {
		q.declines++
	}
	if q.shown++; q.shown > maxQuestions {
		return
	}
	server, _ := adapter.OriginFrom(ctx)
	_, _ = fmt.Fprintf(q.w, "mcpchain: the server %s asks %s: %s\n  %s\n", quoted([]string{server}), line(what), line(text), line(outcome))
	if q.shown == maxQuestions {
		_, _ = fmt.Fprintln(q.w, "mcpchain: further questions are not shown")
	}
}

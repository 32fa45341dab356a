package talk

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxAllowed bounds what a person can allow, in bytes: the arguments of a call, the complete request of a sampling
// review. Larger ones can only be refused.
const maxAllowed = 256 << 10

// askJSON is a question to the user, as windows get it.
type askJSON struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`           // a [run.QuestionKind]
	Call    string    `json:"call,omitempty"` // the id of the call that it belongs to
	Server  string    `json:"server,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Path    []string  `json:"path,omitempty"` // names of the sub-agents that ask
	Expires time.Time `json:"expires,omitzero"`

	Description string `json:"description,omitempty"` // the tool's description by its server
	Arguments   string `json:"arguments,omitempty"`   // approval or doubt
	Message     string `json:"message,omitempty"`     // form or URL

	Tries int       `json:"tries,omitempty"` // doubt: how often the call was sent
	Sent  time.Time `json:"sent,omitzero"`   // doubt: when the call was last sent

	Fields []fieldJSON `json:"fields,omitempty"`
	Link   *linkJSON   `json:"link,omitempty"`
	Wrong  string      `json:"wrong,omitempty"` // why the question cannot be accepted

	Sampling *samplingJSON `json:"sampling,omitempty"`
}

// fieldJSON is a field of a form.
type fieldJSON struct {
	Name        string       `json:"name"`
	Title       string       `json:"title"`
	Description string       `json:"description,omitempty"`
	Kind        string       `json:"kind"`
	Required    bool         `json:"required,omitempty"`
	Options     []optionJSON `json:"options,omitempty"`
	Format      string       `json:"format,omitempty"`
	Pattern     string       `json:"pattern,omitempty"`
	Min         *float64     `json:"min,omitempty"` // see [forms.Field]
	Max         *float64     `json:"max,omitempty"`
	Default     any          `json:"default,omitempty"`
}

// optionJSON is a value of a field to choose.
type optionJSON struct {
	Value string `json:"value"`
	Title string `json:"title"`
}

// linkJSON is an address for the user to visit, in three parts, so that the page can highlight the host.
type linkJSON struct {
	Before   string   `json:"before"`
	Host     string   `json:"host"`
	After    string   `json:"after"`
	Href     string   `json:"href"` // for the browser
	Warnings []string `json:"warnings,omitempty"`
}

// samplingJSON is what a server wants to ask the model.
type samplingJSON struct {
	Model     string `json:"model,omitempty"`
	MaxTokens int64  `json:"max_tokens"`
	Text      string `json:"text"`
	Request   string `json:"whole"` // the complete request as JSON
}

// askOf returns a question as windows get it. A question that cannot be shown in full can only be refused: Wrong says why.
func askOf(q *run.Question) askJSON {
	a := askJSON{
		ID:      q.ID,
		Kind:    string(q.Kind),
		Call:    q.Call,
		Server:  hosttext.Line(q.Server, 100),
		Tool:    hosttext.Line(q.Tool, 200),
		Expires: q.Expires,
		Tries:   q.Tries,
		Sent:    q.Sent,
	}
	for _, name := range q.Path {
		a.Path = append(a.Path, hosttext.Line(name, 100))
	}
	if len(q.Arguments) > 0 {
		a.Arguments = prettyJSON(string(q.Arguments), maxAllowed)
		if q.Kind == run.QuestionApproval {
			a.Wrong = tooLong(len(q.Arguments))
		}
	}
	if q.Definition != nil {
		a.Description = exactText(q.Definition.Description, 4000)
	}
	if q.Elicit != nil {
		a.Message = exactText(q.Elicit.Message, 8000)
	}
	switch q.Kind {
	case run.QuestionForm:
		a.Fields, a.Wrong = fieldsOf(q.Elicit)
	case run.QuestionURL:
		a.Link, a.Wrong = linkOf(q.Elicit.URL)
	case run.QuestionSampling:
		a.Sampling, a.Wrong = samplingOf(q)
	}
	return a
}

// tooLong returns why the user cannot allow a request of size bytes, "" if the user can.
func tooLong(size int) string {
	if size <= maxAllowed {
		return ""
	}
	return fmt.Sprintf("This has %d bytes. Not all of it is shown, so it can only be refused.", size)
}

// fieldsOf returns the fields of a form, or why it cannot be shown.
func fieldsOf(params *mcp.ElicitParams) (out []fieldJSON, wrong string) {
	fields, err := forms.Fields(params)
	if err != nil {
		return nil, "the form cannot be shown: " + ErrorText(err.Error())
	}
	for _, f := range fields {
		v := fieldJSON{
			Name: f.Name, Title: hosttext.Line(f.Title, 200), Description: exactText(f.Description, 1000),
			Kind: string(f.Kind), Required: f.Required, Format: f.Format, Pattern: hosttext.Line(f.Pattern, 200),
			Min: f.Min, Max: f.Max, Default: f.Default,
		}
		for _, o := range f.Options {
			v.Options = append(v.Options, optionJSON{o.Value, hosttext.Line(o.Title, 200)})
		}
		out = append(out, v)
	}
	return out, ""
}

// samplingOf returns what a server wants to ask the model. wrong is why the user cannot allow it, "" if the user can.
func samplingOf(q *run.Question) (s *samplingJSON, wrong string) {
	s = &samplingJSON{
		Model:     hosttext.Line(q.Model, 100),
		MaxTokens: int64(q.Sampling.MaxTokens),
		Text:      hosttext.SamplingRequest(q.Sampling),
	}
	data, err := json.Marshal(q.Sampling)
	if err != nil {
		return s, "The request cannot be shown: " + ErrorText(err.Error())
	}
	s.Request = prettyJSON(string(data), maxAllowed)
	return s, tooLong(len(data))
}

// subject returns the subject of a question in a few words.
func subject(q *run.Question) string {
	name := hosttext.Line(cmp.Or(q.Tool, q.Server), 100)
	switch q.Kind {
	case run.QuestionApproval:
		return "the call of " + name
	case run.QuestionForm:
		return "the form of " + name
	case run.QuestionURL, run.QuestionSignIn:
		return "the page of " + name
	case run.QuestionSampling:
		return "the request of " + hosttext.Line(q.Server, 100) + " to the model"
	}
	return "the doubt about " + name
}

// Link returns what the page needs to show and open an address, for JSON. The error says, for the user to read, why the
// page does not open it.
func Link(address string) (any, error) {
	l, wrong := linkOf(address)
	if wrong != "" {
		return nil, errors.New(wrong)
	}
	return l, nil
}

// linkOf splits an address, so that the page can highlight its host. wrong is why the page does not open it, "" if it
// does.
func linkOf(address string) (_ *linkJSON, wrong string) {
	parsed, err := hosttext.ParseLink(address)
	if err != nil {
		return nil, ErrorText(err.Error())
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, "the address cannot be read"
	}
	before, rest, _ := strings.Cut(parsed.URL, "://")
	before += "://"
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		before, rest, end = before+rest[:at+1], rest[at+1:], end-at-1
	}
	return &linkJSON{
		Before:   before,
		Host:     rest[:end],
		After:    rest[end:],
		Href:     u.String(),
		Warnings: parsed.Warnings,
	}, ""
}

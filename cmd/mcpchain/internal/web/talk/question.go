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

// questionJSON is a question to the user, as windows get it.
type questionJSON struct {
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

	Fields []*forms.Field `json:"fields,omitempty"`
	Link   *Link          `json:"link,omitempty"`
	Wrong  string         `json:"wrong,omitempty"` // why the question cannot be accepted

	Sampling *samplingJSON `json:"sampling,omitempty"`
}

// Link is an address for the user to visit, in three parts, so that the page can highlight the host.
type Link struct {
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
func askOf(q *run.Question) questionJSON {
	a := questionJSON{
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
		link, err := ParseLink(q.Elicit.URL)
		if a.Link = link; err != nil {
			a.Wrong = err.Error()
		}
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

// fieldsOf returns the fields of a form with texts for a page, or why it cannot be shown.
func fieldsOf(params *mcp.ElicitParams) (fields []*forms.Field, wrong string) {
	fields, err := forms.Fields(params)
	if err != nil {
		return nil, "the form cannot be shown: " + ErrorText(err.Error())
	}
	for _, f := range fields {
		f.Title, f.Description, f.Pattern = hosttext.Line(f.Title, 200), exactText(f.Description, 1000), hosttext.Line(f.Pattern, 200)
		for i := range f.Options {
			f.Options[i].Title = hosttext.Line(f.Options[i].Title, 200)
		}
	}
	return fields, ""
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

// ParseLink splits an address. The error says, for the user to read, why the page does not open it.
func ParseLink(address string) (*Link, error) {
	parsed, err := hosttext.ParseLink(address)
	if err != nil {
		return nil, errors.New(ErrorText(err.Error()))
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address cannot be read")
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
	return &Link{
		Before:   before,
		Host:     rest[:end],
		After:    rest[end:],
		Href:     u.String(),
		Warnings: parsed.Warnings,
	}, nil
}

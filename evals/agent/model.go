package agenteval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	llm "github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/evals/agent/tape"
	"github.com/mcpchain/mcpchain/internal/models"
)

// Model specifies which model trials use: a scripted, a recorded, or a live one.
type Model struct {
	Mode results.Mode `json:"mode"`

	// Endpoint is the model of the modes live and demo; in the mode recorded it is only for the
	// results. Its key is not in the hash.
	Endpoint models.Model `json:"endpoint"`

	// Cassette is the directory to which models are recorded, and from which recorded ones are
	// played. Servers that trials reach by Command or Dial are recorded, too.
	Cassette string `json:"cassette,omitempty"`
	Record   bool   `json:"record,omitempty"`
	Servers  bool   `json:"servers,omitempty"` // also play the servers, in the mode recorded

	Tape string    `json:"tape,omitempty"` // hash of the cassette's content, see [Model.Open]
	Info tape.Info `json:"info,omitzero"`  // info of a recorded model
}

// String returns the name of the model in results.
func (m Model) String() string { return cmp.Or(m.Endpoint.Name, string(m.Mode)) }

// Hash identifies the model, its settings, and the content of its cassette.
func (m Model) Hash() string {
	m.Endpoint.Key, m.Cassette, m.Record, m.Info = "", "", false, tape.Info{}
	if m.Mode == results.Demo { // regardless of its port
		m.Endpoint.BaseURL = ""
	}
	return suite.Hash(m)
}

// check returns an error for an invalid model.
func (m Model) check() error {
	asks := m.Mode == results.Live || m.Mode == results.Demo
	switch {
	case !asks && m.Mode != results.Scripted && m.Mode != results.Recorded:
		return fmt.Errorf("there is no mode %q", m.Mode)
	case asks && m.Endpoint.Name == "":
		return errors.New("a live model has a name")
	case m.Record && !asks:
		return errors.New("only a model that is asked can be recorded")
	case m.Servers && m.Mode != results.Recorded:
		return errors.New("recorded servers go with a recorded model")
	case (m.Mode == results.Recorded || m.Record) && m.Cassette == "":
		return errors.New("a recorded model has a directory of cassettes")
	}
	return nil
}

// Open completes a recorded model with the description in its cassette. For a recording it creates the cassette, or
// continues one.
func (m Model) Open(suites []*suite.Suite) (Model, error) {
	if m.Record {
		asked, err := m.Endpoint.Open(nil)
		if err != nil {
			return m, err
		}
		l := &tape.Label{
			Model:   m.Endpoint.Name,
			BaseURL: m.Endpoint.BaseURL,
			Info:    tape.InfoOf(asked.Info()),
			Date:    time.Now().UTC(),
			Suites:  map[string]string{},
		}
		for _, s := range suites {
			l.Suites[s.Name] = s.Hash()
		}
		return m, tape.Begin(m.Cassette, l)
	}
	if m.Mode != results.Recorded {
		return m, nil
	}
	l, hash, err := tape.Read(m.Cassette)
	if err != nil {
		return m, err
	}
	for _, s := range suites {
		if _, ok := l.Suites[s.Name]; !ok {
			return m, fmt.Errorf("%w: nothing of the suite %q is in %s", tape.ErrMiss, s.Name, m.Cassette)
		}
	}
	m.Endpoint.Name, m.Endpoint.BaseURL, m.Info, m.Tape = l.Model, l.BaseURL, l.Info, hash
	return m, nil
}

// forTrial returns the model for a trial of a task, which is recorded to a tape or played from it, or has none.
func (m Model) forTrial(task *suite.Task, t *tape.Tape) (agent.Model, error) {
	switch m.Mode {
	case results.Scripted:
		return agenttest.PlayRepeating(script(task.Script).next), nil
	case results.Recorded:
		return t.PlayModel(m.Info), nil
	}
	asked, err := m.Endpoint.Open(nil)
	if err != nil {
		return nil, err
	}
	if m.Record {
		return t.RecordModel(live{asked}), nil
	}
	return live{asked}, nil
}

// live is a model whose errors make a trial void. It has retried before it returns one.
type live struct{ agent.Model }

func (l live) Generate(ctx context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range l.Model.Generate(ctx, r) {
			if err != nil && ctx.Err() == nil {
				err = &voidError{fmt.Errorf("the endpoint of the model failed: %w", err), "infra"}
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// script has the written replies of a model. Only the history determines the next one, so that
// any agent can continue a run.
type script []suite.Step

func (s script) next(_ context.Context, t agenttest.Turn) (*llm.Response, error) {
	at, seen := position(t.Request.Messages)
	if at >= len(s) {
		return nil, fmt.Errorf("the script has %d steps, and another one is wanted after %q", len(s), seen)
	}
	step := s[at]
	for _, want := range step.Sees {
		if !strings.Contains(seen, want) {
			return nil, fmt.Errorf("step %d of the script has to see %q, and saw %q", at+1, want, seen)
		}
	}
	return replyOf(at, step), nil
}

// position returns the number of replies in the history, and the text since the last one.
func position(history []run.Message) (replies int, seen string) {
	var since strings.Builder
	for _, m := range history {
		if m.Role == run.RoleAssistant {
			replies++
			since.Reset()
			continue
		}
		for _, p := range m.Parts {
			since.WriteString(p.Text + "\n")
		}
	}
	return replies, since.String()
}

func replyOf(at int, step suite.Step) *llm.Response {
	r := &llm.Response{Message: run.Message{Role: run.RoleAssistant}, Finish: llm.FinishStop}
	if step.Say != "" {
		r.Message = run.Text(run.RoleAssistant, step.Say)
	}
	for i, c := range step.Calls {
		call := run.Part{Type: run.PartCall, ID: fmt.Sprintf("c%d_%d", at, i), Name: c.Tool, Arguments: cmp.Or(string(c.Args), "{}")}
		r.Finish, r.Message.Parts = llm.FinishCalls, append(r.Message.Parts, call)
	}
	return r
}

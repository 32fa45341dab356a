package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Answer is a user's answer to a question.
type Answer struct {
	Ask       string         `json:"ask"`
	Action    run.Action     `json:"action"`
	Scope     string         `json:"scope"`     // approval only
	Reason    string         `json:"reason"`    // why the user denies; for a call in doubt its result
	Arguments string         `json:"arguments"` // JSON that replaces the call's, as the user wrote it
	Fields    map[string]any `json:"fields"`    // the form's values; numbers as the user wrote them
}

// FormError lists which fields of a form are wrong and why, for the user to read.
type FormError struct{ Fields map[string]string }

func (e *FormError) Error() string {
	return fmt.Sprintf("%d fields do not fit the form", len(e.Fields))
}

// Answer answers a question of a conversation. The error matches ErrUnfit or is a *FormError
// if the answer is invalid, and matches ErrGone if the question is not open.
func (s *Service) Answer(ctx context.Context, user, id string, a Answer) error {
	key := run.Key{Tenant: user, ID: id}
	asks, err := s.agentOf(key).Questions(ctx, key)
	if err != nil {
		return goneError(err)
	}
	at := slices.IndexFunc(asks, func(q *run.Question) bool { return q.ID == a.Ask })
	if at < 0 {
		return ErrGone
	}
	answer, err := a.reply(asks[at])
	if err != nil {
		return err
	}
	answer.By = user
	err = s.agentOf(key).Reply(ctx, key, answer)
	switch {
	case errors.Is(err, run.ErrUnfit):
		return fmt.Errorf("%w: %w", ErrUnfit, err)
	case errors.Is(err, record.ErrReplied), errors.Is(err, run.ErrNotAsked), errors.Is(err, run.ErrExpired):
		return ErrGone
	case err != nil:
		return goneError(err)
	}
	if !s.deliver(key, answer) {
		s.startDriving(key)
	}
	return nil
}

// SignedIn continues the calls of a user that wait for the sign-in to a server. An error of one
// conversation does not keep the others from continuing.
func (s *Service) SignedIn(ctx context.Context, user, server string) error {
	var errs []error
	for head, err := range record.Readable(s.o.Store.List(ctx, record.Query{Tenant: user, Agents: []string{agentName}}), nil) {
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		if len(head.Questions) == 0 {
			continue
		}
		asks, err := s.agent.Questions(ctx, head.Key)
		errs = append(errs, err)
		for _, q := range asks {
			if q.Kind != run.QuestionSignIn || q.Server != server {
				continue
			}
			err := s.Answer(ctx, user, head.Key.ID, Answer{Ask: q.ID, Action: run.ActionAccept})
			if !errors.Is(err, ErrGone) { // one answer settles all calls
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// reply converts the answer for the run. The error matches ErrUnfit or is a *FormError.
func (a Answer) reply(q *run.Question) (run.Reply, error) {
	answer := run.Reply{Question: q.ID, Action: a.Action, Reason: a.Reason}
	switch {
	case q.Kind == run.QuestionForm && a.Action == run.ActionAccept:
		fields, err := a.values(q.Elicit)
		if err != nil {
			return answer, err
		}
		answer, err = q.Accept(fields)
		if err != nil {
			return answer, fmt.Errorf("%w: %w", ErrUnfit, err)
		}
		return answer, nil
	case q.Kind == run.QuestionSignIn:
	case a.Action == run.ActionAllow || a.Action == run.ActionAccept:
		// What could not be shown cannot be allowed.
		if wrong := askOf(q).Wrong; wrong != "" {
			return answer, fmt.Errorf("%w: %s", ErrUnfit, wrong)
		}
		answer.Scope = a.Scope
	}
	if a.Action == run.ActionAllow && a.Arguments != "" {
		if !json.Valid([]byte(a.Arguments)) {
			return answer, &FormError{map[string]string{"arguments": "This is not JSON."}}
		}
		answer.Arguments = json.RawMessage(a.Arguments)
	}
	return answer, nil
}

// values returns the values of a form, each converted to the kind of its field. A form with a field
// that the server does not ask for is refused, so that nothing is sent that the user did not see.
func (a Answer) values(params *mcp.ElicitParams) (map[string]any, error) {
	fields, err := forms.Read(params)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	wrong, values := map[string]string{}, map[string]any{}
	for _, f := range fields {
		v, err := valueOf(f, a.Fields[f.Name])
		switch {
		case err != nil:
			wrong[f.Name] = ShownError(err.Error())
		case v != nil:
			values[f.Name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Fields)) {
		if !slices.ContainsFunc(fields, func(f *forms.Field) bool { return f.Name == name }) {
			return nil, fmt.Errorf("%w: the form has no field %.100q", ErrUnfit, name)
		}
	}
	if len(wrong) > 0 {
		return nil, &FormError{wrong}
	}
	return values, nil
}

// valueOf returns the value of a field. The page sends a number as the text that the user
// wrote, so that no digit is lost.
func valueOf(f *forms.Field, v any) (any, error) {
	text, isText := v.(string)
	switch {
	case isText && text == "" && f.Default != nil && f.Kind != forms.KindString:
		// The server's own value would be sent instead of none.
		return nil, errors.New("this cannot be left empty: the server has filled it in")
	case isText && (f.Kind == forms.KindNumber || f.Kind == forms.KindInteger):
		return f.Parse(text)
	}
	if err := f.Check(v); err != nil {
		return nil, err
	}
	return v, nil
}

// deliver passes an answer to the run that this process drives, and reports whether the run waits
// for it. The first answer to a question counts.
func (s *Service) deliver(key run.Key, a run.Reply) (awaited bool) {
	s.mu.Lock()
	t := s.topics[key]
	s.mu.Unlock()
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.given == nil {
		return false // nothing drives it
	}
	if _, twice := t.given[a.Question]; !twice {
		t.given[a.Question] = a
		t.changed.fire()
	}
	return t.asked[a.Question]
}

// grace is how long a question waits after the last window was closed: a reload opens another one.
const grace = 30 * time.Second

// replyAtWindow waits for the answer to a question while a window shows the conversation, and for
// grace afterwards. Then it returns no answer: the question stays stored, and its answer resumes
// the run.
func (s *Service) replyAtWindow(ctx context.Context, q *run.Question) (run.Reply, error) {
	t, ok := ctx.Value(topicKey{}).(*topic)
	if !ok {
		return run.Reply{}, nil
	}
	var late <-chan time.Time // nil while a window is open
	for {
		changed := t.changed.next()
		answer, given, watched := t.await(q.ID)
		switch {
		case given:
			return answer, nil
		case watched:
			late = nil
		case late == nil:
			late = time.After(grace)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return run.Reply{}, context.Cause(ctx)
		case <-late:
			late = nil
			if t.giveUp(q.ID) {
				return run.Reply{}, nil
			}
		}
	}
}

// await records that the run waits for the answer to a question, and returns the answer if it is given. watched reports
// whether a window is open.
func (t *topic) await(ask string) (answer run.Reply, given, watched bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked[ask] = true
	answer, given = t.given[ask]
	return answer, given, t.windows > 0
}

// giveUp ends the wait for an answer, unless there is one or a window is open.
func (t *topic) giveUp(ask string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, given := t.given[ask]; given || t.windows > 0 {
		return false
	}
	delete(t.asked, ask)
	return true
}

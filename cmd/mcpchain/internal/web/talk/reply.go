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

// Reply is a user's reply to a question.
type Reply struct {
	Question  string         `json:"ask"` // its id
	Action    run.Action     `json:"action"`
	Scope     string         `json:"scope"`     // approval: see [run.Reply]
	Reason    string         `json:"reason"`    // why the user denies; for a call in doubt its result
	Arguments string         `json:"arguments"` // JSON that replaces the call's arguments; "" keeps them
	Fields    map[string]any `json:"fields"`    // form: the values by name; numbers as text
}

// FormError says which fields of a reply are wrong, for the user to read. Fields has the reasons by the names of the
// form's fields; "arguments" is the name of edited arguments that are not JSON.
type FormError struct{ Fields map[string]string }

func (e *FormError) Error() string {
	if len(e.Fields) == 1 {
		return "1 field does not fit the form"
	}
	return fmt.Sprintf("%d fields do not fit the form", len(e.Fields))
}

// Reply replies to a question of a conversation, or of a call of a view, and has the run continue. The error matches
// ErrUnfit or is a *FormError if the reply is invalid, and matches ErrGone if the question is not open.
func (s *Service) Reply(ctx context.Context, user, id string, r Reply) error {
	key := run.Key{Tenant: user, ID: id}
	questions, err := s.agentOf(key).Questions(ctx, key)
	if err != nil {
		return goneError(err)
	}
	at := slices.IndexFunc(questions, func(q *run.Question) bool { return q.ID == r.Question })
	if at < 0 {
		return ErrGone
	}
	reply, err := r.toRun(questions[at])
	if err != nil {
		return err
	}
	reply.By = user
	err = s.agentOf(key).Reply(ctx, key, reply)
	switch {
	case errors.Is(err, run.ErrUnfit):
		return fmt.Errorf("%w: %w", ErrUnfit, err)
	case errors.Is(err, record.ErrReplied), errors.Is(err, run.ErrNotAsked), errors.Is(err, run.ErrExpired):
		return ErrGone
	case err != nil:
		return goneError(err)
	}
	if !s.deliver(key, reply) {
		s.startDriving(key)
	}
	return nil
}

// SignedIn continues the calls of a user that wait for the sign-in to a server. An error of one
// conversation does not keep the others from continuing.
func (s *Service) SignedIn(ctx context.Context, user, server string) error {
	var errs []error
	// Calls of views use the servers that all users share, so they never wait for a sign-in.
	for head, err := range record.SkipDamaged(s.o.Store.List(ctx, record.Query{Tenant: user, Agents: []string{AgentName}}), nil) {
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		if len(head.QuestionIDs) == 0 {
			continue
		}
		questions, err := s.agent.Questions(ctx, head.Key)
		errs = append(errs, err)
		for _, q := range questions {
			if q.Kind != run.QuestionSignIn || q.Server != server {
				continue
			}
			err := s.Reply(ctx, user, head.Key.ID, Reply{Question: q.ID, Action: run.ActionAccept})
			if !errors.Is(err, ErrGone) { // one answer answers all questions for the sign-in
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// toRun converts the reply for the run. The error matches ErrUnfit or is a *FormError.
func (r Reply) toRun(q *run.Question) (run.Reply, error) {
	reply := run.Reply{Question: q.ID, Action: r.Action, Reason: r.Reason}
	switch {
	case q.Kind == run.QuestionForm && r.Action == run.ActionAccept:
		fields, err := r.values(q.Elicit)
		if err != nil {
			return reply, err
		}
		reply, err = q.Accept(fields)
		if err != nil {
			return reply, fmt.Errorf("%w: %w", ErrUnfit, err)
		}
		return reply, nil
	case q.Kind == run.QuestionSignIn: // has no scope, and nothing that could not be shown
	case r.Action == run.ActionAllow || r.Action == run.ActionAccept:
		// What could not be shown cannot be allowed.
		if wrong := askOf(q).Wrong; wrong != "" {
			return reply, fmt.Errorf("%w: %s", ErrUnfit, wrong)
		}
		reply.Scope = r.Scope
	}
	if r.Action == run.ActionAllow && r.Arguments != "" {
		if !json.Valid([]byte(r.Arguments)) {
			return reply, &FormError{map[string]string{"arguments": "This is not JSON."}}
		}
		reply.Arguments = json.RawMessage(r.Arguments)
	}
	return reply, nil
}

// values returns the values of a form, each converted to the kind of its field. A reply with
// a field that the form does not have is refused: the user saw another form.
func (r Reply) values(params *mcp.ElicitParams) (map[string]any, error) {
	fields, err := forms.Fields(params)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
		if !slices.ContainsFunc(fields, func(f *forms.Field) bool { return f.Name == name }) {
			return nil, fmt.Errorf("%w: the form has no field %.100q", ErrUnfit, name)
		}
	}
	wrong, values := map[string]string{}, map[string]any{}
	for _, f := range fields {
		v, err := valueOf(f, r.Fields[f.Name])
		switch {
		case err != nil:
			wrong[f.Name] = ErrorText(err.Error())
		case v != nil:
			values[f.Name] = v
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
		// Left out, it would be sent with the server's value, which the user has just removed.
		return nil, errors.New("this cannot be left empty: the server has filled it in")
	case isText && (f.Kind == forms.KindNumber || f.Kind == forms.KindInteger):
		return f.Parse(text)
	}
	if err := f.Check(v); err != nil {
		return nil, err
	}
	return v, nil
}

// deliver passes a reply to the run if this process drives it, and reports whether the run waits for the reply. Later
// replies to the same question are dropped.
func (s *Service) deliver(key run.Key, reply run.Reply) (awaited bool) {
	s.mu.Lock()
	t := s.topics[key]
	s.mu.Unlock()
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.replies == nil {
		return false // nothing drives it
	}
	if _, twice := t.replies[reply.Question]; !twice {
		t.replies[reply.Question] = reply
		t.changed.Fire()
	}
	return t.awaited[reply.Question]
}

// reloadGrace is how long a question waits after the last window was closed: a reload opens another one.
const reloadGrace = 30 * time.Second

// replyAtWindow waits for the reply to a question while a window shows the conversation, and for reloadGrace
// afterwards. Then it returns a zero reply: the question stays open, and its reply resumes the run.
func (s *Service) replyAtWindow(ctx context.Context, q *run.Question) (run.Reply, error) {
	t, ok := ctx.Value(topicKey{}).(*topic)
	if !ok {
		return run.Reply{}, nil
	}
	var graceEnd <-chan time.Time // nil while a window is open
	for {
		changed := t.changed.Next()
		reply, given, watched := t.await(q.ID)
		switch {
		case given:
			return reply, nil
		case watched:
			graceEnd = nil
		case graceEnd == nil:
			graceEnd = time.After(reloadGrace)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return run.Reply{}, context.Cause(ctx)
		case <-graceEnd:
			graceEnd = nil
			if t.giveUp(q.ID) {
				return run.Reply{}, nil
			}
		}
	}
}

// await records that the run waits for the reply to a question, and returns the reply if it is given. watched reports
// whether a window is open.
func (t *topic) await(question string) (reply run.Reply, given, watched bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.awaited[question] = true
	reply, given = t.replies[question]
	return reply, given, t.windows > 0
}

// giveUp ends the wait for a reply, and reports that it did, unless there is a reply or a window is open.
func (t *topic) giveUp(question string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, given := t.replies[question]; given || t.windows > 0 {
		return false
	}
	delete(t.awaited, question)
	return true
}

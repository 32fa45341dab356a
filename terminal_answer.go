package mcpchain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// Reply asks the person a question of a run; set it as Person.Reply of [agent.Options]. It asks again if the answer is
// not one of those offered, or a value does not fit its field of a form; an empty line declines a form if the field is
// required and has no default. At the end of the input, Reply cancels forms, pages that a server wants visited, and
// sign-ins; it denies calls and sampling requests, with the end of the input as the reason, and leaves it undecided
// whether a call ran.
func (t *Terminal) Reply(ctx context.Context, q *run.Question) (run.Reply, error) {
	end, err := t.begin(ctx)
	if err != nil {
		return run.Reply{}, err
	}
	defer end()
	put := map[run.QuestionKind]func(context.Context, *run.Question) (run.Reply, error){
		run.QuestionApproval: t.approveLocked, run.QuestionSampling: t.lendLocked, run.QuestionForm: t.fillInLocked,
		run.QuestionURL: t.openLocked, run.QuestionSignIn: t.openLocked, run.QuestionDoubt: t.doubtLocked,
	}[q.Kind]
	if put == nil {
		return run.Reply{}, fmt.Errorf("a question of the unknown kind %q", q.Kind)
	}
	a, err := put(ctx, q)
	switch {
	case errors.Is(err, ErrInputEnded):
		return unasked(q), nil
	case err != nil:
		return run.Reply{}, err
	}
	return a, nil
}

// unasked returns the reply to a question that nobody was asked. It says nothing in the name of a person.
func unasked(q *run.Question) run.Reply {
	switch q.Kind {
	case run.QuestionDoubt:
		return run.Reply{}
	case run.QuestionApproval, run.QuestionSampling:
		return q.Deny(ErrInputEnded.Error())
	}
	return run.Reply{Question: q.ID, Action: run.ActionCancel}
}

// words are the answers for which a person may type the first letter.
var words = map[string]string{"y": "yes", "n": "no", "a": "always"}

// chooseLocked asks a question until the person types one of the keys of words, or its word.
func (t *Terminal) chooseLocked(ctx context.Context, keys []string, format string, args ...any) (string, error) {
	question := fmt.Sprintf(format, args...)
	for {
		line, err := t.askLocked(ctx, "%s", question)
		if err != nil {
			return "", err
		}
		for _, key := range keys {
			if isAnswer(line, key) {
				return key, nil
			}
		}
		question = "Please type " + strings.Join(keys[:len(keys)-1], ", ") + " or " + keys[len(keys)-1] + ":"
	}
}

// isAnswer reports whether a line is a key of words, or its word.
func isAnswer(line, key string) bool {
	return strings.EqualFold(line, key) || strings.EqualFold(line, words[key])
}

// approveLocked asks about a call.
func (t *Terminal) approveLocked(ctx context.Context, q *run.Question) (run.Reply, error) {
	key, err := t.chooseLocked(ctx, []string{"y", "n", "a"}, "Run %s%s with %s? y, n, or a for always with this tool:",
		hosttext.Quote(q.Tool), on(q.Server), hosttext.JSONLine(string(q.Arguments)))
	if key == "n" {
		return q.Deny("the user said no"), err
	}
	a := q.Allow()
	if key == "a" {
		a.Scope = run.ScopeTool
	}
	return a, err
}

// on returns " on" and the server of a question, "" if it has none.
func on(server string) string {
	if server == "" {
		return ""
	}
	return " on " + hosttext.Quote(server)
}

// lendLocked asks whether a server may use the model.
func (t *Terminal) lendLocked(ctx context.Context, q *run.Question) (run.Reply, error) {
	fmt.Fprintf(t.out(), "%s asks the model:\n%s\n", hosttext.Quote(q.Server), hosttext.Indent(hosttext.SamplingRequest(q.Sampling)))
	key, err := t.chooseLocked(ctx, []string{"y", "n"}, "Let it, for at most %d tokens? y or n:", q.Sampling.MaxTokens)
	if key == "y" {
		return q.Allow(), err
	}
	return q.Deny("the user said no"), err
}

// fillInLocked asks for each field of a form.
func (t *Terminal) fillInLocked(ctx context.Context, q *run.Question) (run.Reply, error) {
	fields, err := forms.Fields(q.Elicit)
	if err != nil {
		return run.Reply{}, err
	}
	fmt.Fprintf(t.out(), "%s asks: %s\n", hosttext.Quote(q.Server), message(q))
	content := map[string]any{}
	for _, f := range fields {
		value, err := t.fieldLocked(ctx, f)
		switch {
		case err != nil && ctx.Err() != nil, errors.Is(err, ErrInputEnded):
			return run.Reply{}, err
		case err != nil:
			return t.declineLocked(q, err), nil
		case value != nil:
			content[f.Name] = value
		}
	}
	a, err := q.Accept(content)
	if err != nil {
		return t.declineLocked(q, err), nil
	}
	return a, nil
}

// declineLocked declines a question that cannot be put, and shows why.
func (t *Terminal) declineLocked(q *run.Question, err error) run.Reply {
	fmt.Fprintf(t.out(), "declined: %s\n", hosttext.Line(err.Error(), maxShown))
	return q.Decline()
}

// message quotes what a server says in its question.
func message(q *run.Question) string {
	return hosttext.Line(hosttext.Quote(q.Elicit.Message), maxShown)
}

// fieldLocked asks for the value of a field until it fits. An empty line means the default, and nil
// for an optional field without one; for a required field without one it is an error.
func (t *Terminal) fieldLocked(ctx context.Context, f *forms.Field) (any, error) {
	for {
		line, err := t.askLocked(ctx, "  %s:", hosttext.Line(label(f), maxShown))
		if err != nil {
			return nil, err
		}
		value, err := f.Parse(line)
		if err == nil || line == "" {
			return value, err
		}
		text := err.Error()
		if wrong, ok := errors.AsType[*forms.FieldError](err); ok {
			text = wrong.Reason // the person has just read the field's title, and never its name
		}
		fmt.Fprintf(t.out(), "  %s\n", hosttext.Line(text, maxShown))
	}
}

// label describes a field: its title, description, options and default.
func label(f *forms.Field) string {
	text := hosttext.Quote(f.Title)
	if f.Description != "" {
		text += ", " + hosttext.Quote(f.Description)
	}
	for i, o := range f.Options {
		text += fmt.Sprintf(" %d=%s", i+1, hosttext.Quote(o.Title))
	}
	if f.Kind == forms.KindBoolean {
		text += ", yes or no"
	}
	switch {
	case f.Default != nil:
		text += " [" + hosttext.Quote(f.Text(f.Default)) + "]"
	case !f.Required:
		text += " (optional)"
	}
	return text
}

// openLocked asks the person to visit a page of a server. It never opens the page itself, and
// declines one whose address no browser would open.
func (t *Terminal) openLocked(ctx context.Context, q *run.Question) (run.Reply, error) {
	address, reason := q.URL, "wants you to sign in"
	if q.Kind == run.QuestionURL {
		address, reason = q.Elicit.URL, "asks you: "+message(q)
	}
	link, err := hosttext.ParseLink(address)
	if err != nil {
		return t.declineLocked(q, err), nil
	}
	t.lines.ShowLink(fmt.Sprintf("%s %s\nat", hosttext.Quote(q.Server), reason), link)
	key, err := t.chooseLocked(ctx, []string{"y", "n"}, "Say y when you have done it there, or n:")
	a := q.Decline()
	if key == "y" {
		a.Action = run.ActionAccept
	}
	return a, err
}

// doubtLocked asks whether a call ran.
func (t *Terminal) doubtLocked(ctx context.Context, q *run.Question) (run.Reply, error) {
	key, err := t.chooseLocked(ctx, []string{"y", "n"}, "It is not known whether %s%s ran with %s. Did it? y or n:",
		hosttext.Quote(q.Tool), on(q.Server), hosttext.JSONLine(string(q.Arguments)))
	reply := run.Reply{Question: q.ID, Action: run.ActionRan}
	if key == "n" {
		reply.Action = run.ActionNotRun
	}
	return reply, err
}

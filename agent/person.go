package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// person asks the questions of a turn through Options.Person.Reply, and holds those that wait
// in open calls.
type person struct {
	desk  *desk
	rec   *recorder
	agent *recipe
	scope *scope

	prompts map[string]context.CancelFunc // by id of the question: ends the wait for its reply
	closed  bool                          // no more questions are held; guarded by writer.mu

	mu    sync.Mutex // guards the following field
	asked int        // number of questions of open calls
}

// questions returns errands that ask open questions through Options.Person.Reply: each question
// once, and of several for one sign-in only the first. It ends the wait for replies to settled
// questions. Questions that do not survive are asked by handlers.
func (p *person) questions() (launch []errand) {
	if p.desk.replyFunc() == nil {
		return nil
	}
	var asks []*run.Question
	p.rec.read(func(s *ledger.State) { asks = slices.Clone(s.Questions) })
	for id, cancel := range p.prompts {
		if !slices.ContainsFunc(asks, func(q *run.Question) bool { return q.ID == id }) {
			cancel()
			delete(p.prompts, id)
		}
	}
	for _, q := range asks {
		if p.prompts[q.ID] != nil || !q.Survives || p.putsSignIn(q, asks) {
			continue
		}
		ctx, cancel := context.WithCancel(p.scope.ctx)
		p.prompts[q.ID] = cancel
		launch = append(launch, errand{report: report{key: q.ID}, do: func() error { return p.put(ctx, q) }})
	}
	return launch
}

// putsSignIn reports whether the sign-in of a question is already asked for by another. An
// accepted sign-in settles all calls; after a refusal the next question is asked.
func (p *person) putsSignIn(q *run.Question, asks []*run.Question) bool {
	return q.Kind == run.QuestionSignIn && slices.ContainsFunc(asks, func(o *run.Question) bool {
		return o.Kind == q.Kind && o.Server == q.Server && o.URL == q.URL && p.prompts[o.ID] != nil
	})
}

// put asks a question and records the reply. Without a reply the question stays open.
func (p *person) put(ctx context.Context, q *run.Question) error {
	answer, err := p.putOnce(ctx, q)
	switch {
	case p.rec.ended() != nil:
		return p.rec.ended()
	case p.rec.question(q.ID) == nil:
		return nil // it was settled in the meantime
	case errors.Is(err, run.ErrExpired):
		return p.desk.answered(expired(q, time.Now()))
	case err != nil:
		return notAnswered(q, err)
	case answer == nil:
		return nil
	}
	return p.desk.answered(*answer)
}

// putOnce asks a question. A sign-in that another agent of the run is asking for gets the same
// reply.
func (p *person) putOnce(ctx context.Context, q *run.Question) (answer *run.Reply, err error) {
	if q.Kind == run.QuestionSignIn {
		other, end, ended := p.rec.writer.signIns.begin(ctx, q)
		if end == nil {
			return other, ended
		}
		defer func() { end(answer, err) }()
	}
	p.rec.show(&ReplyStart{Question: q})
	start := time.Now()
	answer, err = p.desk.ask(ctx, q)
	p.rec.show(&ReplyEnd{Question: q, Reply: answer, Err: err, Duration: time.Since(start)})
	return answer, err
}

// notAnswered is the error of Options.Person.Reply, which fails the run.
func notAnswered(q *run.Question, err error) error {
	return fmt.Errorf("answer the question about %s: %w", cmp.Or(q.Tool, q.Server), err)
}

// askNow asks a question that a server waits for. It returns nil if there is no reply. An error
// fails the run, unless the question is settled.
func (p *person) askNow(ctx context.Context, q *run.Question) (*run.Reply, error) {
	if p.desk.replyFunc() == nil {
		return nil, nil
	}
	answer, err := p.desk.ask(ctx, q)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil || errors.Is(err, run.ErrExpired):
		return nil, err
	}
	return nil, p.scope.fail(notAnswered(q, err))
}

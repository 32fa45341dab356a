package temporaleval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
)

// person replies to the questions of runs.
type person struct {
	client  *temporal.Client
	store   record.Store
	answers int // questions that were replied to
	twice   int // questions among these with two concurrent replies, and then a different one
}

// attend replies to all questions that are open, again and again, until the context ends. The error is that of a reply
// with a wrong outcome.
func (p *person) attend(ctx context.Context) error {
	for {
		for q, err := range record.OpenQuestions(ctx, p.store, record.Query{AllTenants: true}) {
			if err == nil {
				err = p.reply(ctx, q.Head.Key, q.Question)
			}
			if err != nil && ctx.Err() == nil {
				return err
			}
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}

// reply replies to a question, and to about every third one twice at once and then differently: the equal replies must
// be accepted, and the different one refused.
func (p *person) reply(ctx context.Context, key run.Key, q *run.Question) error {
	yes := q.Allow()
	no := q.Deny("too late")
	if q.Kind == run.QuestionForm {
		var err error
		if yes, err = q.Accept(map[string]any{"note": "fine"}); err != nil {
			return err
		}
		no = q.Decline()
	}
	yes.At = time.Now().UTC().Truncate(time.Millisecond)
	twice := q.ID[len(q.ID)-1]%3 == 0
	p.answers++
	if !twice {
		return p.client.Reply(ctx, key, yes)
	}
	p.twice++
	again := make(chan error)
	go func() { again <- p.client.Reply(ctx, key, yes) }()
	if err := errors.Join(p.client.Reply(ctx, key, yes), <-again); err != nil {
		return err
	}
	if err := p.client.Reply(ctx, key, no); !errors.Is(err, record.ErrReplied) {
		return fmt.Errorf("a late answer: got %w, want that it is refused", err)
	}
	return nil
}

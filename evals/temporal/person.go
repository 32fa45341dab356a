package temporaleval

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
)

// person replies to the questions of runs.
type person struct {
	client *temporal.Client
	store  record.Store

	mu      sync.Mutex // guards the fields below
	answers int        // questions that were replied to
	twice   int        // questions among these with two concurrent replies, and then a different one
	wrong   []error    // wrong outcomes of replies
}

// report logs how many replies there were, and fails the test for wrong outcomes.
func (p *person) report(t *testing.T) {
	t.Logf("answers: %d, of these %d twice at once and once too late", p.answers, p.twice)
	for _, err := range p.wrong {
		t.Errorf("a wrong outcome of a reply: %v", err)
	}
}

// attend replies to all questions that are open, again and again, until the context ends.
func (p *person) attend(ctx context.Context) {
	for ctx.Err() == nil {
		var all sync.WaitGroup
		for q, err := range record.OpenQuestions(ctx, p.store, record.Query{AllTenants: true}) {
			if err != nil {
				p.fail(ctx, err)
			} else {
				all.Go(func() { p.fail(ctx, p.reply(ctx, q.Head.Key, q.Question)) })
			}
		}
		all.Wait()
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
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
	p.count(twice)
	if !twice {
		return p.client.Reply(ctx, key, yes)
	}
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

// count counts a reply.
func (p *person) count(twice bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers++
	if twice {
		p.twice++
	}
}

// fail records a wrong outcome, unless it is nil or the context has ended.
func (p *person) fail(ctx context.Context, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		p.wrong = append(p.wrong, err)
	}
}

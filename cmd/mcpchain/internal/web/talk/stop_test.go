package talk

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// stoppable is a model whose first replies never end.
type stoppable struct {
	*agenttest.Model
	endless int // how many of them are still to come
}

func (*stoppable) Info() model.Info { return model.Info{} }

func (m *stoppable) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	if m.endless == 0 {
		return m.Model.Generate(ctx, r)
	}
	m.endless--
	return func(yield func(model.Delta, error) bool) {
		if yield(model.Delta{Text: "Half an"}, nil) {
			<-ctx.Done()
			yield(model.Delta{}, context.Cause(ctx))
		}
	}
}

// TestStopKeepsTheText stops a reply in its middle. Windows keep what was written, and the model reads it with the next question.
func TestStopKeepsTheText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &stoppable{agenttest.Play(agenttest.Say("Yes?")), 1}
		s, id := begun(t, Options{Model: model, Store: record.NewMemory()})
		synctest.Wait()
		check.Must(t, s.Stop(t.Context(), "Ada", id))
		entries := check.Value(s.history(t.Context(), run.Key{Tenant: "Ada", ID: id}, agent.Position{}))(t)
		var kinds []string
		for _, e := range entries {
			kinds = append(kinds, e.kind)
		}
		check.Same(t, "entries", kinds, []string{"said", "", "reply", "ended"}) // the second one is the call of the model
		check.Contains(t, "the reply", string(entries[2].item().Data), "Half an")
		check.Must(t, s.Say(t.Context(), "Ada", id, "and?"))
		synctest.Wait()
		var texts []string
		for _, m := range model.Turns()[0].Request.Messages {
			texts = append(texts, m.Text())
		}
		check.Same(t, "messages", texts, []string{"hello", "Half an\n\n(the user stopped the answer here)", "and?"})
	})
}

// TestRetry has the model break off its answer. Windows keep what was written and say what happened. The turn continues with the
// same messages, and another question goes with what was written.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breakOff := func(ctx context.Context, turn agenttest.Turn) (*model.Response, error) {
			check.NoError(t, turn.Stream(model.Delta{Text: "Half an"}))
			return nil, &model.Error{Kind: model.ErrorUnavailable, Err: errors.New("cut off at 127.0.0.1")}
		}
		model := agenttest.Play(breakOff, breakOff, agenttest.Say("Yes?"), agenttest.Say("Fine.")).WithInfo(model.Info{})
		s, id := begun(t, Options{Model: model, Store: record.NewMemory()})
		synctest.Wait()
		entries := check.Value(s.history(t.Context(), run.Key{Tenant: "Ada", ID: id}, agent.Position{}))(t)
		check.That(t, len(entries) == 4 && entries[2].data.(replyJSON).Broken, "got %v, want what was written", entries)
		check.Same(t, "the end", entries[3].data, any(endedJSON{
			Status: "failed", Error: "The model cannot be reached, or is out of order.", Detail: "call model: cut off at 127.0.0.1", Again: true,
		}))
		check.Must(t, s.Retry(t.Context(), "Ada", id))
		synctest.Wait()
		check.Must(t, s.Say(t.Context(), "Ada", id, "and?"))
		synctest.Wait()
		check.Is(t, s.Retry(t.Context(), "Ada", id), ErrUnfit)
		var texts []string
		for _, turn := range model.Turns()[1:] {
			for _, m := range turn.Request.Messages {
				texts = append(texts, m.Text())
			}
		}
		check.Same(t, "messages", texts, []string{"hello", "hello", "Half an\n\n(the answer broke off here)", "and?"})
		entries = check.Value(s.history(t.Context(), run.Key{Tenant: "Ada", ID: id}, entries[3].at))(t)
		check.Same(t, "after the failure", entries[0].data, any(noteJSON{"The turn is tried again."}))
	})
}

// TestRetryInTwoWindows has another window try a turn again when this one has seen that it failed.
func TestRetryInTwoWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loads := -1 // until the other window is faster
		store := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
			if c.Method == "load" && loads >= 0 {
				if loads--; loads < 0 {
					check.NoError(t, record.Revive(c.Ctx, c.Store, c.Key))
				}
			}
			return c.Do()
		})
		s, id := begun(t, Options{Model: agenttest.Play(), Store: store})
		synctest.Wait()
		loads = 1
		check.Is(t, s.Retry(t.Context(), "Ada", id), ErrBusy)
	})
}

// TestStopSparesTheNextTurn asks the next question when the turn has ended that is to be stopped, and before Stop has seen that.
func TestStopSparesTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, id := begun(t, Options{Model: &stoppable{endless: 2}, Store: record.NewMemory()})
		synctest.Wait()
		stopped := make(chan error)
		go func() { stopped <- s.Stop(t.Context(), "Ada", id) }()
		synctest.Wait()
		check.Must(t, s.Say(t.Context(), "Ada", id, "and?"))
		check.NoError(t, <-stopped)
		time.Sleep(leaseTTL)
		state := check.Value(s.load(t.Context(), run.Key{Tenant: "Ada", ID: id}))(t)
		check.Equal(t, "the next turn", state.Status, run.StatusRunning)
	})
}

// TestStopWhileHeld stops, deletes or continues a conversation that another process holds: one that
// was killed for as long as its lease lasts, and one that never ends.
func TestStopWhileHeld(t *testing.T) {
	stop := func(s *Service, t *testing.T, id string) error { return s.Stop(t.Context(), "Ada", id) }
	remove := func(s *Service, t *testing.T, id string) error { return s.Delete(t.Context(), "Ada", id) }
	say := func(s *Service, t *testing.T, id string) error { return s.Say(t.Context(), "Ada", id, "and?") }
	for name, tt := range map[string]struct {
		held time.Duration
		do   func(*Service, *testing.T, string) error
		want error
		wait time.Duration // at most
	}{
		"killed, stop":   {leaseTTL, stop, nil, leaseTTL + heldInterval},
		"killed, say":    {leaseTTL, say, nil, leaseTTL + heldInterval},
		"killed, delete": {leaseTTL, remove, nil, leaseTTL + heldInterval},
		"alive, say":     {time.Hour, say, ErrElsewhere, leaseTTL + 2*time.Second},
		"alive, stop":    {time.Hour, stop, ErrElsewhere, leaseTTL + 2*time.Second},
		"alive, delete":  {time.Hour, remove, ErrElsewhere, leaseTTL + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := record.NewMemory()
				s, id := begun(t, Options{Model: agenttest.PlayRepeating(agenttest.Say("hello")), Store: store})
				synctest.Wait() // the turn is over, and the run is let go
				key := run.Key{Tenant: "Ada", ID: id}
				check.Must(t, check.Err(store.Acquire(t.Context(), key, record.Holder{TTL: tt.held})))
				start := time.Now()
				check.Is(t, tt.do(s, t, id), tt.want)
				took := time.Since(start)
				check.That(t, took <= tt.wait, "it took %v, want %v at most", took, tt.wait) // by the clock of the bubble
			})
		})
	}
}

// TestLogOfTurns lets one turn fail, stops another, and has a third one lose its lease: the log has a line for the first one,
// and says that the last one continues.
func TestLogOfTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var away atomic.Bool
		store := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
			if away.Load() && c.Method == "renew" {
				return errors.New("the store is away")
			}
			return c.Do()
		})
		fail := func(context.Context, agenttest.Turn) (*model.Response, error) { return nil, errors.New("no luck") }
		hang := func(ctx context.Context, _ agenttest.Turn) (*model.Response, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		model := agenttest.Play(fail, hang, hang, agenttest.Say("fine"))
		s, failed := begun(t, Options{Model: model, Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		synctest.Wait()
		stopped := check.Value(s.Begin(t.Context(), "Ada", "hello"))(t)
		synctest.Wait()
		check.Must(t, s.Stop(t.Context(), "Ada", stopped))
		line := log.String()
		check.That(t, strings.Count(line, "\n") == 1 && strings.Contains(line, "level=WARN") && strings.Contains(line, "user=Ada conversation="+failed) && strings.Contains(line, "no luck"),
			"got %q, want one line about %s", line, failed)
		away.Store(true)
		late := check.Value(s.Begin(t.Context(), "Ada", "hello"))(t)
		time.Sleep(2 * leaseTTL)
		synctest.Wait()
		away.Store(false)
		check.Contains(t, "the log", log.String(), `"a turn is interrupted, and continues later" user=Ada conversation=`+late)
		time.Sleep(2 * retryAfter)
		synctest.Wait()
		state := check.Value(s.load(t.Context(), run.Key{Tenant: "Ada", ID: late}))(t)
		check.Equal(t, "the turn that lost its lease", state.Status, run.StatusFinished)
	})
}

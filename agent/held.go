package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/replydata"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const (
	defaultHold = 5 * time.Minute

	// pollInterval is how often the store is asked for replies to held questions.
	pollInterval = time.Second
)

// heldQuestions are the questions that servers ask in calls of a turn and for which they wait: those of
// legacy servers, and of servers that a handler has called.
type heldQuestions struct {
	shared

	// Guarded by writer.mu:
	asked  int  // number of questions that servers have asked in calls of this turn
	closed bool // no more questions are held
}

// elicit asks a person what a server wants to know. The result is nil if nobody replies.
func (h *heldQuestions) elicit(
	ctx context.Context, server string, call *Call, params *mcp.ElicitParams,
) (*mcp.ElicitResult, error) {
	ask := h.questions.fromServer(server, call)
	ask.Kind, ask.Elicit = questionKind(params), params
	if result := h.parkedResult(ask); result != nil {
		return result, nil
	}
	reply, err := h.ask(ctx, ask)
	switch {
	case err != nil:
		return nil, err
	case reply != nil:
		return replydata.ElicitResult(ask.Elicit, string(reply.Action), reply.Content)
	case h.rec.writer.hold == nil && h.questions.replyFunc() == nil:
		h.rec.show(&Warning{Text: fmt.Sprintf(notAsked, server, cmp.Or(ask.Tool, "one of its tools"))})
	}
	return nil, nil
}

// parkedResult returns the reply that a person has given to the same question of an earlier attempt of the
// call, nil if there is none. An earlier version parked calls: it told the server that the person cancelled,
// kept the question, and made the call again with the reply.
func (h *heldQuestions) parkedResult(q *run.Question) (result *mcp.ElicitResult) {
	var reply json.RawMessage
	h.rec.read(func(s *ledger.State) {
		if c := s.Call(q.Call); c != nil {
			reply = c.Replies[parkedKey(q.Elicit)]
		}
	})
	if d := json.NewDecoder(bytes.NewReader(reply)); reply != nil {
		d.UseNumber()
		if d.Decode(&result) != nil {
			return nil
		}
	}
	return result
}

// parkedKey identifies a question when its call is made again.
func parkedKey(p *mcp.ElicitParams) string {
	form := p.RequestedSchema
	var compact bytes.Buffer
	if json.Compact(&compact, form) == nil {
		form = compact.Bytes()
	}
	data, _ := json.Marshal([]string{p.Mode, p.Message, string(form), p.URL}) // strings always marshal
	sum := sha256.Sum256(data)
	return "parked_" + hex.EncodeToString(sum[:])
}

// ask asks a question of a server. In a run with a store it becomes a question of the run, unless
// Person.Hold is negative. The reply is nil if there is none. Beyond the limit of questions the run fails.
func (h *heldQuestions) ask(ctx context.Context, q *run.Question) (*run.Reply, error) {
	h.rec.writer.mu.Lock()
	limit := h.rec.writer.root.Limits.Questions
	h.asked++
	isOver := limit >= 0 && h.asked > limit
	h.rec.writer.mu.Unlock()
	switch {
	case isOver:
		return nil, h.scope.fail(fmt.Errorf("servers have asked more than %d questions in open calls of a turn, "+
			"server %q the last one (Limits.Questions)", limit, q.Server))
	case h.rec.writer.hold != nil && h.questions.agent.opts.Person.Hold >= 0:
		return h.hold(ctx, q)
	}
	return h.askNow(ctx, q)
}

// askNow asks a question through Options.Person.Reply, which may be nil. It returns nil if there is no
// reply. An error fails the run, unless the context has ended or the question has expired.
func (h *heldQuestions) askNow(ctx context.Context, q *run.Question) (*run.Reply, error) {
	if h.questions.replyFunc() == nil {
		return nil, nil
	}
	reply, err := h.questions.askPerson(ctx, q)
	switch {
	case err == nil:
		return reply, nil
	case ctx.Err() != nil || errors.Is(err, run.ErrExpired):
		return nil, err
	}
	return nil, h.scope.fail(replyError(q, err))
}

// notAsked warns that a question reached nobody.
const notAsked = "server %q asked the user in a call of %s, and was told that the user was not asked: Options.Person.Reply is nil, " +
	"and the run is not kept; set Options.Person.Reply, or Options.Durable.Store for an answer from elsewhere"

// hold keeps a question open while its call waits, at most for Person.Hold, and closes it with the
// reply, or as cancelled if the server stops waiting or the run fails. The reply is nil if the call has
// ended.
func (h *heldQuestions) hold(ctx context.Context, q *run.Question) (*run.Reply, error) {
	wait := cmp.Or(h.questions.agent.opts.Person.Hold, defaultHold)
	q.Expires = time.Now().Add(wait).UTC().Truncate(time.Millisecond)
	if opened, err := h.openInCall(q); err != nil || !opened {
		return nil, err
	}
	defer bound.From(ctx).Hold()()
	reply, err := h.awaitReply(ctx, q)
	switch {
	case h.rec.endError() != nil:
		return nil, h.rec.endError() // the next process closes the question
	case reply == nil && h.scope.handlerError() != nil:
		reply = new(cancelledReply(q, "the run ends with an error"))
	case err != nil:
		reply = new(cancelledReply(q, "the server does not wait for the answer any more"))
	}
	if err := errors.Join(h.questions.closeOwn(q, *reply), h.rec.commit()); err != nil {
		return nil, err
	}
	return reply, err
}

// openInCall opens a question of a call that is under way, or of a call that the server does not name. ok
// is false if the call has ended.
func (h *heldQuestions) openInCall(q *run.Question) (ok bool, err error) {
	states := []ledger.CallAt{ledger.CallSent, ledger.CallTasked, ledger.CallInRound}
	h.rec.writer.mu.Lock()
	c := h.rec.state.Call(q.Call)
	isUnderWay := q.Call == "" || c != nil && slices.Contains(states, c.At)
	ok = isUnderWay && !h.closed && h.rec.state.Status == run.StatusRunning
	if ok {
		err = h.questions.addLocked(nil, []*run.Question{q})
	}
	h.rec.writer.mu.Unlock()
	if err != nil {
		return false, h.scope.fail(err)
	}
	return ok, h.rec.commit()
}

// awaitReply waits for the reply to a held question, from Person.Reply and then from the
// store. After its time it returns [expiredReply].
func (h *heldQuestions) awaitReply(ctx context.Context, q *run.Question) (*run.Reply, error) {
	waiting, cancel := context.WithDeadline(ctx, q.Expires)
	defer cancel()
	if reply, err := h.askNow(waiting, q); reply != nil || h.scope.handlerError() != nil {
		return reply, err
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if reply := h.rec.writer.replies.find(waiting, q.ID, pollInterval); reply != nil {
			return reply, nil
		}
		if h.rec.question(q.ID) == nil {
			return nil, errOver
		}
		select {
		case <-tick.C:
			continue
		case <-waiting.Done():
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		reply := h.rec.writer.replies.find(ctx, q.ID, 0)
		if reply == nil {
			reply = new(expiredReply(q, time.Now()))
		}
		return reply, nil
	}
}

// close cancels the questions that are still open after the calls of the turn, and prevents further
// ones.
func (h *heldQuestions) close() error {
	h.rec.writer.mu.Lock()
	h.closed = true
	questions := slices.Clone(h.rec.state.Questions)
	h.rec.writer.mu.Unlock()
	for _, q := range questions {
		if q.Survives {
			continue
		}
		if err := h.questions.closeOwn(q, cancelledReply(q, "the call that asked is over")); err != nil {
			return err
		}
	}
	return nil
}

// cancelledReply returns the reply to a question that no server waits for any more.
func cancelledReply(q *run.Question, why string) run.Reply {
	reply := expiredReply(q, time.Now())
	reply.Reason = why
	return reply
}

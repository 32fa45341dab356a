package talk

import (
	"context"
	"iter"
	"slices"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/feed"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// history returns what the store has after a position: the events of the agent, and questions
// and early ends of turns, which have no event there. If windows get nothing for the last
// record, an event without a type takes its place.
func (s *Service) history(ctx context.Context, key run.Key, after agent.Position) ([]placed, error) {
	log, err := s.o.Store.Load(ctx, key)
	if err != nil {
		return nil, goneError(err)
	}
	return s.historyIn(ctx, key, log, after)
}

// items is history for the feed.
func (s *Service) items(ctx context.Context, key run.Key, after agent.Position) iter.Seq2[feed.Item, error] {
	return func(yield func(feed.Item, error) bool) {
		events, err := s.history(ctx, key, after)
		if err != nil {
			yield(feed.Item{}, err)
			return
		}
		for _, p := range events {
			if !yield(p.item(), nil) {
				return
			}
		}
	}
}

func (s *Service) historyIn(ctx context.Context, key run.Key, log *record.Log, after agent.Position) ([]placed, error) {
	if log.Head.Seq <= after.Seq && after.More == 0 {
		return nil, nil
	}
	var out []placed
	for _, r := range log.Records {
		if r.Seq >= after.Seq {
			out = append(out, saidIn(key, r)...)
		}
	}
	for e, err := range s.agentOf(key).Replay(ctx, key, after) {
		if err != nil {
			return nil, err
		}
		view, kind := s.viewOf(key, e)
		out = append(out, placedOf(kind, e.Position(), view))
	}
	out = slices.DeleteFunc(out, func(p placed) bool { return !after.Before(p.at) })
	slices.SortStableFunc(out, func(a, b placed) int {
		switch {
		case a.at.Before(b.at):
			return -1
		case b.at.Before(a.at):
			return 1
		}
		return 0
	})
	return out, nil
}

// saidIn returns the events of a record that the agent has no events for.
func saidIn(key run.Key, r run.Record) (out []placed) {
	change := ledger.ChangeOf(r)
	if end, ok := change.(*ledger.Ended); ok && end.Status != run.StatusFinished {
		return []placed{placedOf("ended", agent.Position{Seq: r.Seq}, ended{Status: string(end.Status), Error: ShownError(end.Error)})}
	}
	var views []any
	var kinds []string
	calls := map[string]agent.Call{}
	for i, m := range inputOf(change) {
		v, kind := messageViews(key, kept{r.Seq, i}, m, calls)
		if _, more := change.(*ledger.Said); more && m.Role != run.RoleUser {
			continue // text of the program for the model, before the question
		}
		views, kinds = append(views, v...), append(kinds, kind...)
	}
	for i := range views {
		out = append(out, placedOf(kinds[i], agent.Position{Seq: r.Seq, More: len(views) - 1 - i}, views[i]))
	}
	return out
}

// messageViews returns the views of an input's message: the last message is a question, and
// those before belong to the conversation that was edited. calls are the calls without a
// result, by id.
func messageViews(key run.Key, at kept, m run.Message, calls map[string]agent.Call) (views []any, kinds []string) {
	add := func(v any, kind string) { views, kinds = append(views, v), append(kinds, kind) }
	switch m.Role {
	case run.RoleUser:
		add(said{Seq: at.seq, Index: at.index, Text: shownText(m.Text(), maxMessage)}, "said")
	case run.RoleAssistant:
		reasoning := ""
		for _, p := range m.Parts {
			switch p.Type {
			case run.PartReasoning:
				reasoning += p.Text
			case run.PartCall:
				calls[p.ID] = agent.Call{ID: p.ID, Name: p.Name, Arguments: p.Arguments}
			}
		}
		add(replyOf(m.Text(), reasoning, m.Model), "reply")
	case run.RoleTool:
		for _, p := range m.Parts {
			if p.Type == run.PartResult {
				call, known := calls[p.ID]
				if !known {
					call = agent.Call{ID: p.ID, Name: p.Name}
				}
				delete(calls, p.ID)
				add(resultOf(key, at, &agent.ToolEnd{Call: call, Part: p}), "result")
			}
		}
	}
	return views, kinds
}

// Media returns a picture or sound of a tool's result, the nth of the call. The result's event
// says where it is stored: in a record, or, for an edited conversation, in a message of a
// record.
func (s *Service) Media(ctx context.Context, user, id string, seq uint64, index int, call string, n int) (run.Part, error) {
	log, err := s.o.Store.Load(ctx, run.Key{Tenant: user, ID: id})
	if err != nil {
		return run.Part{}, goneError(err)
	}
	if seq < 1 || seq > uint64(len(log.Records)) {
		return run.Part{}, ErrGone
	}
	change := ledger.ChangeOf(log.Records[seq-1])
	parts := []run.Part{}
	if said := inputOf(change); index >= 0 && index < len(said) {
		parts = said[index].Parts
	} else if outcome, ok := change.(*ledger.Outcome); ok && index == 0 {
		parts = append(parts, outcome.Result)
	}
	for _, p := range parts {
		if p.Type == run.PartResult && p.ID == call && n >= 0 && n < len(p.Media) && isShown(p.Media[n]) {
			return p.Media[n], nil
		}
	}
	return run.Part{}, ErrGone
}

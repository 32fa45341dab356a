package talk

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// history returns the entries of a stored run after a position: of the agent's events, and of questions of the user and
// early ends of turns, for which the agent has no events. An event that windows do not show has an entry without a
// kind, because the position has to advance.
func (s *Service) history(ctx context.Context, key run.Key, after agent.Position) ([]entry, error) {
	log, err := s.o.Store.Load(ctx, key)
	if err != nil {
		return nil, goneError(err)
	}
	return s.historyIn(ctx, key, log, after)
}

// items is history for the feed.
func (s *Service) items(ctx context.Context, key run.Key, after agent.Position) iter.Seq2[eventfeed.Item, error] {
	return func(yield func(eventfeed.Item, error) bool) {
		entries, err := s.history(ctx, key, after)
		if err != nil {
			yield(eventfeed.Item{}, err)
			return
		}
		for _, e := range entries {
			if !yield(e.item(), nil) {
				return
			}
		}
	}
}

// historyIn is history for a log that the caller has loaded.
func (s *Service) historyIn(ctx context.Context, key run.Key, log *record.Log, after agent.Position) ([]entry, error) {
	if log.Head.Seq <= after.Seq && after.More == 0 {
		return nil, nil
	}
	var out []entry
	for _, r := range log.Records {
		if r.Seq >= after.Seq {
			out = append(out, recordEntries(key, r)...)
		}
	}
	for e, err := range s.agentOf(key).Replay(context.WithValue(ctx, loadedKey{}, log), key, after) {
		if err != nil {
			return nil, err
		}
		out = append(out, s.entryOf(key, e))
	}
	out = slices.DeleteFunc(out, func(e entry) bool { return !after.Before(e.at) })
	slices.SortStableFunc(out, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.at.Seq, b.at.Seq), cmp.Compare(b.at.More, a.at.More)) // as Position.Before
	})
	return out, nil
}

// loadedStore is a store that does not load a log again that the context has, so that Replay reads what its caller has
// read.
type loadedStore struct{ record.Store }

// loadedKey is the context key of a *record.Log.
type loadedKey struct{}

// Load implements [record.Store].
func (s loadedStore) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	if log, ok := ctx.Value(loadedKey{}).(*record.Log); ok && log.Head.Key == key {
		return log, nil
	}
	return s.Store.Load(ctx, key)
}

// recordEntries returns the entries of a record for which the agent has no events.
func recordEntries(key run.Key, r run.Record) (out []entry) {
	change := ledger.ChangeOf(r)
	if end, ok := change.(*ledger.Ended); ok && end.Status != run.StatusFinished {
		out = endEntries(end)
	}
	said, isLater := change.(*ledger.Said)
	if isLater && len(said.Messages) == 0 {
		out = append(out, entry{kind: "note", data: noteJSON{"The turn is tried again."}})
	}
	calls := map[string]agent.Call{}
	for i, m := range inputOf(change) {
		if isLater && m.Role != run.RoleUser {
			continue // what the model reads of a turn that ended early: windows have it
		}
		out = append(out, messageEntries(key, storedAt{r.Seq, i}, m, calls)...)
	}
	for i := range out {
		out[i].at = agent.Position{Seq: r.Seq, More: len(out) - 1 - i}
	}
	return out
}

// endEntries returns the entries for the early end of a turn: what the model had written of its reply, and why it ended.
func endEntries(end *ledger.Ended) (out []entry) {
	if end.Output != "" {
		reply := replyOf(end.Output, "", "")
		reply.Broken = end.Status == run.StatusFailed
		out = append(out, entry{kind: "reply", data: reply})
	}
	ended := endedJSON{Status: string(end.Status)}
	if end.Status == run.StatusFailed {
		ended.Error, ended.Again = failureText(end)
		ended.Detail = ErrorText(end.Error)
	}
	return append(out, entry{kind: "ended", data: ended})
}

// messageEntries returns the entries of an input's message, without positions: the last message is a question, and
// those before belong to the conversation that was edited. calls has the calls without a result, by id. messageEntries
// updates it.
func messageEntries(key run.Key, at storedAt, m run.Message, calls map[string]agent.Call) (out []entry) {
	switch m.Role {
	case run.RoleUser:
		return []entry{{kind: "said", data: saidJSON{Seq: at.seq, Index: at.index, Text: proseText(m.Text(), maxMessage)}}}
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
		return []entry{{kind: "reply", data: replyOf(m.Text(), reasoning, m.Model)}}
	case run.RoleTool:
		for _, p := range m.Parts {
			if p.Type != run.PartResult {
				continue
			}
			call, known := calls[p.ID]
			if !known {
				call = agent.Call{ID: p.ID, Name: p.Name}
			}
			delete(calls, p.ID)
			out = append(out, entry{kind: "result", data: resultOf(key, at, &agent.ToolEnd{Call: call, Part: p})})
		}
	}
	return out
}

// Media returns picture or sound n, counted from 0, of the result of a call. The result is stored in record seq, or, in
// an edited conversation, in message index of that record. The error matches ErrGone if there is none that windows
// show.
func (s *Service) Media(ctx context.Context, user, id string, seq uint64, index int, call string, n int) (run.Part, error) {
	log, err := s.o.Store.Load(ctx, run.Key{Tenant: user, ID: id})
	if err != nil {
		return run.Part{}, goneError(err)
	}
	at := recordAt(log, seq)
	if at < 0 {
		return run.Part{}, ErrGone
	}
	change := ledger.ChangeOf(log.Records[at])
	var parts []run.Part
	if input := inputOf(change); index >= 0 && index < len(input) {
		parts = input[index].Parts
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

// recordAt returns the index of a record by its number, -1 if there is none. The log of a run that
// was pruned has no early records.
func recordAt(log *record.Log, seq uint64) int {
	return slices.IndexFunc(log.Records, func(r run.Record) bool { return r.Seq == seq })
}

// turnStart returns the number of the record that began the present turn, 0 if it was pruned.
func turnStart(log *record.Log) uint64 {
	for _, r := range slices.Backward(log.Records) {
		switch ledger.ChangeOf(r).(type) {
		case *ledger.Begun, *ledger.Said:
			return r.Seq
		}
	}
	return 0
}

// inputOf returns the messages that a record adds as input, nil if it adds none.
func inputOf(c ledger.Change) []run.Message {
	switch c := c.(type) {
	case *ledger.Begun:
		return c.Messages
	case *ledger.Said:
		return c.Messages
	}
	return nil
}

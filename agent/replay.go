package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Replay yields the events of a run in [Durable.Store] that come after a position; after the
// zero value, all of them. A page that has lost its stream passes the position of the last
// event it has, of any type, and gets what it missed, without gaps or repetitions.
//
// Order, [EventInfo] and fields are as in the live events, except for what is not recorded: durations,
// [ToolEnd.Result], and [ModelEnd.Streamed], which is false as no [TextDelta] precedes it.
// [ModelStart], [ModelEnd], [ToolStart], [ToolEnd], [Asked], [Replied], [Compacted], [TurnEnd],
// [Suspended] and [Output] are replayed, including those of sub-agents; other events have no record.
// If older records were pruned ([record.Prune]), a [Warning] comes first. The events of a failed run
// end without an error: its head has the status.
//
// Replay takes no lease, so another process may drive the run. If the run cannot be read, the last pair
// has an error and no event; it matches [ErrPosition] if the run has no such position.
func (a *Agent) Replay(ctx context.Context, key run.Key, after Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := a.replay(ctx, key, after, func(e Event) bool { return yield(e, nil) }); err != nil {
			yield(nil, fmt.Errorf("replay: %w", err))
		}
	}
}

// ErrPosition is the error of [Agent.Replay] for a position that the run does not have.
var ErrPosition = errors.New("run has no such position")

// Position is a place among the events of a run: after the event with this Seq and More. The
// zero value is the beginning.
type Position struct {
	Seq  uint64 `json:"seq"`
	More int    `json:"more,omitempty"`
}

// String returns the position as a word, such as "17" or "17.2", for use as the id of a
// server-sent event.
func (p Position) String() string {
	if p.More == 0 {
		return strconv.FormatUint(p.Seq, 10)
	}
	return fmt.Sprintf("%d.%d", p.Seq, p.More)
}

// ParsePosition parses the result of [Position.String], for example a Last-Event-ID. Empty text
// is the beginning.
func ParsePosition(text string) (Position, error) {
	if text == "" {
		return Position{}, nil
	}
	seqText, moreText, hasMore := strings.Cut(text, ".")
	seq, err := strconv.ParseUint(seqText, 10, 64)
	var more uint64
	if err == nil && hasMore {
		more, err = strconv.ParseUint(moreText, 10, 31)
	}
	p := Position{seq, int(more)}
	if err != nil || p.String() != text { // such as 017 or 17.0
		return Position{}, fmt.Errorf("position %.100q: want a text such as \"17\" or \"17.2\"", text)
	}
	return p, nil
}

// Before reports whether p comes before q. Of two events of a record, the earlier one has more after it.
func (p Position) Before(q Position) bool {
	return p.Seq < q.Seq || p.Seq == q.Seq && p.More > q.More
}

// replay folds the records of a run, and yields the events of each that come after a position, until
// yield returns false.
func (a *Agent) replay(ctx context.Context, key run.Key, after Position, yield func(Event) bool) error {
	if a.recipe.opts.Durable.Store == nil {
		return errNoStore
	}
	log, err := a.runs().Load(ctx, key)
	if err != nil {
		return err
	}
	entries, err := ledger.Entries(log.Records)
	if err != nil {
		return fmt.Errorf("run %q: %w", key.ID, err)
	}
	if len(entries) == 0 {
		return fmt.Errorf("run %q: there are no records: %w", key.ID, record.ErrCorrupt)
	}
	if first := entries[0]; first.Seq > 1 && after.Seq+1 < first.Seq {
		text := fmt.Sprintf("the records before record %d are gone: they were pruned", first.Seq)
		if !yield(&Warning{EventInfo: EventInfo{Run: key.ID, Seq: first.Seq - 1, Time: first.At}, Text: text}) {
			return nil
		}
	}
	p := &replayer{asked: map[string]*run.Question{}, textTurns: map[*ledger.State]bool{}}
	s := new(ledger.State)
	for i, r := range entries {
		if err := ledger.Apply(s, r); err != nil {
			return fmt.Errorf("run %q: %w", key.ID, err)
		}
		var next ledger.Change
		if i+1 < len(entries) {
			next = ledger.Innermost(entries[i+1].Change)
		}
		for _, e := range p.entryEvents(place{state: s}, r, next) {
			if after.Before(e.Position()) && !yield(e) {
				return nil
			}
		}
	}
	if after.Seq > s.Seq {
		return fmt.Errorf("run %q: position %v is behind the last record, %d: %w", key.ID, after, s.Seq, ErrPosition)
	}
	return nil
}

// replayer remembers what the events of a record depend on from earlier records.
type replayer struct {
	asked     map[string]*run.Question // questions by their ids
	textTurns map[*ledger.State]bool   // runs whose last reply has no calls, and so is a turn
}

// entryEvents returns the events of a record that was applied to the root, with their places.
func (p *replayer) entryEvents(root place, r ledger.Entry, next ledger.Change) []Event {
	at, c := root.resolve(r.Change)
	events := p.events(at, c, next)
	for i, e := range events {
		*e.meta() = EventInfo{
			Run:  root.state.ID,
			Seq:  r.Seq,
			More: len(events) - 1 - i,
			Time: r.At,
			Path: at.path,
		}
	}
	return events
}

// events returns the events of a change that was applied. next is the change of the following
// record, nil for the last one: it shows whether a model call was made, or a hook or another agent
// gave the answer.
func (p *replayer) events(at place, c, next ledger.Change) []Event {
	s := at.state
	switch c := c.(type) {
	case *ledger.Said:
		p.textTurns[s] = false
	case *ledger.Called:
		p.textTurns[s] = false
		if !isSubstitute(next) && !c.Again {
			return []Event{&ModelStart{Turn: s.Turn}}
		}
	case *ledger.Responded:
		p.textTurns[s] = len(c.Calls) == 0 && !c.Repair
		if !isSubstitute(c) {
			return []Event{modelEnd(c)}
		}
	case *ledger.Intent:
		return []Event{&ToolStart{Call: eventCall(s, c.Call)}}
	case *ledger.Outcome:
		return []Event{&ToolEnd{Call: eventCall(s, c.Call), Part: c.Result}}
	case *ledger.Opened:
		q := c.Question
		p.asked[q.ID] = &q
		return []Event{&Asked{Question: &q}}
	case *ledger.Replied:
		return []Event{&Replied{Question: p.asked[c.Reply.Question], Reply: c.Reply}}
	case *ledger.Compacted:
		return []Event{&Compacted{Replaced: c.Replaced}}
	case *ledger.TurnEnded:
		return []Event{&TurnEnd{Messages: at.last(2)}}
	case *ledger.Suspended:
		return []Event{&Suspended{Questions: ledger.Open(s)}}
	case *ledger.Ended:
		return p.endEvents(at, c)
	}
	return nil
}

// endEvents returns the events of the end of a run. An answer in words is a turn.
func (p *replayer) endEvents(at place, c *ledger.Ended) (events []Event) {
	if c.Status != run.StatusFinished {
		return nil
	}
	if p.textTurns[at.state] {
		events = append(events, &TurnEnd{Messages: at.last(1)})
	}
	return append(events, &Output{Text: c.Output, StopReason: StopReason(c.Stop), FinishReason: at.state.Finish})
}

// isSubstitute reports whether a change is an answer that did not come from the model, see finishFor.
func isSubstitute(c ledger.Change) bool {
	r, ok := c.(*ledger.Responded)
	return ok && r.Usage.Turns == 0
}

// modelEnd returns the event of a reply.
func modelEnd(c *ledger.Responded) *ModelEnd {
	r := &reply{
		message: c.Message,
		text:    c.Message.Text(),
		calls:   callParts(c.Message.Parts),
		finish:  c.Finish,
		usage:   c.Usage,
	}
	return r.event(false)
}

// place is the run to which a change belongs: the root or a sub-agent.
type place struct {
	state *ledger.State
	path  []string
}

// resolve returns the place of a change in the run of p, and the change within that place.
func (p place) resolve(c ledger.Change) (place, ledger.Change) {
	for n, ok := c.(*ledger.Nested); ok; n, ok = c.(*ledger.Nested) {
		call := p.state.Call(n.Call)
		p = place{state: call.Child, path: append(slices.Clip(p.path), call.Tool)}
		c = n.Record.Change
	}
	return p, c
}

// last returns the last n messages of the history.
func (p place) last(n int) []run.Message {
	h := p.state.History
	return slices.Clip(h[max(len(h)-n, 0):])
}

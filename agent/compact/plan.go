package compact

import (
	"cmp"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
)

// unit is a part of the history that is kept or removed as a whole: one message, or a message
// of the model with the results of its calls.
type unit struct {
	from, to int // messages[from:to]
	turn     bool
	summary  bool
	fixed    bool  // it is never removed
	tokens   int64 // an estimate
}

type plan struct {
	Options
	messages      []run.Message
	scale         scale
	start, target int64 // in tokens
	units         []unit
	last          int  // unit of the user's last message
	absorb        bool // earlier summaries are removed together with what is left out

	// The result of decide:
	trimmed map[int]run.Message // by index
	removed []bool              // by unit
}

// newPlan returns a plan for a history that is too long, without its decisions, and nil for one that
// is short enough.
func newPlan(messages []run.Message, b Budget, o Options) *plan {
	window := cmp.Or(max(b.Window, 0), o.Window)
	p := &plan{Options: o, messages: messages}
	p.start, p.target = int64(startShare*float64(window)), int64(targetShare*float64(window))
	if 0 < b.Tokens && b.Tokens <= p.start {
		return nil
	}
	estimate := Estimate(messages)
	if b.Tokens <= 0 && estimate <= p.start {
		return nil
	}
	p.scale = newScale(b.Tokens, estimate)
	p.units, p.last = split(messages)
	return p
}

// split splits a history into units. last is the one with the user's last message, -1 if there is none.
func split(messages []run.Message) (units []unit, last int) {
	units = make([]unit, 0, len(messages))
	first, last := -1, -1 // units of the user's messages
	open := map[string]bool{}
	for i := 0; i < len(messages); {
		u := unit{from: i, to: i + 1}
		switch role := messages[i].Role; {
		case role == run.RoleAssistant || role == run.RoleTool:
			u.turn = true
			for u.to < len(messages) && messages[u.to].Role == run.RoleTool {
				u.to++
			}
			u.fixed = hasOpenCalls(messages[u.from:u.to], open)
		case isSummary(&messages[i]):
			u.summary = true
		case role == run.RoleUser:
			last = len(units)
			if first < 0 {
				first = last
			}
		default:
			u.fixed = true // system, and roles of later versions
		}
		u.tokens = Estimate(messages[u.from:u.to])
		units = append(units, u)
		i = u.to
	}
	if first >= 0 {
		units[first].fixed, units[last].fixed = true, true
	}
	return units, last
}

// isSummary reports whether a message consists of summaries.
func isSummary(m *run.Message) bool {
	isOther := func(p run.Part) bool { return p.Type != run.PartSummary }
	return m.Role == run.RoleUser && len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, isOther)
}

// hasOpenCalls reports whether a turn has a call without a result. It leaves those calls in open.
func hasOpenCalls(turn []run.Message, open map[string]bool) bool {
	clear(open)
	for i := range turn {
		for j := range turn[i].Parts {
			switch p := &turn[i].Parts[j]; p.Type {
			case run.PartCall:
				open[p.ID] = true
			case run.PartResult:
				delete(open, p.ID)
			}
		}
	}
	return len(open) > 0
}

// decide decides what to trim and what to remove. replacement is the tokens of the message for each
// gap. If the history is too long even without all but its last turn, the message with the task is
// removed, too, if it alone is too long; then the result may still be too long.
func (p *plan) decide(replacement int64) {
	for keep := p.KeepTurns; ; keep /= 2 {
		if p.try(keep, replacement) <= p.start {
			return
		}
		if keep <= 0 {
			break
		}
	}
	task := slices.IndexFunc(p.units, func(u unit) bool { return u.fixed && p.messages[u.from].Role == run.RoleUser })
	if task >= 0 && task != p.last && p.units[task].tokens > p.start { // the task itself is too long
		p.units[task].fixed = false
		p.try(0, replacement)
	}
}

// try trims all but the last keep turns, then removes the oldest units until the target is
// reached, and returns the tokens of the rest. It never removes the last turn.
func (p *plan) try(keep int, replacement int64) int64 {
	var sum int64
	p.trimmed, p.removed = map[int]run.Message{}, make([]bool, len(p.units))
	old := p.older(keep)
	tokens := make([]int64, len(p.units))
	for i := range p.units {
		tokens[i] = p.units[i].tokens
		if i < old && p.units[i].turn {
			tokens[i] -= p.trim(p.units[i])
		}
		sum += tokens[i]
	}
	old = p.older(max(keep, 1))
	for i, u := range p.units {
		if p.scale.tokens(sum) <= p.target {
			break
		}
		// After the last turn there are messages of the user that the model has not answered.
		recent := i >= old && (keep > 0 || u.turn)
		summary := u.summary && !p.absorb
		if recent || summary || u.fixed {
			continue
		}
		p.removed[i] = true
		sum -= tokens[i]
		if i == 0 || !p.removed[i-1] {
			sum += replacement
		}
	}
	return p.scale.tokens(sum)
}

// older returns the number of units before the last keep turns.
func (p *plan) older(keep int) int {
	n := len(p.units)
	for i := n - 1; i >= 0 && keep > 0; i-- {
		if p.units[i].turn {
			n, keep = i, keep-1
		}
	}
	if keep > 0 {
		return 0
	}
	return n
}

func (p *plan) trim(u unit) (saved int64) {
	for i := u.from; i < u.to; i++ {
		if m, ok := trimMessage(&p.messages[i], maxResult); ok {
			p.trimmed[i] = m
			saved += tokensOf(&p.messages[i]) - tokensOf(&m)
		}
	}
	return saved
}

// carryOut carries out the plan. It returns nil if there is nothing to change. note is the message for each gap
// that no summary precedes or, if it absorbs earlier summaries, for the first one, because it covers everything left out.
func (p *plan) carryOut(note run.Message) *Result {
	end := p.end()
	if end == 0 {
		return nil
	}
	var out []run.Message
	noted := false
	for i, u := range p.units {
		if u.from >= end {
			break
		}
		switch {
		case !p.removed[i]:
			for j := u.from; j < min(u.to, end); j++ {
				m, changed := p.trimmed[j]
				if !changed {
					m = p.messages[j]
				}
				out = append(out, m)
			}
		case (len(out) == 0 || !isSummary(&out[len(out)-1])) && !(noted && p.absorb):
			out = append(out, note)
			noted = true
		}
	}
	return &Result{Replaced: end, Messages: slices.Clip(out)}
}

// end returns the end of the part of the history that changes.
func (p *plan) end() (end int) {
	for i, u := range p.units {
		if p.removed[i] {
			end = u.to
		}
	}
	for j := range p.trimmed {
		end = max(end, j+1)
	}
	return end
}

package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// mayPark reports whether a call may be abandoned for a question, to be made again: the host allows
// that for its tool, and the call is in progress. The error is a panic of the host.
func (p *person) mayPark(c *Call) (ok bool, err error) {
	allows := p.agent.opts.Person.Legacy.Park
	if c == nil || allows == nil {
		return false, nil
	}
	err = guard("Legacy.Park", func() error {
		ok = allows(c.Server, c.Tool)
		return nil
	})
	if err != nil || !ok {
		return false, err
	}
	p.rec.read(func(s *ledger.State) {
		call := s.Call(c.ID)
		ok = call != nil && (call.At == ledger.CallSent || call.At == ledger.CallParked)
	})
	return ok, nil
}

// park answers a question with the person's reply to the same question of an earlier call. Otherwise
// it becomes a question of the run, and the server is told that the person cancelled. After maxTries
// calls it is only cancelled.
func (p *person) park(q *run.Question) (*mcp.ElicitResult, error) {
	q.ServerKey, q.Parked, q.Survives = parkedKey(q.Elicit), true, true
	var reply json.RawMessage
	tries := 0
	p.rec.read(func(s *ledger.State) {
		if c := s.Call(q.Call); c != nil {
			reply, tries = c.Replies[q.ServerKey], c.Tries
		}
	})
	if reply != nil {
		result := new(mcp.ElicitResult)
		d := json.NewDecoder(bytes.NewReader(reply))
		d.UseNumber()
		return result, d.Decode(result)
	}
	if tries < maxTries {
		// The other questions of a call that is parked come again with it.
		if _, err := p.openInCall(q, ledger.CallSent); err != nil {
			return nil, err
		}
	}
	return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
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

// unpark makes a parked call again if its questions are answered.
func unpark(t *turn, c *ledger.Call) (func() error, error) {
	hasOpen := false
	t.rec.read(func(s *ledger.State) {
		hasOpen = slices.ContainsFunc(s.Questions, func(q *run.Question) bool { return q.Call == c.ID })
	})
	if hasOpen {
		return nil, nil
	}
	return t.sendAgain(c)
}

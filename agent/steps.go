package agent

import "github.com/mcpchain/mcpchain/agent/run/record"

// step returns what moves a call on, nil if nothing does as yet. It runs on the goroutine of the scheduler, what it
// returns on another.
type step func(*turn, *record.Call) (func() error, error)

// steps are what is next for a call by where it is. One that is proposed or asked about waits for a decision.
var steps = map[record.CallAt]step{
	record.CallReady:    begin,
	record.CallOfChild:  begin,
	record.CallSent:     doubt,
	record.CallInDoubt:  resolve,
	record.CallAtSignIn: signedIn,
	record.CallInRound:  goOn,
	record.CallTasked:   await,
	record.CallParked:   unpark,
}

// begin has a sub-agent work on a call, or sends it.
func begin(t *turn, c *record.Call) (func() error, error) {
	if sub := t.agent.sub(c); sub != nil {
		return delegate(t, c, sub)
	}
	return send(t, c)
}

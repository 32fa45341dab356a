package agent

import "github.com/mcpchain/mcpchain/agent/run"

// step returns what moves a call on, nil if nothing does as yet. It runs on the goroutine of the scheduler, what it
// returns on another.
type step func(*turn, *run.Call) (func() error, error)

// steps are what is next for a call by where it is. One that is proposed or asked about waits for a decision.
var steps = map[run.CallAt]step{
	run.CallReady:    begin,
	run.CallOfChild:  begin,
	run.CallSent:     doubt,
	run.CallInDoubt:  resolve,
	run.CallAtSignIn: signedIn,
	run.CallInRound:  goOn,
	run.CallTasked:   await,
	run.CallParked:   unpark,
}

// begin has a sub-agent work on a call, or sends it.
func begin(t *turn, c *run.Call) (func() error, error) {
	if sub := t.agent.sub(c); sub != nil {
		return delegate(t, c, sub)
	}
	return send(t, c)
}

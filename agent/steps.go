package agent

import "github.com/mcpchain/mcpchain/agent/run"

// step returns what moves a call on, nil if nothing does as yet. It runs on the goroutine of the scheduler, what it
// returns on another.
type step func(*turn, *run.Call) (func() error, error)

// steps are what is next for a call by where it is. One that is proposed or asked about waits for a decision.
var steps = map[run.CallAt]step{
	run.Ready:  begin,
	run.Child:  begin,
	run.Sent:   doubt,
	run.Doubt:  resolve,
	run.SignIn: signedIn,
	run.Round:  goOn,
	run.Tasked: await,
	run.Parked: unpark,
}

// begin has a sub-agent work on a call, or sends it.
func begin(t *turn, c *run.Call) (func() error, error) {
	if sub := t.agent.sub(c); sub != nil {
		return delegate(t, c, sub)
	}
	return send(t, c)
}

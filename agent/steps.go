package agent

import "github.com/mcpchain/mcpchain/internal/ledger"

// step returns the function that advances a call, nil if the call has to wait. The step runs on
// the scheduler's goroutine, the function on another.
type step func(*turn, *ledger.Call) (func() error, error)

// steps has the step for each state of a call. A call that is proposed or asked about waits for
// a decision.
var steps = map[ledger.CallAt]step{
	ledger.CallReady:    begin,
	ledger.CallOfChild:  begin,
	ledger.CallSent:     doubt,
	ledger.CallInDoubt:  resolve,
	ledger.CallAtSignIn: signedIn,
	ledger.CallInRound:  continueRound,
	ledger.CallTasked:   await,
	ledger.CallParked:   unpark,
}

// begin sends a call, or lets a sub-agent work on it.
func begin(t *turn, c *ledger.Call) (func() error, error) {
	if sub := t.agent.sub(c); sub != nil {
		return delegate(t, c, sub)
	}
	return send(t, c)
}

package agent

import "github.com/mcpchain/mcpchain/internal/ledger"

// step returns what moves a call on, nil if nothing does as yet. It runs on the goroutine of the scheduler, what it
// returns on another.
type step func(*turn, *ledger.Call) (func() error, error)

// steps are what is next for a call by where it is. One that is proposed or asked about waits for a decision.
var steps = map[ledger.CallAt]step{
	ledger.CallReady:    begin,
	ledger.CallOfChild:  begin,
	ledger.CallSent:     doubt,
	ledger.CallInDoubt:  resolve,
	ledger.CallAtSignIn: signedIn,
	ledger.CallInRound:  goOn,
	ledger.CallTasked:   await,
	ledger.CallParked:   unpark,
}

// begin has a sub-agent work on a call, or sends it.
func begin(t *turn, c *ledger.Call) (func() error, error) {
	if sub := t.agent.sub(c); sub != nil {
		return delegate(t, c, sub)
	}
	return send(t, c)
}

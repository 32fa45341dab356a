package agent

import (
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// driver advances a run: by calls of the model, and by the tool calls that it asks for.
type driver struct {
	engine      *engine
	rec         *recorder // the engine's
	account     account
	dialog      dialog
	lostCharged bool // the reservations of earlier processes are charged
}

func newDriver(e *engine) *driver {
	a := e.account()
	return &driver{engine: e, rec: e.rec, account: a, dialog: dialog{engine: e, rec: e.rec, account: a}}
}

// step advances the run by one turn, or as far as possible. Its changes are recorded but not
// yet committed.
func (d *driver) step() error {
	if !d.lostCharged {
		d.lostCharged = true
		if err := d.account.chargeLost(); err != nil {
			return err
		}
	}
	if d.isRunning() && d.rec.state.Phase == ledger.PhaseModel {
		if err := d.dialog.turn(); err != nil {
			return err
		}
	}
	if d.isRunning() && d.rec.state.Phase == ledger.PhaseCalls {
		return workOn(d.engine)
	}
	return nil
}

// isRunning reports whether a step can advance the run.
func (d *driver) isRunning() bool { return d.rec.state.Status == run.StatusRunning }

// proceed advances the run of a sub-agent until it waits or has ended. It is an error if agents are
// nested deeper than the root run allows.
func (d *driver) proceed() error {
	limit := d.engine.root().rec.state.Limits.Depth
	if depth := len(d.rec.path); depth > limit {
		return fmt.Errorf("sub-agents are nested %d deep, and at most %d levels are allowed (Limits.Depth)", depth, limit)
	}
	for d.isRunning() {
		if err := d.step(); err != nil {
			return err
		}
	}
	return nil
}

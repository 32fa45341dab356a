package service

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// engine drives the runs of the store.
type engine interface {
	drive(ctx context.Context, key run.Key) // has a stored run driven, at once if possible

	answer(ctx context.Context, key run.Key, answers []run.Reply) error // all of them or none
	stop(ctx context.Context, key run.Key) error                        // may return before the run has ended
	work(ctx context.Context) error                                     // drives runs until the context ends
}

// inputVar is the variable of a run with the hash of its input, if it may be begun again: the state
// may not keep the input.
const inputVar = "input"

// hashOf returns the hash of an input as JSON.
func hashOf(input string) json.RawMessage {
	return fmt.Appendf(nil, "\"%x\"", sha256.Sum256([]byte(input)))
}

// runOptions returns the options of a user's run.
func runOptions(user, id, input string) []agent.RunOption {
	options := []agent.RunOption{agent.WithTenant(user), agent.WithNewRun()}
	if id != "" {
		options = append(options, agent.WithRun(id), agent.WithVar(inputVar, hashOf(input)))
	}
	return options
}

package mcpchain

import (
	"context"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Ask asks the model of the environment ([ModelFromEnv]) a question. The model has the tools of the
// servers of an mcp.json. The person at the terminal allows calls, fills in forms and signs in; if
// question is empty, Ask reads it from the terminal. A nil Terminal is the zero Terminal.
//
// The answer may be written to a terminal: characters that could control it are escaped
// ([hosttext.Prose]). If the input ended and something was therefore refused, Ask returns the
// answer and an error that matches [ErrInputEnded].
func Ask(ctx context.Context, file, question string, t *Terminal) (string, error) {
	if t == nil {
		t = new(Terminal)
	}
	m, err := ModelFromEnv() // first: without a model no server is started, and nobody is asked
	if err != nil {
		return "", err
	}
	h, err := Open(ctx, file, &Options{Terminal: t})
	if err != nil {
		return "", err
	}
	defer h.Close()
	a, err := h.Agent(m, nil)
	if err != nil {
		return "", err
	}
	if question == "" {
		if question, err = t.ReadLine(ctx, "Your question:"); err != nil {
			return "", err
		}
	}
	result, err := a.Run(ctx, agent.Text(question))
	if err != nil {
		return "", err
	}
	if t.foundNobody() {
		err = ErrInputEnded
	}
	return hosttext.Prose(result.Output), err
}

// Ask asks the model of the environment one question, with an agent as Agent(nil, nil) makes it.
// opts configure the run. For other options, such as a system prompt or a store, make an agent.
func (h *Host) Ask(ctx context.Context, question string, opts ...agent.RunOption) (*agent.Result, error) {
	a, err := h.Agent(nil, nil)
	if err != nil {
		return nil, err
	}
	return a.Run(ctx, agent.Text(question), opts...)
}

package mcpchain

import (
	"context"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Ask asks the model of the environment ([FromEnv]) a question. The model has the tools of the servers of an mcp.json; the person at the
// terminal allows calls, fills in forms and signs in, and is asked for the question if it is empty.
//
// The answer is for a terminal: characters that could control it are escaped ([hosttext.Prose]). With [ErrNobody], which says
// that something was refused because nobody could be asked, there is an answer, too.
func Ask(ctx context.Context, file, question string, t *Terminal) (string, error) {
	if t == nil {
		t = new(Terminal)
	}
	h, err := Open(ctx, file, &Options{Terminal: t})
	if err != nil {
		return "", err
	}
	defer h.Close()
	a, err := h.Agent(nil, nil)
	if err != nil {
		return "", err
	}
	if question == "" {
		if question, err = t.Read(ctx, "Your question:"); err != nil {
			return "", err
		}
	}
	result, err := a.Run(ctx, agent.Text(question))
	if err != nil {
		return "", err
	}
	if t.missed() {
		err = ErrNobody
	}
	return hosttext.Prose(result.Output), err
}

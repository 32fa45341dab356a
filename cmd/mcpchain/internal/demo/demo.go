// Package demo is the command demo: a demo server, or a demo model for other programs.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

// Name is the name of the command.
const Name = "demo"

const about = `
Replaces a server or a model that you do not have yet. "mcpchain demo" is an MCP server over standard
input and output, for an mcp.json. "mcpchain demo model" serves an OpenAI-compatible endpoint on this
machine until Ctrl-C, and prints the environment variables for it. The model knows the tools of the
demo server, calls others as 'call TOOL {…}', and gives no structured answers.`

const examples = `
{"mcpServers": {"demo": {"command": "mcpchain", "args": ["demo"]}}}
    an entry in an mcp.json
mcpchain demo model
    a model for another program`

// Command returns the command demo.
func Command() *cli.Command {
	c := cli.New(Name, "run the demo server, or with \"model\" serve the demo model")
	c.Synopsis, c.About, c.Words = []string{"demo", "demo model"}, about, []string{"model"}
	c.Sections = []cli.Section{cli.Statuses(nil), {Title: "Examples", Text: examples}}
	c.Main = func(args []string) int { return cli.Status(run(c, args), os.Stderr) }
	return c
}

// run runs the server or the model.
func run(c *cli.Command, args []string) error {
	words, err := c.Arguments(args, os.Stdout)
	switch {
	case err != nil:
		return err
	case len(words) == 0:
		if err := tryout.RunServer(context.Background()); !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	case len(words) == 1 && words[0] == "model":
		return serveModel()
	}
	return c.Wrong("unexpected argument %q", words[len(words)-1])
}

// serveModel prints the variables by which programs find the model, and serves it until a signal.
func serveModel() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	model, err := tryout.StartModel()
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "The demo model runs until Ctrl-C. Programs find it by these variables:")
	_, err = fmt.Printf("export OPENAI_BASE_URL=%s OPENAI_MODEL=%s OPENAI_API_KEY=none\n", model.BaseURL, tryout.ModelName)
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, model.Close())
}

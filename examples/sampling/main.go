// The sampling example is a server that borrows its client's model: it
// summarises files, without a model, a key or a network of its own. The same
// program is also the client; it shows every request and every reply in the
// terminal before it passes them on.
//
//	go run ./examples/sampling README.md docs/architecture.md
//
// OPENAI_API_KEY and OPENAI_MODEL choose the model; OPENAI_BASE_URL names
// another host than OpenAI. -help lists the flags that do so, and more.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/sampling"
)

func main() {
	server := flag.Bool("serve", false, "be the server, over standard input and output")
	model := models.Declare(flag.CommandLine, os.Getenv)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := func() error { return summarize(ctx, model, flag.Args(), os.Stdin, os.Stdout) }
	if *server {
		run = func() error { return serve(ctx) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sampling:", hosttext.Line(err.Error(), 4000))
		os.Exit(1)
	}
}

// summarize asks the server to summarise files and prints the result.
func summarize(ctx context.Context, model *models.Flags, files []string, in io.Reader, out io.Writer) error {
	sampler, err := newSampler(model, &person{in: lines(in), out: out})
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	transport := &mcpclient.Command{
		Path: program, Args: []string{"-serve"}, Stderr: hosttext.NewWriter(os.Stderr),
		Env: []string{"OPENAI_API_KEY="}, // the server gets only the model's answers
	}
	client, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{Sampling: sampler.For("summarizer")})
	if err != nil {
		return err
	}
	defer client.Close()
	for _, file := range files {
		result, err := client.CallTool(ctx, "summarize", map[string]string{"path": file})
		if err == nil {
			err = result.Err()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintf(out, "%s: %s\n", file, hosttext.Prose(result.Text()))
	}
	return nil
}

func newSampler(model *models.Flags, p *person) (*sampling.Sampler, error) {
	if err := model.Complete(); err != nil {
		return nil, err
	}
	return model.Model.Sampler(sampling.Options{
		Review: &sampling.Review{Request: p.reviewRequest, Reply: p.reviewReply},
		Policy: sampling.Policy{Outside: sampling.ModeDeny},                                    // no call is under way then
		Limits: sampling.Limits{All: sampling.Budget{Requests: 20}, MaxTokens: 1000, Share: 1}, // there is one server
		Audit: func(_ context.Context, r *sampling.Record) {
			p.say("[%s: %s, %d tokens]\n", r.Server, r.Outcome, r.InputTokens+r.OutputTokens)
		},
	})
}

// The sampling example is a server that borrows its client's model: it summarises files without a
// model, a key or a network of its own. The same program is also the client, which shows every
// request and every reply in the terminal before it passes them on.
//
//	OPENAI_MODEL=gpt-5 go run ./examples/sampling README.md docs/architecture.md
//
// OPENAI_API_KEY is the key; OPENAI_BASE_URL names another provider than OpenAI.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/sampling"
)

func main() {
	server := flag.Bool("serve", false, "be the server, over standard input and output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := func() error {
		if flag.NArg() == 0 {
			return errors.New("want files to summarise")
		}
		return summarize(ctx, flag.Args(), os.Stdin, os.Stdout)
	}
	if *server {
		run = func() error { return serve(ctx) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sampling:", hosttext.Line(err.Error(), 4000))
		os.Exit(1)
	}
}

// summarize asks the server to summarise files and prints the result.
func summarize(ctx context.Context, files []string, in io.Reader, out io.Writer) error {
	sampler, err := newSampler(newPerson(&mcpchain.Terminal{In: in, Out: out}), out)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	// The server gets the model's answers, and not its key: the environment of a Command has no secrets of this process.
	transport := &mcpclient.Command{Path: program, Args: []string{"-serve"}, Stderr: hosttext.NewWriter(os.Stderr)}
	client, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{Sampling: sampler.ForServer("summarizer")})
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

// newSampler lends the model of the environment to servers, as far as the person allows.
func newSampler(p *person, out io.Writer) (*sampling.Sampler, error) {
	model, err := openaimodel.FromEnv()
	if err != nil {
		return nil, err
	}
	return model.Sampler(&sampling.Options{
		Review: &sampling.Review{Request: p.reviewRequest, Reply: p.reviewReply},
		Policy: sampling.Policy{OutsideCalls: sampling.ModeDeny}, // refuses requests without a call
		Limits: sampling.Limits{PerServer: sampling.Budget{Requests: 20}, MaxTokens: 1000},
		Audit: func(_ context.Context, r *sampling.Record) {
			fmt.Fprintf(out, "[%s: %s, %d tokens]\n", r.Server, r.Outcome, r.InputTokens+r.OutputTokens)
		},
	})
}
